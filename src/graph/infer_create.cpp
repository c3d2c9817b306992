// Types of creation ops, matrix products and stores.
#include <algorithm>

#include "graph/infer.h"

namespace suture {

namespace {

Status settle_dims(Call& call) {
  Dims& dims = call.attrs.dims;
  dims = settle(dims, call.env());
  for (const SymInt& dim : dims) {
    if (dim.constant().value_or(0) < 0) return refused("negative dimensions are not allowed");
  }
  if (!product(dims).defined()) return refused("array is too big");
  return ok_status();
}

Result<Dims> created_strides(Call& call) {
  if (call.attrs.strides.empty()) return contiguous_strides(call.attrs.dims, call.attrs.order);
  if (call.attrs.strides.size() != call.attrs.dims.size()) {
    return Error::internal("types", "strides and dims of a new array differ in rank");
  }
  return call.attrs.strides;
}

Result<DType> created_dtype(Call& call) {
  if (call.attrs.dtype) return *call.attrs.dtype;
  if (call.op() == OpId::kLinspace) {
    // np.linspace promotes its ends with a Python float.
    OperandType ends[] = {{call.type(0).dtype, call.type(0).value_class},
                          {call.type(1).dtype, call.type(1).value_class},
                          {DType::kFloat64, ValueClass::kPyFloat}};
    return *promote_all(ends);
  }
  return Error::internal("types", fmt::format("{} without a dtype", info(call.op()).name));
}

Status check_created(Call& call, DType dtype) {
  for (size_t i = 0; i < call.arity(); ++i) {
    if (call.type(i).rank() != 0)
      return refused(fmt::format("{} of arrays is not compiled", info(call.op()).numpy));
    SUTURE_TRY_VOID(check_weak_operand(call, i, dtype));
  }
  bool one_axis = call.op() == OpId::kArange || call.op() == OpId::kLinspace;
  if (one_axis && call.attrs.dims.size() != 1)
    return Error::internal("types", "arange and linspace have one axis");
  if (call.op() == OpId::kLinspace && !is_float(dtype))
    return refused("np.linspace with an integer dtype is not compiled");
  if (call.op() == OpId::kArange && is_bool(dtype)) return refused("np.arange of bool is not compiled");
  return ok_status();
}

Error matmul_mismatch(Call& call) {
  return refused(fmt::format("{}: shapes {} and {} do not match", info(call.op()).numpy,
                             shape_text(call.type(0).shape, call.env()),
                             shape_text(call.type(1).shape, call.env())));
}

// Batch axes broadcast and are laid out in K order, outside of the C-ordered matrix.
Result<TensorType> infer_matmul(Call& call) {
  TensorType a = call.type(0), b = call.type(1);
  bool vector_a = a.rank() == 1, vector_b = b.rank() == 1;
  auto split = [](TensorType& t, bool vector) {  // leaves the batch part, returns the matrix part
    auto from = t.shape.end() - (vector ? 1 : 2);
    Dims matrix(from, t.shape.end());
    t.strides.erase(t.strides.end() - static_cast<long>(matrix.size()), t.strides.end());
    t.shape.erase(from, t.shape.end());
    return matrix;
  };
  Dims left = split(a, vector_a), right = split(b, vector_b);
  if (!call.env().eq(left.back(), right.front())) return matmul_mismatch(call);
  Dims shapes[] = {a.shape, b.shape};
  SUTURE_TRY(batch, broadcast_shapes(shapes, call.env()));
  TensorType operands[] = {a, b};
  Dims batch_strides = ufunc_result_strides(batch, operands, call.env());
  Dims matrix;
  if (!vector_a) matrix.push_back(left.front());
  if (!vector_b) matrix.push_back(right.back());
  TensorType out;
  out.shape = batch;
  SymInt matrix_size = product(matrix);
  for (const SymInt& stride : batch_strides) out.strides.push_back(stride * matrix_size);
  Dims inner = contiguous_strides(matrix, Order::kC);
  out.shape.insert(out.shape.end(), matrix.begin(), matrix.end());
  out.strides.insert(out.strides.end(), inner.begin(), inner.end());
  return out;
}

Result<TensorType> infer_dot(Call& call) {
  const TensorType &a = call.type(0), &b = call.type(1);
  size_t contracted = b.rank() == 1 ? 0 : b.shape.size() - 2;
  if (!call.env().eq(a.shape.back(), b.shape[contracted])) return matmul_mismatch(call);
  TensorType out;
  out.shape.assign(a.shape.begin(), a.shape.end() - 1);
  for (size_t i = 0; i < b.shape.size(); ++i) {
    if (i != contracted) out.shape.push_back(b.shape[i]);
  }
  out.strides = contiguous_strides(out.shape, Order::kC);
  return out;
}

// x[...] = value: the value broadcasts to the target; extra leading axes of extent 1 are ignored.
Status check_store_shape(Call& call, bool in_place) {
  const Dims& target = call.type(0).shape;
  Dims value = call.type(1).shape;
  Error mismatch = refused(fmt::format("could not broadcast input array from shape {} into shape {}",
                                       shape_text(value, call.env()), shape_text(target, call.env())));
  while (!in_place && value.size() > target.size() && value.front().constant() == 1)
    value.erase(value.begin());
  if (value.size() > target.size()) return mismatch;
  for (size_t i = 0; i < value.size(); ++i) {
    const SymInt& extent = target[target.size() - value.size() + i];
    if (!(value[i].constant() == 1) && !call.env().eq(value[i], extent)) return mismatch;
  }
  return ok_status();
}

Status check_store_dtype(Call& call, bool in_place) {
  DType to = call.type(0).dtype, from = call.type(1).dtype;
  if (in_place && !can_cast_same_kind(from, to)) {
    return refused(
        fmt::format("Cannot cast ufunc output from dtype('{}') to dtype('{}') with casting rule 'same_kind'",
                    info(from).numpy_name, info(to).numpy_name));
  }
  bool weak_float = call.type(1).value_class == ValueClass::kPyFloat;
  // A Python float goes through int(), which refuses what an array cast would wrap.
  if (weak_float && is_integer(to))
    return refused("a Python float stored into an integer array is not compiled");
  return check_weak_operand(call, 1, to);
}

}  // namespace

Result<TensorType> infer_create(Call& call) {
  SUTURE_TRY_VOID(settle_dims(call));
  SUTURE_TRY(dtype, created_dtype(call));
  SUTURE_TRY_VOID(check_created(call, dtype));
  TensorType out;
  out.dtype = dtype;
  out.shape = call.attrs.dims;
  SUTURE_TRY(strides, created_strides(call));
  out.strides = std::move(strides);
  return out;
}

Result<TensorType> infer_contract(Call& call) {
  if (call.type(0).rank() == 0 || call.type(1).rank() == 0) {
    return refused(fmt::format("{} of scalars is not compiled", info(call.op()).numpy));
  }
  SUTURE_TRY(out, call.op() == OpId::kMatmul ? infer_matmul(call) : infer_dot(call));
  OperandType operands[] = {{call.type(0).dtype, call.type(0).value_class},
                            {call.type(1).dtype, call.type(1).value_class}};
  SUTURE_TRY(types, resolve_types(call.op(), operands, std::nullopt));
  out.dtype = types.result;
  if (out.shape.empty()) out.value_class = ValueClass::kNumpyScalar;
  return out;
}

Result<TensorType> infer_store(Call& call) {
  if (call.type(0).scalar()) return Error::internal("types", "store into a scalar");
  if (!call.type(0).writeable) return refused("assignment destination is read-only");
  bool in_place = spelling_of(call.node) == Spelling::kInPlace && call.node.target != "=";
  SUTURE_TRY_VOID(check_store_shape(call, in_place));
  SUTURE_TRY_VOID(check_store_dtype(call, in_place));
  return call.type(0);
}

}  // namespace suture
