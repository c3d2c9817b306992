// What python_math.def says about the functions of module `math`.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/dtype.h"
#include "ops/op_info.h"

namespace suture {

struct PythonMath {
  enum class Raises : uint8_t { Domain, Never };
  std::string_view name;  // math.<name>
  OpId op;
  int arity;
  std::string_view c_function;
  ValueClass result;
  Raises raises;
};

// Null for what is no function of `math` or is not compiled.
const PythonMath* python_math(std::string_view name);
const PythonMath* python_math(OpId op);

}  // namespace suture
