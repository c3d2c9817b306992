#include "toolbox/verify/code_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/escaped_text.h"

namespace suture::toolbox {
namespace {

constexpr int kNested = 0x10;                   // CO_NESTED
constexpr int kNoMonitoringEvents = 0x2000000;  // of shims inside the interpreter

std::string difference(std::string_view what, std::string_view first, std::string_view second) {
  return fmt::format("{} is {} in the first, {} in the second", what, escaped_line(first),
                     escaped_line(second));
}

std::string number_difference(std::string_view what, int first, int second) {
  return first == second ? "" : difference(what, std::to_string(first), std::to_string(second));
}

// The part behind the root's own name; none when it is not under the root.
std::optional<std::string_view> below(std::string_view qualname, std::string_view root) {
  if (qualname == root) return "";
  if (!qualname.starts_with(root) || qualname[root.size()] != '.') return std::nullopt;
  return qualname.substr(root.size() + 1);
}

bool same_qualname(const CodeView& first, const CodeView& second, const QualifiedRoots& roots) {
  const auto a = below(first.qualname, roots.first), b = below(second.qualname, roots.second);
  return a && b ? *a == *b : first.qualname == second.qualname;
}

std::vector<std::string> parameters(const CodeView& view) {
  const auto begin = view.local_names.begin();
  return {begin, begin + view.parameter_count()};
}

std::vector<std::string> free_variables(const CodeView& view) {
  std::vector<std::string> names;
  for (size_t i = 0; i < view.local_names.size(); ++i)
    if ((view.local_kinds[i] & kLocalFree) != 0) names.push_back(view.local_names[i]);
  return names;
}

std::string list(const std::vector<std::string>& names) {
  return fmt::format("({})", fmt::join(names, ", "));
}

std::string docstring_text(const std::string* docstring) {
  return docstring ? repr(Constant::str(*docstring), 60) : "None";
}

bool same_docstring(const std::string* first, const std::string* second) {
  return first && second ? *first == *second : first == second;
}

}  // namespace

std::string header_difference(const CodeTree& first, const CodeTree& second, const QualifiedRoots& roots) {
  const CodeView &a = first.view, &b = second.view;
  if (a.name != b.name) return difference("the name", a.name, b.name);
  if (!same_qualname(a, b, roots)) return difference("the qualified name", a.qualname, b.qualname);
  std::string counts = number_difference("the number of positional parameters", a.arg_count, b.arg_count);
  if (counts.empty())
    counts = number_difference("the number of positional-only parameters", a.posonly_count, b.posonly_count);
  if (counts.empty())
    counts = number_difference("the number of keyword-only parameters", a.kwonly_count, b.kwonly_count);
  if (!counts.empty()) return counts;
  constexpr int kIgnored = kNested | kNoMonitoringEvents;
  if ((a.flags & ~kIgnored) != (b.flags & ~kIgnored))
    return difference("co_flags", fmt::format("{:#x}", a.flags), fmt::format("{:#x}", b.flags));
  if (parameters(a) != parameters(b))
    return difference("the list of parameters", list(parameters(a)), list(parameters(b)));
  if (free_variables(a) != free_variables(b))
    return difference("the list of free variables", list(free_variables(a)), list(free_variables(b)));
  if (!same_docstring(first.docstring(), second.docstring()))
    return difference("the docstring", docstring_text(first.docstring()), docstring_text(second.docstring()));
  return "";
}

}  // namespace suture::toolbox
