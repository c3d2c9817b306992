#include "ops/python_math.h"

#include <algorithm>
#include <iterator>

namespace suture {
namespace {

constexpr PythonMath kPythonMath[] = {
#define SUTURE_PYTHON_MATH(name, op, arity, c_function, result, raises) \
  {name, OpId::op, arity, c_function, ValueClass::result, PythonMath::Raises::raises},
#include "ops/python_math.def"
};

template <typename Key>
const PythonMath* find(Key PythonMath::* column, Key key) {
  const auto* row = std::ranges::find(kPythonMath, key, column);
  return row == std::end(kPythonMath) ? nullptr : row;
}

}  // namespace

const PythonMath* python_math(std::string_view name) { return find(&PythonMath::name, name); }
const PythonMath* python_math(OpId op) { return find(&PythonMath::op, op); }

}  // namespace suture
