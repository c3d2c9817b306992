// Artifact asm: the machine code of a graph. All of it is assembly: what is not is a comment.
//
//   # Assembly of graph f of f (prog.py:3)
//
//   # fuses sin,add
//   # lines prog.py:4,prog.py:5
//   cpp_fused_add_sin_0:
//        0:	push	rbp
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

// "0000000000001130 <name>:" of objdump and "name:" of the compiler in this process; "" for any other line.
std::string label_of(const std::string& line) {
  if (line.size() < 2 || line.back() != ':' || line.front() == ' ' || line.front() == '\t') return "";
  const size_t open = line.find('<');
  if (open == std::string::npos) return line.substr(0, line.size() - 1);
  const size_t close = line.rfind('>');
  return close == std::string::npos || close < open ? "" : line.substr(open + 1, close - open - 1);
}

}  // namespace

Texts render_asm(const EventRecord& event, RenderContext& context) {
  const std::string graph = fmt::format("graph {} of {}", event.str("graph"), context.frame_of(event).str());
  const std::string listing = event.str("text");
  if (listing.empty()) return fmt::format("# No assembly of {}: {}", graph, event.str("message"));
  std::string out = fmt::format("# Assembly of {}\n", graph);
  for (size_t begin = 0; begin < listing.size();) {
    const size_t end = std::min(listing.find('\n', begin), listing.size());
    const std::string line = listing.substr(begin, end - begin);
    if (const std::string label = label_of(line); !label.empty())
      if (auto note = context.kernel_notes.find({compile_key(event), label});
          note != context.kernel_notes.end())
        out += note->second;
    out += line + "\n";
    begin = end + 1;
  }
  out.pop_back();
  return out;
}

}  // namespace suture::toolbox
