// Frames that a traceback does not show.
//
// A loop that stays in Python runs its body through an iteration function, so two frames stand for one of the
// user's, and an exception that passes both would name the function twice. The outer one is taken off the
// traceback as soon as the exception has left it. Only failing calls pay.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// An iteration function has failed: the frame that called it shows the same function once more.
void hide_caller() noexcept;
// The pending exception has just left a frame of ours: forgets that frame, if it is one to be hidden.
void drop_hidden_frame() noexcept;

}  // namespace suture
