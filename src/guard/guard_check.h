// check_guard: what each kind of guard means. The flat program must agree with it (tested by mutation).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "guard/guard.h"

namespace suture {

// Bytes per element times this is the stride in bytes; empty when the array cannot bind it.
std::optional<int64_t> bound_value(const Guard& guard,
                                   PyView value) noexcept;  // kSizeRange, kStrideRange, kIntRange

// Whether `guard` holds. `value` and `other` are the fetched sources (null: cannot be fetched, or the guard
// has none). Range guards with a symbol write its value to `symbols`; kShape guards read them.
bool check_guard(const Guard& guard, const ShapeEnv& env, PyView value, PyView other,
                 std::span<int64_t> symbols) noexcept;

// For kIdentity: is `value` the expected object?
bool is_expected_object(const Guard& guard, PyView value) noexcept;
PyView expected_object(const Guard& guard) noexcept;  // null: collected

// len() of builtin containers, -1 for everything else.
int64_t builtin_length(PyView value) noexcept;

}  // namespace suture
