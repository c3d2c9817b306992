// SourceVersion: whether the text of a file is still what a function was compiled from.
//
// How it works
//   The size and the time of change of a function's file are noted when Suture first sees the function: when it is compiled, or
//   met as a callee. Text that linecache has read from another version is not the function's. A callee may be seen first after
//   its file was edited; so where the noted version is younger than the process, the file is compiled once more and has to hold
//   a code object that is the same, line by line. A function with another code object, as after importlib.reload, is noted anew:
//   of functions that share name and file the newest counts.
// Invariants
//   - What cannot be compared (texts without a file or very long ones, code that something rewrote on import) is believed.
//   - No file is compiled unless it was edited while the process ran and its text is asked for.
#pragma once

#include <cstdint>
#include <string>

#include "base/user_span.h"
#include "cpython/py_ref.h"

namespace suture {

// Not for continuations, which no file holds.
void note_source(PyView code, const std::string& file, const std::string& function);

// Of the text that `linecache`, the module, holds of the file; kReadAnew: now, it was older.
enum class SourceText : uint8_t { kCurrent, kReadAnew, kChanged };
SourceText source_text_of(PyView linecache, const UserSpan& where);

}  // namespace suture
