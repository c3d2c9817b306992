// Types of elementwise ops: dtype by promotion, shape by broadcasting, strides in K order, class of rank-0
// results.
#include <algorithm>
#include <cmath>

#include "graph/infer.h"

namespace suture {

namespace {

// The value of an integer or bool constant.
std::optional<int64_t> constant_int(const Node& n) {
  if (!n.attrs.scalar) return std::nullopt;
  if (const int64_t* v = std::get_if<int64_t>(&*n.attrs.scalar)) return *v;
  if (const bool* v = std::get_if<bool>(&*n.attrs.scalar)) return *v ? 1 : 0;
  if (const uint64_t* v = std::get_if<uint64_t>(&*n.attrs.scalar)) {
    return *v <= static_cast<uint64_t>(INT64_MAX) ? static_cast<int64_t>(*v) : INT64_MAX;
  }
  return std::nullopt;
}

std::string dtype_name(DType dtype) { return std::string(info(dtype).numpy_name); }

Status check_weak_int(Call& call, const Node& n, DType dtype) {
  auto out_of_bounds = [&](const std::string& value) {
    return refused(fmt::format("Python integer {} out of bounds for {}", value, dtype_name(dtype)));
  };
  if (!is_integer(dtype) || dtype == DType::kInt64) return ok_status();
  if (n.op == OpId::kConstant) {
    int64_t value = constant_int(n).value_or(0);
    if (!fits(value, dtype)) return out_of_bounds(std::to_string(value));
    return ok_status();
  }
  if (n.op != OpId::kSymbolValue) {
    return refused(fmt::format("a Python integer computed in the graph meets {}, where it may not fit",
                               dtype_name(dtype)));
  }
  // The bounds become facts, so that a call with an int that does not fit is captured again.
  if (!call.env().le(0, n.attrs.sym) && is_unsigned(dtype)) return out_of_bounds(n.attrs.sym.str());
  if (dtype == DType::kUInt64) return ok_status();
  int bits = 8 * itemsize(dtype) - (is_signed(dtype) ? 1 : 0);
  int64_t low = is_signed(dtype) ? -(int64_t{1} << bits) : 0;
  bool inside = call.env().le(low, n.attrs.sym) && call.env().lt(n.attrs.sym, int64_t{1} << bits);
  return inside ? ok_status() : Status(out_of_bounds(n.attrs.sym.str()));
}

Status check_weak_float(const Node& n, DType dtype) {
  if (dtype != DType::kFloat32 || n.op != OpId::kConstant) return ok_status();
  const double* constant = n.attrs.scalar ? std::get_if<double>(&*n.attrs.scalar) : nullptr;
  double value = constant ? *constant : 0.0;
  if (std::isfinite(value) && !std::isfinite(static_cast<float>(value))) {
    return refused(fmt::format("Python float {} overflows float32", value));
  }
  return ok_status();
}

Status check_weak_operands(Call& call, DType loop) {
  for (size_t i = 0; i < call.arity(); ++i) {
    if (call.op() == OpId::kWhere && i == 0) continue;
    SUTURE_TRY_VOID(check_weak_operand(call, i, loop));
  }
  return ok_status();
}

// Integers to negative integer powers raise; only a constant exponent can be judged here.
Status check_power(Call& call, const OpTypes& types) {
  if (call.op() != OpId::kPower || !is_integer(types.loop)) return ok_status();
  const Node& exponent = call.operand(1);
  if (exponent.op != OpId::kConstant) return ok_status();
  std::optional<int64_t> value = constant_int(exponent);
  if (value && *value < 0) return refused("Integers to negative integer powers are not allowed.");
  return ok_status();
}

std::vector<OperandType> operand_types(const Call& call) {
  std::vector<OperandType> out;
  for (size_t i = 0; i < call.arity(); ++i) out.push_back({call.type(i).dtype, call.type(i).value_class});
  return out;
}

Result<OpTypes> types_of(Call& call, bool python) {
  if (call.attrs.dtype)
    return refused("dtype= of " + std::string(info(call.op()).numpy) + " is not compiled");
  // np.clip makes an array of its first operand, which is then strong.
  if (call.op() == OpId::kClip && is_weak(call.type(0).value_class))
    return refused("np.clip of a Python number is not compiled");
  if (python) return resolve_python_types(call.op(), operand_types(call), call.attrs.value_class);
  SUTURE_TRY(types, resolve_types(call.op(), operand_types(call), std::nullopt));
  SUTURE_TRY_VOID(check_weak_operands(call, types.loop));
  SUTURE_TRY_VOID(check_power(call, types));
  return types;
}

ValueClass class_of_rank0(const Call& call, const OpTypes& types, bool python) {
  if (python) return types.result_class;
  // np.where is not a ufunc: it keeps 0-d arrays.
  return call.op() == OpId::kWhere ? ValueClass::kArray : ValueClass::kNumpyScalar;
}

// Ufuncs look at the flags first: F-ordered operands that need neither broadcasting nor a cast give a new array in F
// order. The iterator, which all other calls go through, puts axes of extent 1 outside.
Dims ufunc_strides(const Dims& shape, std::span<const TensorType> operands, DType loop, ShapeEnv& env) {
  const auto walked_in_f_order = [&](const TensorType& x) {
    return x.rank() == 0 || (x.shape == shape && x.dtype == loop && is_contiguous(x, Order::kF, env) &&
                             !is_contiguous(x, Order::kC, env));
  };
  const bool seen = shape.size() > 1 && std::ranges::find(shape, SymInt(1)) != shape.end();
  if (seen && std::ranges::all_of(operands, walked_in_f_order)) return contiguous_strides(shape, Order::kF);
  return ufunc_result_strides(shape, operands, env);
}

// np.round copies integers, calls rint for 0 decimals, and otherwise computes into a new array in C or F
// order.
Dims rounded_strides(Call& call) {
  const TensorType& x = call.type(0);
  bool copies = !is_float(x.dtype) && call.attrs.decimals >= 0;
  if (copies) return like_strides(x, Order::kKeep, call.env());
  if (call.attrs.decimals == 0)
    return ufunc_strides(x.shape, std::span<const TensorType>(&x, 1), x.dtype, call.env());
  return like_strides(x, Order::kAny, call.env());
}

bool float_to_int(DType from, DType to) { return is_float(from) && is_integer(to); }

Result<TensorType> infer_conversion_of_rank0(Call& call, DType dtype, ValueClass wanted) {
  const TensorType& from = call.type(0);
  if (is_weak(wanted) && from.dtype == DType::kUInt64 && dtype == DType::kInt64) {
    return refused("int() of a uint64 may not fit 64 signed bits");
  }
  if (is_weak(from.value_class) && !is_weak(wanted)) {
    if (float_to_int(from.dtype, dtype))
      return refused("a Python float converted to an integer dtype is not compiled");
    SUTURE_TRY_VOID(check_weak_operand(call, 0, dtype));
  }
  TensorType out;
  out.dtype = dtype;
  out.value_class = wanted;
  return out;
}

}  // namespace

Status check_weak_operand(Call& call, size_t operand, DType dtype) {
  const Node& n = call.operand(operand);
  if (n.type.value_class == ValueClass::kPyInt) return check_weak_int(call, n, dtype);
  if (n.type.value_class == ValueClass::kPyFloat) return check_weak_float(n, dtype);
  return ok_status();
}

Result<TensorType> infer_elementwise(Call& call) {
  bool python = has_python_semantics(call.graph, call.node);
  SUTURE_TRY(types, types_of(call, python));
  std::vector<Dims> shapes;
  std::vector<TensorType> operands;
  for (size_t i = 0; i < call.arity(); ++i) {
    shapes.push_back(call.type(i).shape);
    operands.push_back(call.type(i));
  }
  TensorType out;
  out.dtype = types.result;
  SUTURE_TRY(shape, broadcast_shapes(shapes, call.env()));
  out.shape = std::move(shape);
  if (call.op() == OpId::kRound) {
    out.strides = rounded_strides(call);
  } else if (call.op() == OpId::kWhere) {
    out.strides = ufunc_result_strides(out.shape, operands, call.env());
  } else {
    out.strides = ufunc_strides(out.shape, operands, types.loop, call.env());
  }
  if (out.shape.empty()) out.value_class = class_of_rank0(call, types, python);
  return out;
}

Result<TensorType> infer_cast(Call& call) {
  const TensorType& from = call.type(0);
  if (call.op() == OpId::kCast && !call.attrs.dtype) return Error::internal("types", "cast without a dtype");
  DType dtype = call.op() == OpId::kCast ? *call.attrs.dtype : from.dtype;
  if (from.rank() == 0) {
    ValueClass kept = from.value_class == ValueClass::kArray ? ValueClass::kArray : ValueClass::kNumpyScalar;
    return infer_conversion_of_rank0(call, dtype, call.attrs.value_class.value_or(kept));
  }
  if (call.attrs.value_class.value_or(ValueClass::kArray) != ValueClass::kArray &&
      is_weak(*call.attrs.value_class)) {
    return refused("only 0-dimensional arrays can be converted to Python scalars");
  }
  TensorType out;
  out.dtype = dtype;
  out.shape = from.shape;
  out.strides = like_strides(from, call.attrs.order, call.env());
  return out;
}

}  // namespace suture
