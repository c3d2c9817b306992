// Artifact guards: a tree of what the guards look at, when they are made and when they have been counted for a while.
//
//   Guards of f (prog.py:19), entry 0: 5 guards, 21.5 ns
//   +- argument x
//   |  array      type(x) is np.ndarray and ... [   3.1 ns]      # prog.py:20  y = np.sin(x) + 1
//   |  +- x.w
//   |  |  size       x.w.shape[0] == 32 [   3.1 ns]
//
//   Guards of f (prog.py:19), entry 0, after 1024 hits: 5 guards, 20.9 ns
//   +- argument x
//   |  array      type(x) is np.ndarray and ... [   3.0 ns, 1030 tests, 2 failed]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/source_line.h"
#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

struct Leaf {
  std::string kind, check, cost, line, source;
};

struct Branch {
  std::string source, origin;
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
  parent.children.push_back({source, "", {}, {}});
  return parent.children.back();
}

// `where` and the line there: `text` when the event had it, else as the context finds it.
std::string user_line(const std::string& where, std::string text, const RenderContext& context) {
  size_t colon = where.rfind(':');
  if (where.empty() || colon == std::string::npos) return "";
  int line = std::atoi(where.c_str() + colon + 1);
  if (text.empty() && context.source_line)
    text = bounded_source_line(context.source_line(where.substr(0, colon), line));
  size_t first = text.find_first_not_of(" \t");
  size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? where
                                    : fmt::format("{}  {}", where, text.substr(first, last - first + 1));
}

void write_branch(std::string& out, const Branch& branch, const std::string& lead,
                  const RenderContext& context) {
  for (const Leaf& leaf : branch.leaves) {
    std::string line = fmt::format("{}{:<11} {}{}", lead, leaf.kind, leaf.check, leaf.cost);
    std::string user = user_line(leaf.line, leaf.source, context);
    out += "\n" + (user.empty() ? line : fmt::format("{:<72}  # {}", line, user));
  }
  for (const Branch& child : branch.children) {
    const std::string origin = child.origin.empty() ? "" : child.origin + " ";
    out += fmt::format("\n{}+- {}{}", lead, origin, child.source.empty() ? "(sizes)" : child.source);
    write_branch(out, child, lead + "|  ", context);
  }
}

// " [   3.0 ns, 1030 tests, 2 failed]"; the width is fixed, so that trees stay comparable.
std::string cost_text(const EventRecord& event, size_t i) {
  const std::string ns = item_of(event.list("ns"), i);
  std::vector<std::string> parts;
  if (!ns.empty()) parts.push_back(fmt::format("{:>6} ns", ns));
  if (event.is(EventId::kGuardCosts)) {
    parts.push_back(count_of(std::atoll(item_of(event.list("tested"), i).c_str()), "test"));
    parts.push_back(item_of(event.list("failures"), i) + " failed");
  }
  return parts.empty() ? "" : fmt::format(" [{}]", fmt::join(parts, ", "));
}

double total_ns(const EventRecord& event) {
  double total = 0;
  for (const std::string& ns : event.list("ns")) total += std::atof(ns.c_str());
  return total;
}

std::string heading(const EventRecord& event, const RenderContext& context, size_t guards) {
  std::string out =
      fmt::format("Guards of {}, entry {}", context.frame_of(event).str(), event.compile.compile);
  if (event.is(EventId::kGuardCosts))
    out += fmt::format(", after {}", count_of(event.integer("hits"), "hit"));
  out += ": " + count_of(static_cast<int64_t>(guards), "guard");
  return event.list("ns").empty() ? out : out + fmt::format(", {:.1f} ns", total_ns(event));
}

}  // namespace

Texts render_guards(const EventRecord& event, RenderContext& context) {
  const auto& checks = event.list("guards");
  Branch root;
  for (size_t i = 0; i < checks.size(); ++i) {
    Branch* at = &root;
    for (const std::string& source : prefixes(item_of(event.list("sources"), i))) {
      const bool outermost = at == &root;
      at = &child_of(*at, source);
      if (outermost) at->origin = item_of(event.list("origins"), i);
    }
    at->leaves.push_back({item_of(event.list("kinds"), i), checks[i], cost_text(event, i),
                          item_of(event.list("lines"), i), item_of(event.list("line_sources"), i)});
  }
  std::string out = heading(event, context, checks.size());
  write_branch(out, root, "", context);
  return out;
}

}  // namespace suture::toolbox
