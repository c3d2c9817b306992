// Equality of guarded constants, without user code.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// Same type and same value down to the bits: 1, True and 1.0 differ, 0.0 and -0.0 differ, a NaN equals
// itself. Containers compare element by element; objects of any other type are equal only to themselves.
bool same_constant(PyView a, PyView b) noexcept;

}  // namespace suture
