// Code objects of a frame as text: the lines of the program, listings, and Python from the decompiler. All of it is made from
// the bytes in the event frame_code.
#include <charconv>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/base64.h"
#include "base/escaped_text.h"
#include "base/source_line.h"
#include "bytecode/instruction.h"
#include "bytecode/marshal_reader.h"
#include "bytecode/readable_output.h"
#include "toolbox/decompile/decompile.h"
#include "toolbox/dump/dump_files.h"

namespace suture::toolbox {
namespace {

constexpr int kMostSourceLines = 10000;

PythonVersion version_in(const EventRecord& event) {
  const std::string text = event.str("python");
  PythonVersion version{0, 0};
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ptr != end) std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

// Null when the event has none, or nothing that can be read.
CodeTreePtr code_in(const EventRecord& event, const char* field) {
  const std::string text = event.str(field);
  const auto bytes = text.empty() ? std::nullopt : from_base64(text);
  if (!bytes) return nullptr;
  auto code = read_code(*bytes, version_in(event), {.placeholders = true});
  return code.ok() ? *code : nullptr;
}

DecompileOptions options_of(const CompileDump& dump) {
  DecompileOptions options;
  if (dump.compile_source) options.compile = *dump.compile_source;
  options.unverifiable = "nothing here can compile it";
  return options;
}

std::string python_text(const CodeTree& code, const std::string& title, const CompileDump& dump) {
  const Decompilation done = decompile(code, options_of(dump));
  std::string text = fmt::format("# {} ({})\n", title, escaped_line(done.verdict));
  for (const CodeReport& each : done.codes)
    if (!each.note.empty() && each.tier != Tier::kIdiomatic)
      text += fmt::format("# {}: {}\n", escaped_line(each.code->view.qualname), escaped_line(each.note));
  return text + done.source;
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
  CodeTree named = *code;
  // Resume functions have the name of the user's function, for tracebacks.
  if (const std::string name = event->str("function"); !name.empty() && name != named.view.name)
    named.view.name = named.view.qualname = name;
  return python_text(named, fmt::format("Captured in {}", dump.title()), dump);
}

std::string write_transformed_code(const CompileDump& dump) {
  const EventRecord* event = dump.last(EventId::kFrameCode);
  const CodeTreePtr code = event ? code_in(*event, "transformed") : nullptr;
  if (!code) return "";
  const auto readable = readable_output(*code, event->str("name"));
  return readable.ok() ? python_text(readable->code, fmt::format("What runs instead, {}", dump.title()), dump)
                       : "";
}

}  // namespace suture::toolbox
