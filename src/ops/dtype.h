// DType: element types that kernels can hold, with the facts of dtypes.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace suture {

enum class DType : uint8_t {
#define SUTURE_DTYPE(id, ...) id,
#include "ops/dtypes.def"
};

struct DTypeInfo {
  DType id;
  std::string_view numpy_name;  // "float64"
  std::string_view c_type;      // "double"
  int itemsize;                 // bytes
  int numpy_typenum;            // NPY_DOUBLE ...
  char kind;                    // 'b' 'i' 'u' 'f'
};

const DTypeInfo& info(DType dtype);
std::span<const DTypeInfo> all_dtypes();
std::optional<DType> dtype_from_typenum(int numpy_typenum);
std::optional<DType> dtype_from_name(std::string_view numpy_name);

inline int itemsize(DType d) { return info(d).itemsize; }
inline bool is_bool(DType d) { return d == DType::kBool; }
inline bool is_float(DType d) { return info(d).kind == 'f'; }
inline bool is_signed(DType d) { return info(d).kind == 'i'; }
inline bool is_unsigned(DType d) { return info(d).kind == 'u'; }
inline bool is_integer(DType d) { return is_signed(d) || is_unsigned(d); }

// What kind of Python object holds a value. Decides promotion (NEP 50: Python scalars are weak) and what the
// user gets back.
enum class ValueClass : uint8_t {
  kArray,        // numpy.ndarray (0-d arrays included)
  kNumpyScalar,  // numpy.float64 and friends: rank 0, strong dtype
  kPyBool,       // weak; stored as kBool
  kPyInt,        // weak; stored as kInt64 (values outside int64 are never captured)
  kPyFloat,      // weak; stored as kFloat64
};
std::string_view name(ValueClass value_class);  // "array" "scalar" "py_bool" "py_int" "py_float"
inline bool is_weak(ValueClass c) { return c >= ValueClass::kPyBool; }

}  // namespace suture
