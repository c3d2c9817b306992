// Shapes and strides as NumPy computes them.
//
// How it works: a ufunc allocates its result so that memory order follows the iterator's axis order. The
// iterator sorts axes by insertion, comparing two axes by the operands' absolute strides: axes with a zero
// stride in an operand say nothing, and when operands disagree C order wins (iteration_order). Copies sort by
// the stride of the one array instead (like_strides). Symbolic strides are compared by asking the ShapeEnv;
// for contiguous inputs every answer is provable.
#include "graph/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace suture {

namespace {

bool is_one(const SymInt& e) { return e.constant() == 1; }
bool is_zero(const SymInt& e) { return e.constant() == 0; }

bool is_zero(const SymInt& e, ShapeEnv& env) { return e.is_constant() ? is_zero(e) : env.eq(e, 0); }

SymInt absolute(const SymInt& stride, ShapeEnv& env) {
  if (std::optional<int64_t> c = stride.constant()) return *c < 0 ? SymInt(-*c) : stride;
  return env.le(0, stride) ? stride : -stride;
}

bool has_zero_extent(const Dims& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const SymInt& d) { return is_zero(d); });
}

Dims absolute_strides(Dims strides, ShapeEnv& env) {
  for (SymInt& stride : strides) stride = absolute(stride, env);
  return strides;
}

// What operands say about two axes: -1 `outer` stays outside of `inner`, 1 they swap, 0 nothing.
int compare_axes(std::span<const Dims> strides, size_t outer, size_t inner, ShapeEnv& env) {
  int verdict = 0;
  for (const Dims& s : strides) {
    if (is_zero(s[outer], env) || is_zero(s[inner], env)) continue;
    if (env.le(s[inner], s[outer])) return -1;  // one operand in C order decides, whatever others say
    verdict = 1;
  }
  return verdict;
}

// One axis of two shapes: the broadcast extent, or nullopt.
std::optional<SymInt> broadcast_extent(const SymInt& a, const SymInt& b, ShapeEnv& env) {
  if (a == b || is_one(b)) return a;
  if (is_one(a)) return b;
  if (a.is_constant() && b.is_constant()) return std::nullopt;
  SymInt x = settle(a, env), y = settle(b, env);
  if (is_one(x)) return y;
  if (is_one(y)) return x;
  if (!env.eq(x, y)) return std::nullopt;
  return y.is_constant() ? y : x;
}

struct Groups {
  std::vector<size_t> old_axes;  // axes of the old shape with extent other than 1
  const Dims& shape;
  const Dims& strides;
  const SymInt& extent(size_t i) const { return shape[old_axes[i]]; }
  const SymInt& stride(size_t i) const { return strides[old_axes[i]]; }
};

// Old axes [from, to) can be walked with one stride.
bool mergeable(const Groups& old, size_t from, size_t to, ShapeEnv& env) {
  for (size_t k = from; k + 1 < to; ++k) {
    if (!env.eq(old.stride(k), old.extent(k + 1) * old.stride(k + 1))) return false;
  }
  return true;
}

}  // namespace

SymInt settle(const SymInt& dim, ShapeEnv& env) {
  if (dim.is_constant()) return dim;
  SymInt e = env.simplify(dim);
  if (e.is_constant()) return e;
  if (env.hint(e) <= 1) return env.specialize(e);
  env.le(2, e);
  return e;
}

Dims settle(const Dims& dims, ShapeEnv& env) {
  Dims out;
  out.reserve(dims.size());
  for (const SymInt& dim : dims) out.push_back(settle(dim, env));
  return out;
}

std::string shape_text(const Dims& shape, const ShapeEnv& env) {
  std::string out = "(";
  for (const SymInt& dim : shape) out += fmt::format("{}{}", out.size() > 1 ? "," : "", env.hint(dim));
  return out + (shape.size() == 1 ? ",)" : ")");
}

Result<std::vector<SymInt>> broadcast_shapes(std::span<const std::vector<SymInt>> shapes, ShapeEnv& env) {
  size_t rank = 0;
  for (const Dims& shape : shapes) rank = std::max(rank, shape.size());
  Dims out(rank, 1);
  for (const Dims& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      SymInt& extent = out[rank - shape.size() + i];
      std::optional<SymInt> both = broadcast_extent(extent, shape[i], env);
      if (!both) {
        std::string text;
        for (const Dims& s : shapes) text += " " + shape_text(s, env);
        return Error::unsupported("types", "operands could not be broadcast together with shapes" + text);
      }
      extent = *both;
    }
  }
  return out;
}

std::vector<SymInt> contiguous_strides(const std::vector<SymInt>& shape, Order order) {
  std::vector<int> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (order != Order::kF) std::reverse(axes.begin(), axes.end());
  return strides_in_order(shape, axes);
}

std::vector<SymInt> new_array_strides(const std::vector<SymInt>& shape, Order order) {
  return has_zero_extent(shape) ? Dims(shape.size(), 0) : contiguous_strides(shape, order);
}

Dims strides_in_order(const Dims& shape, std::span<const int> order) {
  Dims strides(shape.size(), 0);
  SymInt stride = 1;
  for (int axis : order) {
    strides[static_cast<size_t>(axis)] = stride;
    const SymInt& extent = shape[static_cast<size_t>(axis)];
    if (!is_zero(extent) && !is_one(extent)) stride = stride * extent;
  }
  return strides;
}

std::vector<int> iteration_order(int rank, std::span<const Dims> operand_strides, ShapeEnv& env) {
  std::vector<int> order(static_cast<size_t>(rank));  // innermost first; C order to begin with
  for (size_t i = 0; i < order.size(); ++i) order[i] = rank - 1 - static_cast<int>(i);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t position = i;
    for (size_t j = i; j-- > 0;) {
      int verdict =
          compare_axes(operand_strides, static_cast<size_t>(order[i]), static_cast<size_t>(order[j]), env);
      if (verdict < 0) break;
      if (verdict > 0) position = j;
    }
    std::rotate(order.begin() + static_cast<long>(position), order.begin() + static_cast<long>(i),
                order.begin() + static_cast<long>(i) + 1);
  }
  return order;
}

Dims broadcast_strides(const TensorType& operand, int rank) {
  Dims out(static_cast<size_t>(rank), 0);
  size_t shift = out.size() - operand.shape.size();
  for (size_t i = 0; i < operand.shape.size(); ++i) {
    if (!is_one(operand.shape[i])) out[shift + i] = operand.strides[i];
  }
  return out;
}

std::vector<SymInt> ufunc_result_strides(const std::vector<SymInt>& shape,
                                         std::span<const TensorType> operands, ShapeEnv& env) {
  int rank = static_cast<int>(shape.size());
  if (rank == 1) return {1};
  Dims c_order = contiguous_strides(shape, Order::kC);
  bool all_c = true;
  for (const TensorType& operand : operands) {
    all_c &= operand.rank() == 0 || (operand.shape == shape && operand.strides == c_order);
  }
  if (all_c || has_zero_extent(shape)) return c_order;
  std::vector<Dims> strides;
  for (const TensorType& operand : operands) {
    if (operand.rank() > 0) strides.push_back(absolute_strides(broadcast_strides(operand, rank), env));
  }
  return strides_in_order(shape, iteration_order(rank, strides, env));
}

Dims reduced_strides(const TensorType& operand, const std::vector<int>& axes, bool keepdims, ShapeEnv& env) {
  auto reduced = [&](int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  Dims strides = absolute_strides(broadcast_strides(operand, operand.rank()), env);
  std::vector<int> position(static_cast<size_t>(operand.rank()), -1);
  Dims kept;
  for (int axis = 0; axis < operand.rank(); ++axis) {
    if (reduced(axis) && !keepdims) continue;
    position[static_cast<size_t>(axis)] = static_cast<int>(kept.size());
    kept.push_back(reduced(axis) ? SymInt(1) : operand.shape[static_cast<size_t>(axis)]);
  }
  std::vector<int> order;
  for (int axis : iteration_order(operand.rank(), std::span<const Dims>(&strides, 1), env)) {
    if (position[static_cast<size_t>(axis)] >= 0) order.push_back(position[static_cast<size_t>(axis)]);
  }
  return strides_in_order(kept, order);
}

bool is_contiguous(const TensorType& type, Order order, ShapeEnv& env) {
  if (has_zero_extent(type.shape)) return true;
  Dims packed = contiguous_strides(type.shape, order);
  for (size_t i = 0; i < packed.size(); ++i) {
    if (!is_one(type.shape[i]) && !env.eq(type.strides[i], packed[i])) return false;
  }
  return true;
}

std::vector<SymInt> like_strides(const TensorType& type, Order order, ShapeEnv& env) {
  if (has_zero_extent(type.shape)) return new_array_strides(type.shape, Order::kC);
  if (order == Order::kC || type.rank() < 2) return contiguous_strides(type.shape, Order::kC);
  if (order == Order::kF) return contiguous_strides(type.shape, Order::kF);
  if (is_contiguous(type, Order::kC, env)) return contiguous_strides(type.shape, Order::kC);
  if (is_contiguous(type, Order::kF, env)) return contiguous_strides(type.shape, Order::kF);
  if (order == Order::kAny) return contiguous_strides(type.shape, Order::kC);
  Dims strides = absolute_strides(type.strides, env);
  std::vector<int> axes(type.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::sort(axes.begin(), axes.end(), [&](int a, int b) {
    const SymInt &x = strides[static_cast<size_t>(a)], &y = strides[static_cast<size_t>(b)];
    if (env.lt(y, x)) return true;
    return a < b && !env.lt(x, y);
  });
  std::reverse(axes.begin(), axes.end());
  return strides_in_order(type.shape, axes);
}

std::optional<Dims> reshaped_strides(const TensorType& type, const Dims& dims, ShapeEnv& env) {
  if (has_zero_extent(type.shape)) return contiguous_strides(dims, Order::kC);
  if (is_contiguous(type, Order::kC, env)) return contiguous_strides(dims, Order::kC);
  Groups old{{}, type.shape, type.strides};
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (!is_one(type.shape[i])) old.old_axes.push_back(i);
  }
  // Walks both shapes, matching the smallest groups of axes with equal products; each old group must be one
  // run.
  Dims strides(dims.size(), 0);
  size_t oi = 0, ni = 0;
  while (ni < dims.size() && oi < old.old_axes.size()) {
    SymInt new_size = dims[ni], old_size = old.extent(oi);
    size_t oj = oi + 1, nj = ni + 1;
    while (!env.eq(new_size, old_size)) {
      if (env.lt(new_size, old_size)) {
        if (nj == dims.size()) return std::nullopt;
        new_size = new_size * dims[nj++];
      } else {
        if (oj == old.old_axes.size()) return std::nullopt;
        old_size = old_size * old.extent(oj++);
      }
    }
    if (!mergeable(old, oi, oj, env)) return std::nullopt;
    strides[nj - 1] = old.stride(oj - 1);
    for (size_t k = nj - 1; k > ni; --k) strides[k - 1] = strides[k] * dims[k];
    ni = nj;
    oi = oj;
  }
  SymInt last = ni > 0 ? strides[ni - 1] : SymInt(1);
  for (; ni < dims.size(); ++ni) strides[ni] = last;
  return strides;
}

bool reshape_copies(const TensorType& type, const std::vector<SymInt>& dims, ShapeEnv& env) {
  return !reshaped_strides(type, dims, env).has_value();
}

}  // namespace suture
