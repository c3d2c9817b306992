// Numbers in CPython's compiler that decide between two forms of the same source (Python/compile.c).
#pragma once

namespace suture {

inline constexpr int kMostPushedArguments =
    30;  // STACK_USE_GUIDELINE: arguments of a call, beyond them in a list
inline constexpr int kFewestFoldedElements =
    3;                                     // constants in a list or set from which on they are one constant
inline constexpr int kItemsPerChunk = 16;  // of a long display of a dict

}  // namespace suture
