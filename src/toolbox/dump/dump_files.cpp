// The texts that need no layout of their own: what an event carries, or what the log of the same artifact says.
#include "toolbox/dump/dump_files.h"

#include <fmt/format.h>

#include "base/escaped_text.h"
#include "toolbox/logs/log_renderer.h"

namespace suture::toolbox {
namespace {

std::vector<std::string> records(const CompileDump& dump, std::string_view artifact) {
  auto settings = parse_log_settings(artifact);
  if (!settings.ok()) return {};
  LogRenderer renderer(std::move(*settings), *dump.source_line);
  std::vector<std::string> texts;
  for (const std::string& line : dump.lines)
    for (const LogLine& log : renderer.render(line))
      if (log.artifact == artifact) texts.push_back(log.text + "\n");
  return texts;
}

// The log of `artifact` over the whole compile: one text for both.
std::string rendered(const CompileDump& dump, std::string_view artifact) {
  std::string all;
  for (const std::string& text : records(dump, artifact)) all += text;
  return all;
}

// Of records that each say everything, the newest.
std::string last_rendered(const CompileDump& dump, std::string_view artifact) {
  const std::vector<std::string> texts = records(dump, artifact);
  return texts.empty() ? "" : texts.back();
}

std::string with_newline(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

std::string CompileDump::title() const {
  std::string text = fmt::format("compile {} of {} ({}:{})", id(), function, file, line);
  // It stands in comments of C++ and in strings of Python.
  std::string safe;
  for (char c : escaped_text(text)) {
    const bool harmful = c == '\n' || c == '\r' || c == '\\' || c == '"' || c == '\t';
    safe += harmful ? '?' : c;
  }
  return safe;
}

const std::vector<DumpFile>& all_dump_files() {
  using enum EventId;
#define events(...) {__VA_ARGS__}
  static const std::vector<DumpFile> table = {
#define SUTURE_DUMP_FILE(id, name, events, doc) \
  {#id, name, events, doc, &write_##id, !std::string_view(name).ends_with("jsonl")},
#include "toolbox/dump/dump_files.def"
  };
#undef events
  return table;
}

std::string write_graph_readable(const CompileDump& dump) {
  const std::string code = dump.text_of(EventId::kGraphCaptured, "code");
  return code.empty() ? "" : "# Graph of " + dump.title() + "\n" + with_newline(code);
}

std::string write_graph_captured(const CompileDump& dump) {
  return with_newline(dump.text_of(EventId::kGraphCaptured, "text"));
}

std::string write_graph_lowered(const CompileDump& dump) {
  return with_newline(dump.text_of(EventId::kLowered, "lowered"));
}

std::string write_graph_passes(const CompileDump& dump) { return rendered(dump, "graph_passes"); }

std::string write_ir_pre_fusion(const CompileDump& dump) {
  return with_newline(dump.text_of(EventId::kLowered, "before"));
}

std::string write_ir_post_fusion(const CompileDump& dump) {
  return with_newline(dump.text_of(EventId::kLowered, "after"));
}

std::string write_fusion(const CompileDump& dump) { return rendered(dump, "fusion"); }

std::string write_assembly(const CompileDump& dump) {
  // Without a disassembler there is nothing worth a file.
  return dump.text_of(EventId::kKernelAssembly, "text").empty() ? "" : last_rendered(dump, "asm");
}

std::string write_perf_hints(const CompileDump& dump) { return rendered(dump, "perf_hints"); }
std::string write_guards(const CompileDump& dump) { return last_rendered(dump, "guards"); }
std::string write_guard_code(const CompileDump& dump) { return dump.text_of(EventId::kGuardCode, "code"); }
std::string write_symbols(const CompileDump& dump) { return rendered(dump, "dynamic"); }
std::string write_breaks(const CompileDump& dump) { return rendered(dump, "graph_breaks"); }
std::string write_recompile(const CompileDump& dump) { return rendered(dump, "recompiles_verbose"); }

std::string write_bytecode_after(const CompileDump& dump) {
  return with_newline(dump.text_of(EventId::kOutputBytecode, "after"));
}

std::string write_timings(const CompileDump& dump) { return rendered(dump, "compile_times"); }

std::string write_internal_error(const CompileDump& dump) {
  const EventRecord* event = dump.last(EventId::kInternalError);
  return event ? fmt::format("step: {}\n{}\n", event->str("step"), event->str("message")) : "";
}

std::string write_event_lines(const CompileDump& dump) {
  std::string text;
  for (const std::string& line : dump.lines) text += line + "\n";
  return text;
}

}  // namespace suture::toolbox
