// Functions that look at the frames of their callers: they would see the parts that a function was split into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cpython/py_ref.h"

namespace suture {

enum class FrameUse : uint8_t {
  kNone,
  kDepth,  // counts frames: right in every part of a function but the body of a loop, which is a frame more
  kContents,  // reads locals or code of a frame
};
// What a call of `callable` with this many positional arguments does.
FrameUse frame_use(PyView callable, size_t arguments);
// A callable that the code of `function` names and that reads the contents of its caller's frame, as the code
// spells it; or "". Such a function cannot be split: what it reads may be what only the whole frame has.
std::string named_frame_reader(PyView function);

}  // namespace suture
