#include "driver/recompile_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "capture/source_text.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "driver/assignment_sites.h"

namespace suture {
namespace {

constexpr const char* kSymbolFromNowOn = " (from now on it is a symbol; the action saves this one compile)";

// One failing guard and what is known about it.
struct Failing {
  const Guard& guard;
  const GuardTree& tree;
  PyView value;  // null: its source is gone
  const FrameRecord& frame;
  const GuardFailure& failure;

  std::string source() const { return tree.set().sources.str(guard.source); }
  // The caller of the user's function can do something to it.
  bool is_argument() const {
    return frame.kind == FrameKind::kFunction && guard.source != kNoSource &&
           tree.set().sources[guard.source].kind == SourceKind::kLocal;
  }
  const char* suffix(const std::string& symbol) const {
    return frame.dynamic.symbolic.contains(symbol) ? kSymbolFromNowOn : "";
  }
};

std::string code(std::string_view text) { return fmt::format("`{}` before the call", text); }

// As the table has it.
std::string general_action(const Failing& failing) { return failing.failure.action; }

std::string size_action(const Failing& failing) {
  const Guard& guard = failing.guard;
  if (failing.value == nullptr || !is_exact_ndarray(failing.value)) return "pass an array every time";
  const ArrayFacts facts = array_facts(failing.value);
  if (guard.index >= facts.ndim) return "pass arrays with one number of axes";
  const int64_t actual = facts.shape[guard.index];
  if (actual < 2 || (guard.kind == GuardKind::kSize && guard.number < 2))
    return "nothing to do: sizes 0 and 1 change what broadcasting means and have entries of their own";
  const std::string symbol = fmt::format("{}.shape[{}]", failing.source(), guard.index);
  if (failing.frame.dynamic.fixed.contains(symbol)) return "remove `suture.mark_static` of this axis";
  if (!failing.is_argument()) return general_action(failing) + failing.suffix(symbol);
  // A symbol that is too narrow was marked with a range.
  if (guard.kind == GuardKind::kSizeRange)
    return fmt::format("`suture.mark_dynamic({}, {})` without a range, or with one that holds {}",
                       failing.source(), guard.index, actual);
  return fmt::format("`suture.mark_dynamic({}, {})` before the first call{}", failing.source(), guard.index,
                     failing.suffix(symbol));
}

std::string stride_action(const Failing& failing) {
  const std::string symbol = fmt::format("{}.strides[{}]", failing.source(), failing.guard.index);
  if (!failing.is_argument()) return general_action(failing) + failing.suffix(symbol);
  return code(fmt::format("{0} = np.ascontiguousarray({0})", failing.source())) + failing.suffix(symbol);
}

std::string layout_action(const Failing& failing) {
  if (!failing.is_argument()) return general_action(failing);
  const char* make = failing.guard.number == 'F' ? "asfortranarray" : "ascontiguousarray";
  return code(fmt::format("{0} = np.{1}({0})", failing.source(), make));
}

std::string array_action(const Failing& failing) {
  const std::string source = failing.source();
  if (failing.value != nullptr && failing.is_argument()) {
    if (is_exact_ndarray(failing.value) && !array_facts(failing.value).plain)
      return code(fmt::format("{0} = np.array({0}, {0}.dtype.newbyteorder('='))", source));
    if (PyList_Check(failing.value) || PyTuple_Check(failing.value) || is_any_ndarray(failing.value))
      return code(fmt::format("{0} = np.asarray({0})", source));
  }
  return general_action(failing);
}

std::string dtype_action(const Failing& failing) {
  if (!failing.is_argument()) return general_action(failing);
  return code(fmt::format("{0} = {0}.astype('{1}')", failing.source(), failing.failure.expected));
}

bool is_type(PyView type, std::string_view name) { return type_name(type) == name; }

// Python numbers: the wider of both types, at every call.
std::string type_action(const Failing& failing) {
  PyView expected = failing.guard.object.get();
  PyView actual =
      failing.value ? reinterpret_cast<PyObject*>(Py_TYPE(failing.value)) : static_cast<PyView>(nullptr);
  const auto one_of = [&](PyView type) {
    return is_type(type, "bool") || is_type(type, "int") || is_type(type, "float");
  };
  if (actual == nullptr || !failing.is_argument() || !one_of(expected) || !one_of(actual))
    return general_action(failing);
  const bool real = is_type(expected, "float") || is_type(actual, "float");
  return code(fmt::format("{0} = {1}({0})", failing.source(), real ? "float" : "int"));
}

std::string constant_action(const Failing& failing) {
  PyView expected = failing.guard.object.get();
  if (failing.value == nullptr || !PyLong_CheckExact(expected) || !PyLong_CheckExact(failing.value))
    return general_action(failing);
  return fmt::format("compile with `dynamic=True`{}", failing.suffix(failing.source()));
}

std::string writeable_action(const Failing& failing) {
  if (failing.guard.number == 0 || !failing.is_argument()) return general_action(failing);
  return code(fmt::format("{0} = {0}.copy()", failing.source()));
}

std::string action_for(const Failing& failing) {
  using Refine = std::string (*)(const Failing&);
  static constexpr Refine kRefine[] = {
#define SUTURE_GUARD(id, name, check, subject, expected, actual, action, refine) &refine,
#include "guard/guards.def"
  };
  return kRefine[static_cast<size_t>(failing.guard.kind)](failing);
}

// Range guards come from bindings and have no line of their own: what made capture look at the value has.
UserSpan place_of_guard(const Guard& guard, const GuardTree& tree) {
  if (guard.where.known()) return guard.where;
  for (const Guard& other : tree.set().guards)
    if (guard.source != kNoSource && other.source == guard.source && other.where.known()) return other.where;
  return {};
}

// Whether what this kind of guard looks at is another thing altogether when it fails, so that other guards about the
// thing, or about parts of it, have nothing of their own to say.
bool decides_the_rest(GuardKind kind) {
  switch (kind) {
    case GuardKind::kType:
    case GuardKind::kIdentity:
    case GuardKind::kConstant:
    case GuardKind::kArray:
    case GuardKind::kNotPlain:
    case GuardKind::kRank:
    case GuardKind::kLength:
    case GuardKind::kDictKeys:
    case GuardKind::kCode: return true;
    default: return false;
  }
}

bool is_within(const SourceTable& sources, SourceId id, const std::vector<SourceId>& decided) {
  for (; id != kNoSource; id = sources[id].parent)
    if (std::ranges::find(decided, id) != decided.end()) return true;
  return false;
}

// What has to be done about all failing guards of an entry: an entry that refuses two sizes needs two marks.
std::string action_for_all(const GuardTree& tree, const std::vector<int>& failing, const FrameInput& input,
                           const FrameRecord& frame) {
  std::vector<std::string> actions;
  std::vector<SourceId> decided;
  const SourceTable& sources = tree.set().sources;
  bool from_now_on = false;
  for (const int index : failing) {
    const Guard& guard = tree.set().guards[static_cast<size_t>(index)];
    if (is_within(sources, guard.source, decided)) continue;
    if (decides_the_rest(guard.kind) && guard.source != kNoSource) decided.push_back(guard.source);
    std::string action = action_for(
        {guard, tree, fetch(sources, guard.source, input), frame, tree.explain_failure(index, input)});
    if (action.ends_with(kSymbolFromNowOn)) {
      from_now_on = true;
      action.resize(action.size() - std::string_view(kSymbolFromNowOn).size());
    }
    if (std::ranges::find(actions, action) == actions.end()) actions.push_back(std::move(action));
  }
  return fmt::format("{}{}", fmt::join(actions, "; "), from_now_on ? kSymbolFromNowOn : "");
}

bool is_about_object(const Guard& guard) {
  return guard.kind == GuardKind::kIdentity || guard.kind == GuardKind::kCode;
}

RecompileCause first_cause(const CompileContext& ctx, const CacheEntry& entry, const FrameInput& input,
                           const FrameRecord& frame, AssignmentSites& sites) {
  RecompileCause cause;
  cause.entry = fmt::format("{}/{}", ctx.id.frame, entry.number);
  const GuardTree& tree = entry.guards;
  GuardScratch scratch;
  const int index = tree.evaluate(input, scratch);
  if (index < 0) {
    cause.sentence = cause.entry + ": no guard fails now; an input changed while it was checked";
    return cause;
  }
  const Guard& guard = tree.set().guards[static_cast<size_t>(index)];
  const GuardFailure failure = tree.explain_failure(index, input);
  cause.sentence = fmt::format("{}: {}", cause.entry, failure.sentence());
  cause.subject = failure.subject;
  cause.expected = failure.expected;
  cause.actual = failure.actual;
  cause.kind = info(guard.kind).name;
  cause.source = guard.source == kNoSource ? "" : tree.set().sources.str(guard.source);
  if (const UserSpan where = place_of_guard(guard, tree); where.known()) {
    cause.place = where.place();
    cause.place_source = source_line(where);
  }
  if (is_about_object(guard))
    cause.assigned = fmt::format("{}", fmt::join(sites.of(tree.set().sources, guard.source, input), ", "));
  const size_t guards = tree.set().guards.size();
  const std::vector<int> failing = tree.failing(input);
  cause.passed = fmt::format("{} of {}", guards - failing.size(), guards);
  cause.action = action_for_all(tree, failing, input, frame);
  return cause;
}

}  // namespace

std::vector<RecompileCause> recompile_causes(const CompileContext& ctx, const CodeCache& cache,
                                             const FrameInput& input, const FrameRecord& frame) {
  std::vector<RecompileCause> causes;
  AssignmentSites sites;
  for (const auto& entry : cache.entries()) causes.push_back(first_cause(ctx, *entry, input, frame, sites));
  return causes;
}

}  // namespace suture
