// Artifact guards: a tree of what the guards look at.
//
//   Guards of f (prog.py:19), entry 0: 5 guards
//   +- x
//   |  array      type(x) is np.ndarray and ...       # prog.py:20  y = np.sin(x) + 1
//   |  +- x.shape
//   |  |  size       x.shape[0] == 32
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

struct Leaf {
  std::string kind, check, line, source;
};

struct Branch {
  std::string source;
  std::vector<Leaf> leaves;
  std::vector<Branch> children;
};

// "self.w[0].shape" -> "self", "self.w", "self.w[0]", "self.w[0].shape". Brackets and quotes are kept whole.
std::vector<std::string> prefixes(const std::string& source) {
  std::vector<std::string> out;
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    char c = source[i];
    if (quote) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    bool starts_step = depth == 0 && i > 0 && (c == '.' || c == '[');
    if (starts_step) out.push_back(source.substr(0, i));
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
  }
  out.push_back(source);
  return out;
}

Branch& child_of(Branch& parent, const std::string& source) {
  auto found = std::find_if(parent.children.begin(), parent.children.end(),
                            [&](const Branch& branch) { return branch.source == source; });
  if (found != parent.children.end()) return *found;
  parent.children.push_back({source, {}, {}});
  return parent.children.back();
}

// `where` and the line there: `text` when the event had it, else as the context finds it.
std::string user_line(const std::string& where, std::string text, const RenderContext& context) {
  size_t colon = where.rfind(':');
  if (where.empty() || colon == std::string::npos) return "";
  int line = std::atoi(where.c_str() + colon + 1);
  if (text.empty() && context.source_line) text = context.source_line(where.substr(0, colon), line);
  size_t first = text.find_first_not_of(" \t");
  size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? where
                                    : fmt::format("{}  {}", where, text.substr(first, last - first + 1));
}

void write_branch(std::string& out, const Branch& branch, const std::string& lead,
                  const RenderContext& context) {
  for (const Leaf& leaf : branch.leaves) {
    std::string line = fmt::format("{}{:<11} {}", lead, leaf.kind, leaf.check);
    std::string user = user_line(leaf.line, leaf.source, context);
    out += "\n" + (user.empty() ? line : fmt::format("{:<72}  # {}", line, user));
  }
  for (const Branch& child : branch.children) {
    out += fmt::format("\n{}+- {}", lead, child.source.empty() ? "(process)" : child.source);
    write_branch(out, child, lead + "|  ", context);
  }
}

}  // namespace

Texts render_guards(const EventRecord& event, RenderContext& context) {
  const auto& checks = event.list("guards");
  Branch root;
  for (size_t i = 0; i < checks.size(); ++i) {
    Branch* at = &root;
    for (const std::string& source : prefixes(item_of(event.list("sources"), i))) at = &child_of(*at, source);
    at->leaves.push_back({item_of(event.list("kinds"), i), checks[i], item_of(event.list("lines"), i),
                          item_of(event.list("line_sources"), i)});
  }
  std::string out =
      fmt::format("Guards of {}, entry {}: {}", context.frame_of(event).str(), event.compile.compile,
                  count_of(static_cast<int64_t>(checks.size()), "guard"));
  write_branch(out, root, "", context);
  return out;
}

}  // namespace suture::toolbox
