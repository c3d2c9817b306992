#include "toolbox/decompile/frame_code.h"

#include <charconv>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/escaped_text.h"
#include "bytecode/marshal_reader.h"

namespace suture::toolbox {
namespace {

PythonVersion version_named(const std::string& text) {
  PythonVersion version{0, 0};
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ptr != end) std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

}  // namespace

CodeTreePtr read_frame_code(const std::string& base64, const std::string& python) {
  const auto bytes = base64.empty() ? std::nullopt : from_base64(base64);
  if (!bytes) return nullptr;
  auto code = read_code(*bytes, version_named(python), {.placeholders = true});
  return code.ok() ? *code : nullptr;
}

TransformedText text_of(const CodeTree& code, const CompileSource& compile, const std::string& qualname) {
  const Decompilation done = decompile(code, {.compile = compile,
                                              .unverifiable = "nothing here can compile it",
                                              .qualname = qualname,
                                              .as_module = true});
  TransformedText text{done.source, escaped_line(done.verdict), {}};
  for (const CodeReport& each : done.codes)
    if (!each.note.empty() && each.tier != Tier::kIdiomatic)
      text.notes.push_back(
          fmt::format("{}: {}", escaped_line(each.code->view.qualname), escaped_line(each.note)));
  return text;
}

TransformedText readable_text(const CodeTree& code, OutputKind kind, const std::string& name,
                              const CompileSource& compile) {
  const auto readable = readable_output(code, kind, name);
  return readable.ok() ? text_of(readable->code, compile, readable->qualname) : TransformedText{};
}

}  // namespace suture::toolbox
