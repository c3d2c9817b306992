// Facts about dtypes, all from dtypes.def.
#include "ops/dtype.h"

#include <array>

namespace suture {

namespace {
constexpr std::array kDTypes = {
#define SUTURE_DTYPE(id, numpy_name, c_type, itemsize, numpy_typenum, kind_char) \
  DTypeInfo{DType::id, numpy_name, c_type, itemsize, numpy_typenum, kind_char},
#include "ops/dtypes.def"
};
}  // namespace

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::span<const DTypeInfo> all_dtypes() { return kDTypes; }

std::optional<DType> dtype_from_typenum(int numpy_typenum) {
  // NumPy's long long is as wide as its long on the platforms that are supported, and computes the same.
  constexpr int kLongLong = 9, kULongLong = 10;
  if (numpy_typenum == kLongLong) return DType::kInt64;
  if (numpy_typenum == kULongLong) return DType::kUInt64;
  for (const DTypeInfo& dtype : kDTypes) {
    if (dtype.numpy_typenum == numpy_typenum) return dtype.id;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_name(std::string_view numpy_name) {
  for (const DTypeInfo& dtype : kDTypes) {
    if (dtype.numpy_name == numpy_name) return dtype.id;
  }
  return std::nullopt;
}

std::string_view name(ValueClass value_class) {
  constexpr std::string_view kNames[] = {"array", "scalar", "py_bool", "py_int", "py_float"};
  return kNames[static_cast<size_t>(value_class)];
}

}  // namespace suture
