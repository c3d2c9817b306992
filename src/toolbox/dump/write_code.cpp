// Code objects of a frame as text: the lines of the program, listings, and Python from the decompiler. All of it is made from
// the bytes in the event frame_code.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/escaped_text.h"
#include "base/source_line.h"
#include "bytecode/instruction.h"
#include "toolbox/decompile/frame_code.h"
#include "toolbox/dump/dump_files.h"

namespace suture::toolbox {
namespace {

constexpr int kMostSourceLines = 10000;

CodeTreePtr code_in(const EventRecord& event, const char* field) {
  return read_frame_code(event.str(field), event.str("python"));
}

CompileSource compiler_of(const CompileDump& dump) {
  return dump.compile_source ? *dump.compile_source : CompileSource();
}

std::string with_title(const std::string& title, const TransformedText& text) {
  if (text.source.empty()) return "";
  std::string out = fmt::format("# {} ({})\n", title, text.verdict);
  for (const std::string& note : text.notes) out += "# " + note + "\n";
  return out + text.source;
}

// Lines of the program in a function and what is nested in it.
void collect_lines(const CodeTree& code, std::map<int, bool>& lines, int depth) {
  const auto function = decode_function(code.view);
  if (!function.ok() || depth > 20) return;
  for (const Instruction& instruction : function->instructions)
    if (instruction.line > 0) lines[instruction.line] = true;
  for (const Constant& constant : code.constants)
    if (constant.is(Constant::Kind::kCode)) collect_lines(*constant.code, lines, depth + 1);
}

}  // namespace

std::string write_source(const CompileDump& dump) {
  const EventRecord* event = dump.last(EventId::kFrameCode);
  const CodeTreePtr code = event ? code_in(*event, "original") : nullptr;
  if (!code || !dump.source_line || !*dump.source_line) return "";
  std::map<int, bool> lines;
  collect_lines(*code, lines, 0);
  if (lines.empty()) return "";
  std::string text;
  bool any = false;
  const int first = lines.begin()->first, last = std::min(lines.rbegin()->first, first + kMostSourceLines);
  for (int line = first; line <= last; ++line) {
    const std::string source = bounded_source_line((*dump.source_line)(code->view.filename, line));
    any = any || !source.empty();
    text += fmt::format("{:>5}{} {}\n", line, lines.contains(line) ? ":" : " ", escaped_line(source));
  }
  const std::string_view path = code->view.filename;
  return any ? fmt::format("{}:{}\n{}", escaped_line(path), first, text) : "";
}

std::string write_bytecode_before(const CompileDump& dump) {
  if (std::string listing = dump.text_of(EventId::kOutputBytecode, "before"); !listing.empty())
    return listing.back() == '\n' ? listing : listing + "\n";
  const EventRecord* event = dump.last(EventId::kFrameCode);
  const CodeTreePtr code = event ? code_in(*event, "original") : nullptr;
  const auto function = code ? decode_function(code->view) : Error::unsupported("dump", "no code");
  return function.ok() ? to_text(*function) : "";
}

std::string write_original_code(const CompileDump& dump) {
  const EventRecord* event = dump.last(EventId::kFrameCode);
  const CodeTreePtr code = event ? code_in(*event, "original") : nullptr;
  if (!code) return "";
  // Resume functions have the name of the user's function, for tracebacks.
  const std::string name = event->str("function");
  const bool own_name = name.empty() || name == code->view.name;
  return with_title("Captured in " + dump.title(),
                    own_name ? text_of(*code, compiler_of(dump))
                             : readable_text(*code, OutputKind::kContinuation, name, compiler_of(dump)));
}

std::string write_transformed_code(const CompileDump& dump) {
  const EventRecord* event = dump.last(EventId::kFrameCode);
  const CodeTreePtr code = event ? code_in(*event, "transformed") : nullptr;
  if (!code) return "";
  return with_title("What runs instead, " + dump.title(),
                    readable_text(*code, OutputKind::kTransformed, event->str("name"), compiler_of(dump)));
}

}  // namespace suture::toolbox
