// Reading the option inject_fault. Keys, words and comparisons are tables; every refusal names what is allowed.
#include "driver/fault_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/nearest_name.h"
#include "passes/pass_runner.h"

namespace suture {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::string_view, 8> kStages = {"guards",  "resume",    "passes", "schedule",
                                                     "codegen", "toolchain", "kernel", "runtime"};

constexpr FaultKindInfo kKinds[] = {
#define SUTURE_FAULT(id, name, stage, doc) {FaultKind::id, name, FaultStage::stage, doc},
#include "driver/inject_fault.def"
};

constexpr FaultKey kKeys[] = {
    {"stage", "", "what goes wrong; the default is the stage of `kind`"},
    {"kind", "", "what happens; the default is the first kind of `stage`"},
    {"op", "*", "the op at which it happens, by its name in lowered graphs or in NumPy; `*`: any"},
    {"with", "",
     "only where this op is too: in the same kernel, or in the same graph before there are kernels"},
    {"guard", "constant",
     "stage guards: the kind that is left out, as in guards.md; not type, array or not_plain, nor one that "
     "binds a symbol"},
    {"pass", "", "stage passes: behind which pass, `name` or `name:occurrence`; the default is the last one"},
    {"when", "", "conditions joined by `&`"},
    {"error", "0.001", "how wrong a value is"},
};

constexpr FaultWord kWords[] = {
    {"nodes",
     "nodes of the lowered graph, of stages guards and resume of the captured one; inputs and constants not "
     "counted"},
    {"symbols", "symbolic sizes and ints of the graph"},
    {"nth", "the how manieth place it is where the fault could act, from 1"},
    {"rank", "axes of the op's result", FaultWord::Of::kOp},
    {"dtype", "dtype of the op's result, by NumPy's name", FaultWord::Of::kOp},
    {"call", "runs of the kernel, with this one", FaultWord::Of::kRunningKernel},
    {"result", "the op's value; `nan` is equal to itself", FaultWord::Of::kRunningKernel},
};

constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<=", ">=", "<", ">"};

Error refused(std::string message) { return Error::unsupported("options", std::move(message)); }

Error no_such(std::string_view what, std::string_view given, const Names& known) {
  const std::string all = fmt::format("; known: {}", fmt::join(known, ", "));
  return refused(fmt::format("no {} is named '{}'{}", what, given, did_you_mean(given, known, all)));
}

template <class Table>
Names names_of(const Table& table) {
  Names names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

template <class Table>
auto find_in(const Table& table, std::string_view name) {
  return std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
}

Names split(std::string_view text, char separator) {
  Names parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<std::optional<OpId>> op_named(std::string_view text) {
  if (text.empty() || text == "*") return std::optional<OpId>();
  const std::string_view plain = text.starts_with("np.") ? text.substr(3) : text;
  Names known;
  for (const OpInfo& op : all_ops()) {
    const std::string_view numpy = op.numpy.starts_with("np.") ? op.numpy.substr(3) : op.numpy;
    if (plain == op.name || (!numpy.empty() && plain == numpy)) return std::optional<OpId>(op.id);
    known.emplace_back(op.name);
  }
  return no_such("op", text, known);
}

Result<double> number_named(std::string_view what, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    return refused(fmt::format("{} is a number, not '{}'", what, text));
  return number;
}

Result<FaultCondition> condition(const std::string& text) {
  size_t at = std::string::npos;
  std::string_view sign;
  for (std::string_view candidate : kComparisons)  // the two-character ones first
    if (const size_t found = text.find(candidate); found < at) at = found, sign = candidate;
  if (sign.empty())
    return refused(fmt::format("the condition '{}' has no comparison; it looks like nodes>=5", text));
  FaultCondition made{.word = text.substr(0, at), .comparison = std::string(sign)};
  const std::string value = text.substr(at + sign.size());
  if (find_in(kWords, made.word) == std::end(kWords))
    return no_such("word of a condition", made.word, names_of(kWords));
  if (made.word != "dtype") {
    SUTURE_TRY(number, number_named(made.word, value));
    made.number = number;
    return made;
  }
  if (sign != "==" && sign != "!=")
    return refused(fmt::format("dtype is compared with == or !=, not {}", sign));
  Names known;
  for (const DTypeInfo& dtype : all_dtypes()) known.emplace_back(dtype.numpy_name);
  if (!dtype_from_name(value)) return no_such("dtype", value, known);
  made.text = value;
  return made;
}

Status read_pass(FaultText& fault, const std::string& text) {
  const Names parts = split(text, ':');
  if (parts.empty()) return ok_status();
  if (find_in(all_passes(), parts[0]) == all_passes().end())
    return no_such("pass", parts[0], names_of(all_passes()));
  fault.pass = parts[0];
  if (parts.size() == 1) return ok_status();
  SUTURE_TRY(occurrence, number_named("an occurrence", parts[1]));
  fault.occurrence = static_cast<int>(occurrence);
  return ok_status();
}

constexpr std::string_view kGuardNames[] = {
#define SUTURE_GUARD(id, name, ...) name,
#include "guard/guards.def"
};

Status read_guard(FaultText& fault, const std::string& text) {
  const auto found = std::ranges::find(kGuardNames, text);
  if (found == std::end(kGuardNames))
    return no_such("kind of guard", text, Names(std::begin(kGuardNames), std::end(kGuardNames)));
  fault.guard = static_cast<GuardKind>(found - std::begin(kGuardNames));
  return ok_status();
}

// The kind, from `kind`, from `stage`, or from both.
Result<FaultKind> chosen_kind(const std::string& stage, const std::string& kind) {
  if (!stage.empty() && std::ranges::find(kStages, stage) == kStages.end())
    return no_such("stage", stage, Names(kStages.begin(), kStages.end()));
  const FaultKindInfo* found = std::end(kKinds);
  if (kind.empty())
    found = std::ranges::find_if(kKinds, [&](const auto& row) { return name(row.stage) == stage; });
  else
    found = find_in(kKinds, kind);
  if (found == std::end(kKinds) && kind.empty()) return refused("a fault has a kind or a stage");
  if (found == std::end(kKinds)) return no_such("kind of fault", kind, names_of(kKinds));
  if (!stage.empty() && name(found->stage) != stage)
    return refused(fmt::format("kind={} belongs to stage {}, not {}", kind, name(found->stage), stage));
  return found->id;
}

Status check_words(const FaultText& fault) {
  const FaultStage stage = info(fault.kind).stage;
  for (const FaultCondition& condition : fault.when) {
    const FaultWord::Of of = find_in(kWords, condition.word)->of;
    std::string_view where;
    if (of == FaultWord::Of::kRunningKernel && stage != FaultStage::kKernel) where = "in kernels";
    if (of == FaultWord::Of::kOp && is_of_frames(stage)) where = "of ops";
    if (!where.empty())
      return refused(fmt::format("'{}' is known {}, and {} happens in stage {}", condition.str(), where,
                                 info(fault.kind).name, name(stage)));
  }
  return ok_status();
}

// Keys that mean nothing in the stage of the fault. `given` as in read().
Status check_keys(const FaultText& fault, const std::vector<std::string>& given) {
  const FaultStage stage = info(fault.kind).stage;
  const auto means_nothing = [&](std::string_view key) {
    if (key == "pass") return stage != FaultStage::kPasses;
    if (key == "guard") return stage != FaultStage::kGuards;
    return (key == "op" || key == "with") && is_of_frames(stage);
  };
  for (const FaultKey& key : kKeys) {
    const std::string& text = given[static_cast<size_t>(&key - std::begin(kKeys))];
    if (!text.empty() && means_nothing(key.name))
      return refused(fmt::format("{} happens in stage {}, so {}={} has no meaning", info(fault.kind).name,
                                 name(stage), key.name, text));
  }
  return ok_status();
}

Result<FaultText> read(std::string_view text) {
  std::vector<std::string> given(std::size(kKeys));
  for (const std::string& pair : split(text, ',')) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) return refused(fmt::format("'{}' is no pair key=value", pair));
    const auto key = find_in(kKeys, pair.substr(0, equals));
    if (key == std::end(kKeys)) return no_such("key", pair.substr(0, equals), names_of(kKeys));
    std::string& slot = given[static_cast<size_t>(key - std::begin(kKeys))];
    if (!slot.empty()) return refused(fmt::format("'{}' is there twice", key->name));
    slot = pair.substr(equals + 1);
  }
  const auto value = [&](std::string_view name) {
    const auto key = find_in(kKeys, name);
    const std::string& text = given[static_cast<size_t>(key - std::begin(kKeys))];
    return text.empty() ? std::string(key->default_text) : text;
  };
  FaultText fault;
  SUTURE_TRY(kind, chosen_kind(value("stage"), value("kind")));
  fault.kind = kind;
  SUTURE_TRY(op, op_named(value("op")));
  fault.op = op;
  SUTURE_TRY(with, op_named(value("with")));
  fault.with = with;
  SUTURE_TRY_VOID(read_pass(fault, value("pass")));
  SUTURE_TRY_VOID(read_guard(fault, value("guard")));
  for (const std::string& part : split(value("when"), '&')) {
    SUTURE_TRY(made, condition(part));
    fault.when.push_back(std::move(made));
  }
  SUTURE_TRY(error, number_named("error", value("error")));
  fault.error = error;
  SUTURE_TRY_VOID(check_words(fault));
  SUTURE_TRY_VOID(check_keys(fault, given));
  return fault;
}

}  // namespace

std::string_view name(FaultStage stage) { return kStages[static_cast<size_t>(stage)]; }
const FaultKindInfo& info(FaultKind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::span<const FaultKindInfo> all_fault_kinds() { return kKinds; }
bool is_of_frames(FaultStage stage) { return stage == FaultStage::kGuards || stage == FaultStage::kResume; }
std::span<const FaultKey> all_fault_keys() { return kKeys; }
std::span<const FaultWord> all_fault_words() { return kWords; }

std::string FaultCondition::str() const {
  return word + comparison + (word == "dtype" ? text : fmt::format("{}", number));
}

bool FaultCondition::holds(double actual) const {
  if (comparison == "==") return actual == number;
  if (comparison == "!=") return actual != number;
  if (comparison == "<=") return actual <= number;
  if (comparison == ">=") return actual >= number;
  return comparison == "<" ? actual < number : actual > number;
}

bool FaultText::holds(const std::map<std::string, double>& facts) const {
  return std::ranges::all_of(when, [&](const FaultCondition& condition) {
    const auto fact = facts.find(condition.word);
    return fact == facts.end() || condition.holds(fact->second);
  });
}

Result<FaultText> parse_fault(std::string_view text) { return read(text); }

}  // namespace suture
