// Artifact kernel_code: each kernel by itself. Artifact output_code: where the C++ lies, what its kernels take, and the text itself. All of it is C++: what is not
// code is a comment.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

namespace {

// From the comment that heads kernel `name` to the one that heads the next kernel.
std::string kernel_text(const std::string& code, const std::string& name, const std::string& next) {
  const auto head = [&](const std::string& kernel) {
    const std::string line = "// " + kernel + ": ";
    return code.starts_with(line) ? 0 : code.find("\n" + line);
  };
  const size_t begin = head(name), end = next.empty() ? std::string::npos : head(next);
  if (begin == std::string::npos) return code;
  const size_t first = begin + (code[begin] == '\n');
  return code.substr(first, end == std::string::npos ? end : end + 1 - first);
}

}  // namespace

// One record per kernel.
Texts render_kernel_code(const EventRecord& event, RenderContext& context) {
  Texts out;
  const auto& kernels = event.list("kernels");
  for (size_t i = 0; i < kernels.size(); ++i)
    out.push_back(fmt::format("// Kernel {} of graph {} of {}\n// fuses {}\n// lines {}\n{}", kernels[i],
                              event.str("graph"), context.frame_of(event).str(),
                              item_of(event.list("kernel_ops"), i), item_of(event.list("kernel_lines"), i),
                              kernel_text(event.str("code"), kernels[i], item_of(kernels, i + 1))));
  return out;
}

Texts render_output_code(const EventRecord& event, RenderContext& context) {
  std::string path = event.str("path");
  std::string out = fmt::format("// Output code written to: {}", path.empty() ? "(not written)" : path);
  out += fmt::format("\n// Graph {} of {}", event.str("graph"), context.frame_of(event).str());
  const auto& kernels = event.list("kernels");
  const auto& signatures = event.list("signatures");
  for (size_t i = 0; i < kernels.size(); ++i)
    out += fmt::format("\n// {} = {}", kernels[i], i < signatures.size() ? signatures[i] : "");
  return out + "\n" + event.str("code");
}

}  // namespace suture::toolbox
