// The text of the option inject_fault: what goes wrong, where, and under which conditions.
//
//   stage=kernel,kind=nan,op=maximum,when=nodes>=5&dtype==float64
//
// Pairs key=value, separated by commas. `when` holds conditions joined by `&`, each a word, a comparison and a value. Ops are
// those of the lowered graph (np.mean is a sum and a division there).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/guard.h"
#include "ops/dtype.h"
#include "ops/op_info.h"

namespace suture {

enum class FaultStage : uint8_t {
  kGuards,
  kResume,
  kPasses,
  kSchedule,
  kCodegen,
  kToolchain,
  kKernel,
  kRuntime
};
std::string_view name(FaultStage stage);

enum class FaultKind : uint8_t {
#define SUTURE_FAULT(id, ...) id,
#include "driver/inject_fault.def"
};
struct FaultKindInfo {
  FaultKind id;
  std::string_view name;
  FaultStage stage;
  std::string_view doc;
};
const FaultKindInfo& info(FaultKind kind);
std::span<const FaultKindInfo> all_fault_kinds();
// What happens to a frame, whichever backend runs its graph.
bool is_of_frames(FaultStage stage);

struct FaultKey {
  std::string_view name, default_text, doc;
};
std::span<const FaultKey> all_fault_keys();

struct FaultCondition {
  std::string word, comparison;
  double number = 0;
  std::string text;  // of a dtype
  std::string str() const;
  bool holds(double actual) const;
};
struct FaultWord {
  std::string_view name, doc;
  enum class Of : uint8_t { kGraph, kOp, kRunningKernel } of = Of::kGraph;  // who knows it
};
std::span<const FaultWord> all_fault_words();

struct FaultText {
  FaultKind kind = FaultKind::kWrongValue;
  std::optional<OpId> op, with;  // none: any
  std::string pass;              // after which the passes' faults act; "": the last one
  int occurrence = 1;            // of it
  GuardKind guard = GuardKind::kConstant;
  double error = 0;
  std::vector<FaultCondition> when;

  // Whether the conditions hold whose words are among these facts.
  bool holds(const std::map<std::string, double>& facts) const;
};

// kUnsupported with what is wrong and what is allowed.
Result<FaultText> parse_fault(std::string_view text);

}  // namespace suture
