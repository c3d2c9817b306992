// The adapters named in numpy_names.def. Each gets the call and its raw arguments (for a method, the array is
// argument 0) and the parameter list of its table line.
#pragma once

#include "capture/array_arguments.h"

namespace suture::numpy {

struct AdapterArguments {
  const CallArguments& raw;
  std::string_view parameters;

  Captured<Arguments> bind(const Call& call) const { return Arguments::bind(call, parameters, raw); }
};
using Adapter = Outcome (*)(const Call& call, const AdapterArguments& args);

#define SUTURE_ADAPTER(adapter) Outcome adapter(const Call& call, const AdapterArguments& args);
// array_ufuncs.cpp
SUTURE_ADAPTER(ufunc)
SUTURE_ADAPTER(where)
SUTURE_ADAPTER(clip)
SUTURE_ADAPTER(round)
SUTURE_ADAPTER(contraction)
SUTURE_ADAPTER(on_constants)
// array_reductions.cpp
SUTURE_ADAPTER(reduction)
SUTURE_ADAPTER(arg_reduction)
// array_shapes.cpp
SUTURE_ADAPTER(reshape)
SUTURE_ADAPTER(reshape_method)
SUTURE_ADAPTER(ravel)
SUTURE_ADAPTER(flatten)
SUTURE_ADAPTER(transpose)
SUTURE_ADAPTER(transpose_method)
SUTURE_ADAPTER(matrix_transpose)
SUTURE_ADAPTER(swapaxes)
SUTURE_ADAPTER(moveaxis)
SUTURE_ADAPTER(expand_dims)
SUTURE_ADAPTER(squeeze)
SUTURE_ADAPTER(broadcast_to)
SUTURE_ADAPTER(shape_of)
SUTURE_ADAPTER(ndim_of)
SUTURE_ADAPTER(size_of)
// array_creation.cpp
SUTURE_ADAPTER(filled)
SUTURE_ADAPTER(full)
SUTURE_ADAPTER(filled_like)
SUTURE_ADAPTER(full_like)
SUTURE_ADAPTER(arange)
SUTURE_ADAPTER(linspace)
// array_conversions.cpp
SUTURE_ADAPTER(copy_function)
SUTURE_ADAPTER(copy_method)
SUTURE_ADAPTER(asarray)
SUTURE_ADAPTER(ascontiguousarray)
SUTURE_ADAPTER(array)
SUTURE_ADAPTER(astype)
SUTURE_ADAPTER(fill)
SUTURE_ADAPTER(to_python)
#undef SUTURE_ADAPTER

// np.float64(x) and the other scalar types.
Outcome scalar_type_call(const Call& call, DType dtype, const CallArguments& args);

// Adds a binary or unary ufunc with the checks that operators and functions share.
Outcome elementwise(const Call& call, OpId op, const std::vector<ValueRef>& operands);
// The same, written to `out`; the value is `out` itself.
Outcome elementwise_into(const Call& call, OpId op, const std::vector<ValueRef>& operands,
                         const ValueRef& out);
// A view with the axes of `array` in this order.
Outcome permuted(const Call& call, NodeId array, std::vector<int> axes);
std::vector<int> reversed_axes(int rank);
SymInt element_count(const TensorType& type);
// (s0, s1, ...) as a tuple of Python ints.
ValueRef shape_tuple(CaptureState& state, const TensorType& type);
// True for values that capture may treat as an array or NumPy scalar.
bool is_array_like(const Call& call, const ValueRef& value);

}  // namespace suture::numpy
