// Expected and actual values of a guard in words, put into the texts of guards.def.
#include "guard/guard_text.h"

#include <fmt/format.h>

#include "cpython/code_object.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "guard/guard_check.h"

namespace suture {

std::string object_text(PyView object) {
  if (object == nullptr) return "<collected>";
  std::string text = short_repr(object);
  PyView code = is_python_function(object) ? function_code(object) : object;
  if (!PyCode_Check(code)) return text;
  auto view = code_view(code);
  if (!view.ok() || text.back() != '>') return text;
  return fmt::format("{}, {}:{}>", text.substr(0, text.size() - 1), view->filename, view->first_line);
}

namespace {

constexpr const char* kMissing = "<missing>";

std::string replace_all(std::string text, std::string_view what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string type_of(PyView value) { return type_name(reinterpret_cast<PyObject*>(Py_TYPE(value))); }

// As the right side of a Python comparison.
std::string range_text(const Guard& guard, const ShapeEnv& env) {
  constexpr const char* kInt64 = "in range(-2**63, 2**63)";
  if (guard.symbol < 0) return kInt64;
  const SymbolInfo& symbol = env.symbols()[static_cast<size_t>(guard.symbol)];
  const bool low = symbol.min != INT64_MIN;
  const bool high = !symbol.ends_at_largest();
  if (low && high) return fmt::format("in range({}, {})", symbol.min, symbol.max + 1);
  if (low) return fmt::format(">= {}", symbol.min);
  return high ? fmt::format("<= {}", symbol.max) : kInt64;
}

std::string relation_text(Relation relation) {
  switch (relation) {
    case Relation::kEq: return "==";
    case Relation::kNe: return "!=";
    case Relation::kLt: return "<";
    case Relation::kLe: return "<=";
    case Relation::kFits: break;
  }
  return "?";
}

const ShapeFact& fact_of(const Guard& guard, const ShapeEnv& env) {
  return env.facts()[static_cast<size_t>(guard.fact)];
}

std::string fact_text(const ShapeFact& fact, const ShapeEnv& env) {
  if (fact.relation == Relation::kFits) return env.names_to_text(fact.lhs) + " fits in 64 bits";
  return fmt::format("{} {} {}", env.names_to_text(fact.lhs), relation_text(fact.relation),
                     env.names_to_text(fact.rhs));
}

std::string fact_values_text(const ShapeFact& fact, std::span<const int64_t> symbols) {
  const std::optional<int64_t> a = fact.lhs.evaluate(symbols), b = fact.rhs.evaluate(symbols);
  if (!a || !b) return "a value of more than 64 bits";
  return fmt::format("{} {} {} is false", *a, relation_text(fact.relation), *b);
}

std::string keys_text(PyView keys) {
  std::string text = "[";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i)
    text += (i ? ", " : "") + short_repr(PyTuple_GET_ITEM(keys, i));
  return text + "]";
}

std::string dict_keys_text(PyView dict) {
  if (!PyDict_Check(dict)) return type_of(dict);
  std::string text = "[";
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) text += (text.size() > 1 ? ", " : "") + short_repr(key);
  return text + "]";
}

std::string expected_text(const Guard& guard, const GuardSet& set, const ShapeEnv& env) {
  switch (guard.kind) {
    case GuardKind::kType: return type_name(guard.object.get());
    case GuardKind::kIdentity: return object_text(expected_object(guard));
    case GuardKind::kConstant: return short_repr(guard.object.get());
    case GuardKind::kArray: return "numpy.ndarray";
    case GuardKind::kNotPlain: return "an array that kernels do not hold";
    case GuardKind::kDtype: return std::string(info(static_cast<DType>(guard.number)).numpy_name);
    case GuardKind::kContiguous: return guard.number == 'F' ? "f_contiguous" : "c_contiguous";
    case GuardKind::kNewStrides:
      return fmt::format("np.empty_like({}, order='{}').strides", set.sources.str(guard.source),
                         guard.number == 'F' ? 'F' : 'C');
    case GuardKind::kWriteable: return guard.number ? "True" : "False";
    case GuardKind::kDictKeys: return keys_text(guard.object.get());
    case GuardKind::kAbsent: return short_repr(guard.object.get());
    case GuardKind::kCode: return object_text(guard.object.get());
    case GuardKind::kSizeRange:
    case GuardKind::kStrideRange:
    case GuardKind::kIntRange: return range_text(guard, env);
    case GuardKind::kNoOverlap:
    case GuardKind::kSameObject:
    case GuardKind::kNotSameObject: return set.sources.str(guard.other);
    case GuardKind::kShape: return fact_text(fact_of(guard, env), env);
    default: return std::to_string(guard.number);
  }
}

std::string not_plain_text(PyView array) {
  const PyArrayObject_fields* fields = array_fields(array);
  const ArrayFacts facts = array_facts(array);
  if (!facts.dtype) return "numpy.ndarray of dtype " + dtype_text(array);
  if (!(fields->flags & NPY_ARRAY_ALIGNED)) return "numpy.ndarray that is not aligned";
  return facts.plain ? "numpy.ndarray" : "numpy.ndarray with strides that are no whole elements";
}

// The actual value of a guard about an exact ndarray.
std::string actual_array_text(const Guard& guard, PyView array) {
  const PyArrayObject_fields* fields = array_fields(array);
  const bool axis_exists = guard.index >= 0 && guard.index < fields->nd;
  switch (guard.kind) {
    case GuardKind::kArray:
    case GuardKind::kNotPlain: return not_plain_text(array);
    case GuardKind::kDtype: return dtype_text(array);
    case GuardKind::kRank: return std::to_string(fields->nd);
    case GuardKind::kWriteable: return fields->flags & NPY_ARRAY_WRITEABLE ? "True" : "False";
    case GuardKind::kContiguous:
    case GuardKind::kNewStrides:
      return fmt::format("strides ({})", fmt::join(fields->strides, fields->strides + fields->nd, ", "));
    case GuardKind::kSize:
    case GuardKind::kSizeRange:
      return axis_exists ? std::to_string(fields->dimensions[guard.index])
                         : fmt::format("{} axes", fields->nd);
    case GuardKind::kStride:
      return axis_exists ? std::to_string(fields->strides[guard.index]) : fmt::format("{} axes", fields->nd);
    default: break;
  }
  const std::optional<int64_t> stride = bound_value(guard, array);
  if (stride) return std::to_string(*stride);
  return axis_exists ? fmt::format("{} bytes", fields->strides[guard.index])
                     : fmt::format("{} axes", fields->nd);
}

std::string actual_text(const Guard& guard, const ShapeEnv& env, PyView value,
                        std::span<const int64_t> symbols) {
  if (guard.kind == GuardKind::kShape) return fact_values_text(fact_of(guard, env), symbols);
  if (value == nullptr) return kMissing;
  switch (guard.kind) {
    case GuardKind::kType: return type_of(value);
    case GuardKind::kIdentity: return object_text(value);
    case GuardKind::kConstant:
    case GuardKind::kIntRange: return short_repr(value);
    case GuardKind::kLength:
      return builtin_length(value) < 0 ? type_of(value) : std::to_string(builtin_length(value));
    case GuardKind::kDictKeys: return dict_keys_text(value);
    case GuardKind::kAbsent: return "present";
    case GuardKind::kRegistrations: return std::to_string(abc_registrations());
    case GuardKind::kCode:
      return is_python_function(value) ? object_text(function_code(value)) : type_of(value);
    default: return is_exact_array(value) ? actual_array_text(guard, value) : type_of(value);
  }
}

std::string fill(std::string_view pattern, const Guard& guard, const GuardSet& set,
                 const std::string& expected, const std::string& actual) {
  // Placeholders in filled-in text (a dict key "{i}") must stay as they are: the user's words go in last.
  std::string text = replace_all(std::string(pattern), "{i}", std::to_string(guard.index));
  std::string filled;
  for (size_t at = 0; at < text.size();) {
    const auto is = [&](std::string_view key) { return text.compare(at, key.size(), key) == 0; };
    if (is("{s}"))
      filled += set.sources.str(guard.source), at += 3;
    else if (is("{expected}"))
      filled += expected, at += 10;
    else if (is("{actual}"))
      filled += actual, at += 8;
    else
      filled += text[at++];
  }
  return filled;
}

constexpr GuardKindInfo kKinds[] = {
#define SUTURE_GUARD(id, name, check, python, subject, expected, actual, action, ...) \
  {GuardKind::id, name, check, python, subject, expected, actual, action},
#include "guard/guards.def"
};

}  // namespace

const GuardKindInfo& info(GuardKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string guard_check_text(const Guard& guard, const GuardSet& set, const ShapeEnv& env) {
  return fill(info(guard.kind).check, guard, set, expected_text(guard, set, env), "");
}

bool is_of_other_type(const Guard& guard, PyView value) noexcept {
  if (guard.kind != GuardKind::kConstant || value == nullptr) return false;
  PyView expected = guard.object.get();
  if (PyArray_DescrCheck(expected) && PyArray_DescrCheck(value)) return false;  // every dtype has a class
  return Py_TYPE(value) != Py_TYPE(expected);
}

namespace {

std::string with_type(PyView value, const std::string& text) {
  return fmt::format("{} ({})", type_of(value), text);
}

}  // namespace

GuardFailure guard_failure(const Guard& guard, const GuardSet& set, const ShapeEnv& env, PyView value,
                           PyView other, std::span<const int64_t> symbols) {
  const bool other_type = is_of_other_type(guard, value);
  const GuardKindInfo& row = info(other_type ? GuardKind::kType : guard.kind);
  std::string expected = expected_text(guard, set, env);
  std::string actual = actual_text(guard, env, value, symbols);
  if (other_type) {
    expected = with_type(guard.object.get(), expected);
    actual = with_type(value, actual);
  }
  const bool missing = guard.other != kNoSource && (value == nullptr || other == nullptr);
  const bool about_object = guard.kind == GuardKind::kIdentity || guard.kind == GuardKind::kCode;
  if (about_object && actual == expected) actual += " (another one)";
  const auto filled = [&](std::string_view pattern) { return fill(pattern, guard, set, expected, actual); };
  return {filled(row.subject), filled(row.expected), missing ? kMissing : filled(row.actual),
          filled(row.action)};
}

}  // namespace suture
