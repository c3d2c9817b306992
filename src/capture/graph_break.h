// Break: where and why capture stopped. Ids and texts come from breaks.def; there are no free-text reasons.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/user_span.h"
#include "trace/severity.h"

namespace suture {

enum class BreakReason : uint8_t {
#define SUTURE_BREAK(id, ...) id,
#include "capture/breaks.def"
};
// What a skip speaks about: the function, or inputs like these.
enum class BreakScope : uint8_t { kFunction, kInputs };
struct BreakReasonInfo {
  BreakReason reason;
  std::string_view enumerator, code, station;
  Severity severity;
  BreakScope scope;
  std::string_view title, explanation, hint;
};
const BreakReasonInfo& info(BreakReason reason);
std::vector<BreakReasonInfo> all_break_reasons();

struct Break {
  BreakReason reason = BreakReason::kUnknownCall;
  std::vector<std::string> args;  // fill {0} {1} {2}
  UserSpan where;
  std::vector<UserSpan> stack;         // inlined callers, outermost first; empty at top level
  std::shared_ptr<const Break> cause;  // SB206, SB403, SB404: the break inside the callee, loop or block

  // The first break at this very place: of a loop that stays in Python because of one in its body, that one. What this break
  // says beyond it is its effect; both are one break to people, who count causes.
  const Break& first_here() const;
  std::string title() const;
  std::string explanation() const;
  std::vector<std::string> hints() const;
  // The whole message, as logs and suture.GraphBreak show it.
  std::string message() const;
};

}  // namespace suture
