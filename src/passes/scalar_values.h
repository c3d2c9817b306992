// Scalar values of constants: conversion between dtypes as NumPy's casts do it, for values that convert
// exactly or by plain rounding. Anything that NumPy would warn about (overflow, NaN to integer) has no answer
// here and stays a runtime cast.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace suture {

// `value` as stored for `to`: bool, int64_t, uint64_t or double (float32 values as the double of equal
// value).
std::optional<Scalar> convert_scalar(const Scalar& value, DType to);
double scalar_as_double(const Scalar& value);
// The constant of a kConstant node, or nothing for other nodes.
std::optional<Scalar> constant_of(const Node& node);
// Same kind of value, same bits (tells -0.0 from 0.0; NaN equals NaN of the same bits).
bool same_bits(const Scalar& a, const Scalar& b);

}  // namespace suture
