// Discarding a Python exception, without losing one that is not ours to lose.
//
// Overview
//   The compiler asks Python questions whose failure is an answer ("no such attribute", "no source line"). But any call
//   into Python may also run a signal handler, and what that raises (KeyboardInterrupt for Ctrl-C, a timeout) is an
//   order of the user to the whole program: swallowed, Ctrl-C does nothing; taken for the answer, an attribute would
//   seem to be missing.
// How it works
//   discard_error() clears an ordinary exception. One that is no subclass of Exception, or whose traceback passes
//   through a signal handler, is kept for this thread and raised again at the next of two moments:
//     - raise_kept_error(), with which a compile ends: what was captured meanwhile rests on a wrong answer and is dropped;
//     - the next time this thread's interpreter loop looks (a pending call in the main thread, an asynchronous exception
//       in any other, which loses the arguments).
// Invariants
//   - This file holds the only PyErr_Clear of the project; scripts/check_layers.py looks.
#pragma once

namespace suture {

// Whether discard_error would clear what is set, rather than keep it.
bool pending_error_is_ordinary() noexcept;
void discard_error() noexcept;  // no exception is set afterwards; there need not be one before
// Sets the kept exception, in place of what may be set, and returns true; false when nothing was kept.
bool raise_kept_error() noexcept;

}  // namespace suture
