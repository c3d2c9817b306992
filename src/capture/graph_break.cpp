// Texts of breaks, all from breaks.def.
#include "capture/graph_break.h"

#include <fmt/format.h>

#include <array>

#include "base/escaped_text.h"

namespace suture {
namespace {

constexpr std::array kReasons = {
#define SUTURE_BREAK(id, code, station, severity, scope, title, explanation, hint)     \
  BreakReasonInfo{BreakReason::id,   #id,   code,        #station, Severity::severity, \
                  BreakScope::scope, title, explanation, hint},
#include "capture/breaks.def"
};

// {0} {1} {2} replaced by args; a missing argument leaves nothing.
std::string filled(std::string_view text, const std::vector<std::string>& args) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool slot = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}' && text[i + 1] >= '0' &&
                      text[i + 1] <= '9';
    if (!slot) {
      out += text[i];
      continue;
    }
    const size_t number = static_cast<size_t>(text[i + 1] - '0');
    if (number < args.size()) out += args[number];
    i += 2;
  }
  return out;
}

}  // namespace

const BreakReasonInfo& info(BreakReason reason) { return kReasons[static_cast<size_t>(reason)]; }

std::vector<BreakReasonInfo> all_break_reasons() { return {kReasons.begin(), kReasons.end()}; }

const Break& Break::first_here() const {
  const Break* first = this;
  while (first->cause && first->cause->where == first->where) first = first->cause.get();
  return *first;
}

std::string Break::title() const { return std::string(info(reason).title); }

std::string Break::explanation() const { return filled(info(reason).explanation, args); }

std::vector<std::string> Break::hints() const {
  constexpr std::string_view separator = " | ";
  std::vector<std::string> out;
  std::string_view rest = info(reason).hint;
  while (!rest.empty()) {
    const size_t end = rest.find(separator);
    out.push_back(filled(rest.substr(0, end), args));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + separator.size());
  }
  return out;
}

std::string Break::message() const {
  const Break& first = first_here();
  std::string out =
      fmt::format("Graph break in user code at {}\nGraph Break Reason: {}\nExplanation: {}",
                  escaped_line(first.where.place()), first.title(), escaped_line(first.explanation()));
  for (const std::string& hint : first.hints()) out += "\nHint: " + escaped_line(hint);
  if (&first != this) {
    out += "\nEffect: " + escaped_line(explanation());
    for (const std::string& hint : hints()) out += "\nHint: " + escaped_line(hint);
  }
  if (first.cause)
    out += fmt::format("\n  because of {} at {}", first.cause->title(),
                       escaped_line(first.cause->where.place()));
  for (auto caller = stack.rbegin(); caller != stack.rend(); ++caller)
    out += fmt::format("\n  called from {} in {}", escaped_line(caller->place()),
                       escaped_line(caller->function));
  return out;
}

}  // namespace suture
