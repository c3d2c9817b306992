#include "driver/recompile_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/lists.h"
#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "driver/symbol_trial.h"
#include "guard/guard_check.h"

namespace suture {
namespace {

constexpr const char* kSymbolFromNowOn = " (from now on it is a symbol; the action saves this one compile)";

struct Advice {
  enum class Does : uint8_t {
    kReplaceArgument,
    kMark,
    kCompileDynamic,
    kOther,
    kNothing
  };  // in the order of telling
  Does does = Does::kOther;
  std::string text;
  bool from_now_on = false;
};
using Does = Advice::Does;

// A capture in which everything is a symbol is made at most once per refused call.
class Trials {
 public:
  explicit Trials(const RefusedCall& call) : call_(call) {}

  // Whether one entry with a symbol in place of what `guard` fixes would have served this call and those of `entry`.
  bool symbol_serves(const Guard& guard, const GuardTree& entry) {
    if (call_.capture)
      if (auto known = ask(call_.capture->guards, call_.capture->graph.env, guard, entry)) return *known;
    for (const auto& other : call_.cache.entries())
      if (auto known = ask(other->guards.set(), other->guards.env(), guard, entry)) return *known;
    if (!made_) made_ = std::make_unique<Result<Capture>>(call_.capture_with_symbols());
    if (!made_->ok()) discard_error();
    return made_->ok() && ask((*made_)->guards, (*made_)->graph.env, guard, entry).value_or(false);
  }

 private:
  std::optional<bool> ask(const GuardSet& set, const ShapeEnv& env, const Guard& guard,
                          const GuardTree& entry) const {
    return SymbolTrial(set, env, call_.input, entry).serves(guard);
  }

  const RefusedCall& call_;
  std::unique_ptr<Result<Capture>> made_;
};

// One failing guard and what is known about it.
struct Failing {
  const Guard& guard;
  const GuardTree& tree;
  PyView value;  // null: its source is gone
  const RefusedCall& call;
  Trials& trials;
  const GuardFailure& failure;

  std::string source() const { return tree.set().sources.str(guard.source); }
  // The caller of the user's function can do something to it.
  bool is_argument() const {
    return call.frame.kind == FrameKind::kFunction && guard.source != kNoSource &&
           tree.set().sources[guard.source].kind == SourceKind::kLocal;
  }
  bool any_guard(auto accepts) const { return std::ranges::any_of(tree.set().guards, accepts); }
  // The function stores into the array: the caller wants to see that in the one that was passed.
  bool is_written() const {
    return any_guard([&](const Guard& other) {
      return other.kind == GuardKind::kWriteable && other.number != 0 && other.source == guard.source;
    });
  }
  bool is_replaceable() const { return is_argument() && !is_written(); }
  bool is_symbol_from_now_on(const std::string& symbol) const { return call.plan.symbolic.contains(symbol); }
};

Advice words(const Failing& failing, Does does) { return {does, failing.failure.action}; }

Advice replacement(std::string_view code, std::string_view condition = "") {
  return {Does::kReplaceArgument, fmt::format("`{}` before the call{}", code, condition)};
}

// As the table has it.
Advice general_action(const Failing& failing) { return words(failing, Does::kOther); }
Advice nothing_to_do(const Failing& failing) { return words(failing, Does::kNothing); }

Advice compile_dynamic(const Failing& failing, const std::string& symbol) {
  return {Does::kCompileDynamic, "compile with `dynamic=True`", failing.is_symbol_from_now_on(symbol)};
}

Advice decides(const std::string& what) {
  return {Does::kNothing,
          fmt::format("nothing to do when the values of `{}` are few: it decides what is compiled, "
                      "and each outcome has an entry of its own",
                      what)};
}

// --- sizes and layouts -------------------------------------------------------------------------------------
bool has_axis(PyView value, int axis) {
  return value != nullptr && is_exact_ndarray(value) && axis < array_facts(value).ndim;
}

Advice size_action(const Failing& failing) {
  const Guard& guard = failing.guard;
  if (failing.value == nullptr || !is_exact_ndarray(failing.value))
    return {Does::kOther, "pass an array every time"};
  if (!has_axis(failing.value, guard.index)) return {Does::kOther, "pass arrays with one number of axes"};
  const int64_t actual = array_facts(failing.value).shape[guard.index];
  if (actual < 2 || (guard.kind == GuardKind::kSize && guard.number < 2))
    return {Does::kNothing,
            "nothing to do: sizes 0 and 1 change what broadcasting means and have entries of their own"};
  const std::string source = failing.source();
  const std::string symbol = fmt::format("{}.shape[{}]", source, guard.index);
  // A symbol that is too narrow was marked with a range.
  if (guard.kind == GuardKind::kSizeRange)
    return {Does::kMark,
            fmt::format("`suture.mark_dynamic({}, {})` without a range, or with one that holds {}", source,
                        guard.index, actual)};
  if (!failing.trials.symbol_serves(guard, failing.tree)) return decides(symbol);
  if (!failing.is_argument()) return compile_dynamic(failing, symbol);
  if (failing.call.plan.fixed.contains(symbol))
    return {Does::kMark,
            fmt::format("`suture.mark_dynamic({0}, {1})` in place of `suture.mark_static({0}, {1})`", source,
                        guard.index)};
  return {Does::kMark,
          fmt::format("`suture.mark_dynamic({}, {})` before the first call", source, guard.index),
          failing.is_symbol_from_now_on(symbol)};
}

// The order that the oldest entry knows the array in: one for all entries.
char first_order(const Failing& failing) {
  const std::string source = failing.source();
  for (const auto& entry : failing.call.cache.entries())
    for (const Guard& guard : entry->guards.set().guards)
      if (guard.kind == GuardKind::kContiguous && entry->guards.set().sources.str(guard.source) == source)
        return guard.number == 'F' ? 'F' : 'C';
  return 'C';
}

Advice one_layout(const Failing& failing) {
  const char order = first_order(failing);
  if (!failing.is_replaceable())
    return {Does::kOther, fmt::format("give `{}` one memory layout, {}_contiguous", failing.source(),
                                      order == 'F' ? 'f' : 'c')};
  return replacement(fmt::format("{0} = np.{1}({0})", failing.source(),
                                 order == 'F' ? "asfortranarray" : "ascontiguousarray"));
}

Advice layout_action(const Failing& failing) { return one_layout(failing); }

// Strides of more than one element forward can be symbols; where the caller can make a copy, that serves all.
Advice stride_action(const Failing& failing) {
  const Guard& guard = failing.guard;
  if (failing.is_replaceable() || !has_axis(failing.value, guard.index)) return one_layout(failing);
  const bool fixed = guard.kind == GuardKind::kStride;
  if (!fixed || !failing.trials.symbol_serves(guard, failing.tree)) return one_layout(failing);
  return compile_dynamic(failing, fmt::format("{}.strides[{}]", failing.source(), guard.index));
}

// --- types -------------------------------------------------------------------------------------------------
bool is_type(PyView type, std::string_view name) { return type_name(type) == name; }

bool is_memory_map(PyView array) {
  return is_type(reinterpret_cast<PyObject*>(Py_TYPE(array)), "numpy.memmap");
}

// An array whose bytes kernels do not read as they lie. A copy helps when it has the dtype that the entry is for.
Advice plain_copy(const Failing& failing) {
  const PyArray_Descr* descriptor = array_fields(failing.value)->descr;
  const bool same_numbers = failing.any_guard([&](const Guard& guard) {
    return guard.kind == GuardKind::kDtype && guard.source == failing.guard.source &&
           info(static_cast<DType>(guard.number)).numpy_typenum == descriptor->type_num;
  });
  if (!same_numbers)
    return {Does::kNothing, fmt::format("nothing to do: {} has an entry of its own", failing.failure.actual)};
  const char* copy = PyArray_ISNBO(descriptor->byteorder)
                         ? "{0} = np.array({0})"
                         : "{0} = np.array({0}, {0}.dtype.newbyteorder('='))";
  return replacement(fmt::format(fmt::runtime(copy), failing.source()));
}

Advice array_action(const Failing& failing) {
  const std::string source = failing.source();
  PyView value = failing.value;
  if (value == nullptr || !failing.is_replaceable()) return general_action(failing);
  if (is_exact_ndarray(value)) return plain_copy(failing);
  if (is_any_ndarray(value) && !is_memory_map(value))
    return {
        Does::kNothing,
        fmt::format(
            "nothing to do: {} has an entry of its own, and a plain array would not have what its class adds",
            failing.failure.actual)};
  const std::string code = fmt::format("{0} = np.asarray({0})", source);
  if (is_any_ndarray(value)) return replacement(code);
  if (PyList_Check(value) || PyTuple_Check(value))
    return replacement(code,
                       ", where the function only hands it to NumPy: operators of lists and tuples mean "
                       "something else");
  return general_action(failing);
}

// A wider dtype of the same kind holds all values, but computes with more digits.
Advice dtype_action(const Failing& failing) {
  const auto expected = static_cast<DType>(failing.guard.number);
  const auto actual =
      failing.value && is_exact_ndarray(failing.value) ? array_facts(failing.value).dtype : std::nullopt;
  const bool wider =
      actual && info(*actual).kind == info(expected).kind && itemsize(*actual) < itemsize(expected);
  if (!wider || !failing.is_replaceable()) return nothing_to_do(failing);
  return replacement(fmt::format("{0} = {0}.astype('{1}')", failing.source(), failing.failure.expected),
                     fmt::format(", where results of {} will do; each dtype has an entry of its own",
                                 failing.failure.expected));
}

constexpr double kLargestExactInt = 9007199254740992;  // 2**53

bool is_number_a_float_holds(PyView value) {
  if (PyFloat_CheckExact(value)) return true;
  if (!PyLong_CheckExact(value)) return false;
  const double number = PyLong_AsDouble(value);
  if (PyErr_Occurred()) discard_error();
  return std::abs(number) <= kLargestExactInt;
}

// int and float beside arrays of floats: NumPy makes the int a float itself. Not so bool, and classes of the program's own.
Advice one_type(const Failing& failing, PyView expected_type) {
  const auto int_or_float = [](PyView type) { return is_type(type, "int") || is_type(type, "float"); };
  const auto about_dtype = [](const Guard& guard) { return guard.kind == GuardKind::kDtype; };
  const bool floats_only = failing.any_guard(about_dtype) && !failing.any_guard([&](const Guard& guard) {
    return about_dtype(guard) && !is_float(static_cast<DType>(guard.number));
  });
  if (failing.value == nullptr || !failing.is_argument() || !int_or_float(expected_type) || !floats_only ||
      !is_number_a_float_holds(failing.value))
    return {Does::kOther, std::string(info(GuardKind::kType).action)};
  return replacement(fmt::format("{0} = float({0})", failing.source()),
                     ", where the function computes with floats");
}

Advice type_action(const Failing& failing) { return one_type(failing, failing.guard.object.get()); }

bool fits_int64(PyView value) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

Advice constant_action(const Failing& failing) {
  PyView expected = failing.guard.object.get(), value = failing.value;
  if (value == nullptr) return nothing_to_do(failing);
  if (is_of_other_type(failing.guard, value))
    return one_type(failing, reinterpret_cast<PyObject*>(Py_TYPE(expected)));
  if (!PyLong_CheckExact(expected)) return nothing_to_do(failing);
  if (!fits_int64(expected) || !fits_int64(value))
    return {Does::kOther,
            fmt::format("{}; each value beyond has an entry of its own", info(GuardKind::kIntRange).action)};
  const std::string source = failing.source();
  return failing.trials.symbol_serves(failing.guard, failing.tree) ? compile_dynamic(failing, source)
                                                                   : decides(source);
}

// --- objects -----------------------------------------------------------------------------------------------
bool is_singleton(PyView object) {
  return object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented;
}

// Made again at every use, as `rng.normal` is: there is nothing to tell the two apart but where they are.
bool made_alike(PyView a, PyView b) {
  if (PyCFunction_Check(a) && PyCFunction_Check(b))
    return PyCFunction_GET_FUNCTION(a) == PyCFunction_GET_FUNCTION(b) &&
           PyCFunction_GET_SELF(a) == PyCFunction_GET_SELF(b);
  if (!PyCode_Check(a) || !PyCode_Check(b)) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) discard_error();
  return equal > 0;
}

// `f(x, g=...)` can be compiled with g given.
bool takes_keyword(const Failing& failing) {
  auto code = code_view(function_code(failing.call.input.function));
  const int index = failing.tree.set().sources[failing.guard.source].index;
  return code.ok() && index >= code->posonly_count && index < code->arg_count + code->kwonly_count;
}

Advice few_objects(const Failing& failing) {
  std::string text = "nothing to do when the objects are few and kept: each has an entry of its own";
  if (!failing.is_argument())
    text += fmt::format("; or give `{}` its object before the first call and leave it", failing.source());
  if (failing.is_argument() && takes_keyword(failing)) {
    const std::string name = function_name(failing.call.input.function);
    text += fmt::format(
        "; with many, compile the function once for each: `suture.compile(functools.partial({0}, {1}={1}))`",
        name, failing.source());
  }
  return {Does::kNothing, std::move(text)};
}

Advice identity_action(const Failing& failing) {
  PyView expected = expected_object(failing.guard), value = failing.value;
  if (expected == nullptr) return general_action(failing);  // it is gone: the program keeps none
  if (value == nullptr || is_singleton(expected) || is_singleton(value))
    return {Does::kNothing,
            fmt::format("nothing to do: `{}` decides what is compiled, and {} has an entry of its own",
                        failing.source(),
                        is_singleton(expected) ? failing.failure.expected : failing.failure.actual)};
  return made_alike(expected, value) ? general_action(failing) : few_objects(failing);
}

Advice code_action(const Failing& failing) {
  if (failing.value == nullptr || !is_python_function(failing.value))
    return {Does::kOther, std::string(info(GuardKind::kType).action)};
  return made_alike(failing.guard.object.get(), function_code(failing.value)) ? general_action(failing)
                                                                              : few_objects(failing);
}

Advice advice_about(const Failing& failing) {
  using Refine = Advice (*)(const Failing&);
  static constexpr Refine kRefine[] = {
#define SUTURE_GUARD(id, name, check, python, subject, expected, actual, action, refine) &refine,
#include "guard/guards.def"
  };
  return kRefine[static_cast<size_t>(failing.guard.kind)](failing);
}

// --- all guards of an entry, all entries -------------------------------------------------------------------

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

// An entry that refuses two sizes needs two marks.
std::vector<Advice> advice_about(const GuardTree& tree, const RefusedCall& call, Trials& trials) {
  std::vector<Advice> out;
  std::vector<SourceId> decided;
  const SourceTable& sources = tree.set().sources;
  for (const int index : tree.failing(call.input)) {
    const Guard& guard = tree.set().guards[static_cast<size_t>(index)];
    if (is_within(sources, guard.source, decided) || is_within(sources, guard.other, decided)) continue;
    if (decides_the_rest(guard.kind) && guard.source != kNoSource) decided.push_back(guard.source);
    const GuardFailure failure = tree.explain_failure(index, call.input);
    Advice advice =
        advice_about(Failing{guard, tree, fetch(sources, guard.source, call.input), call, trials, failure});
    const auto same = [&](const Advice& other) { return other.text == advice.text; };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(advice));
  }
  return out;
}

bool all_can_be_done(const std::vector<Advice>& advice) {
  return !advice.empty() &&
         std::ranges::none_of(advice, [](const Advice& one) { return one.does == Does::kNothing; });
}

std::string told(std::vector<Advice> advice) {
  // Symbols for everything are symbols for the axes, too.
  if (std::ranges::any_of(advice, [](const Advice& one) { return one.does == Does::kCompileDynamic; }))
    std::erase_if(advice, [](const Advice& one) {
      return one.does == Does::kMark && one.text.ends_with("before the first call");
    });
  std::ranges::stable_sort(advice, {}, &Advice::does);
  std::vector<std::string> texts;
  for (const Advice& one : advice) add_once(texts, one.text);
  const bool from_now_on = std::ranges::any_of(advice, &Advice::from_now_on);
  return fmt::format("{}{}", fmt::join(texts, "; "), from_now_on ? kSymbolFromNowOn : "");
}

}  // namespace

std::string advice_for(const RefusedCall& call) {
  Trials trials(call);
  std::vector<Advice> oldest;
  for (const auto& entry : call.cache.entries()) {
    std::vector<Advice> advice = advice_about(entry->guards, call, trials);
    if (all_can_be_done(advice)) return told(std::move(advice));
    if (oldest.empty()) oldest = std::move(advice);
  }
  // Doing the rest would not stop it.
  std::erase_if(oldest, [](const Advice& one) { return one.does != Does::kNothing; });
  return told(std::move(oldest));
}

}  // namespace suture
