// Shapes and strides as NumPy computes them, over symbolic sizes. Used by the inference files of this room;
// what others may call is declared in graph_builder.h.
#pragma once

#include "graph/graph.h"
#include "graph/graph_builder.h"

namespace suture {

using Dims = std::vector<SymInt>;

// Keeps the invariant that sizes 0 and 1 are constants: a constant, or an expression known to be >= 2 (a fact
// if need be).
SymInt settle(const SymInt& dim, ShapeEnv& env);
Dims settle(const Dims& dims, ShapeEnv& env);

// Axis order of NumPy's iterator with order='K', innermost first. Each operand gives one stride per axis of
// the iteration space, 0 where the operand has extent 1 or lacks the axis.
std::vector<int> iteration_order(int rank, std::span<const Dims> operand_strides, ShapeEnv& env);
// Strides for the axes of `shape` laid out innermost first in `order`; axes missing from `order` get 0.
Dims strides_in_order(const Dims& shape, std::span<const int> order);
// An operand's strides over the axes of a broadcast result of rank `rank`.
Dims broadcast_strides(const TensorType& operand, int rank);
// Strides of a reduction's result over the kept axes of `operand`.
Dims reduced_strides(const TensorType& operand, const std::vector<int>& axes, bool keepdims, ShapeEnv& env);
// Strides of a view of `type` with shape `dims`, or nullopt when no view can have it.
std::optional<Dims> reshaped_strides(const TensorType& type, const Dims& dims, ShapeEnv& env);

// "(3, 4)" as NumPy writes shapes, at the hints.
std::string shape_text(const Dims& shape, const ShapeEnv& env);

}  // namespace suture
