// The user's source text, for messages: read through Python's linecache, so that notebooks work too.
//
// How changed files are noticed
//   Text is read when a message wants it, which may be long after the program was imported. So the size and the time of
//   change of a function's file are noted when the function is first seen (compiled, inlined), and text that linecache has read
//   from another version of the file is not shown: kChangedSource (base/source_line.h) stands in its place. A function whose
//   code object is another one, as after importlib.reload, is noted anew.
#pragma once

#include <string>

#include "base/user_span.h"
#include "cpython/py_ref.h"

namespace suture {

// Notes the version of the file that a code object was made from. Not for continuations, which no file holds.
void note_source(PyView code, const std::string& file, const std::string& function);

// The line as it stands in the file, cut after 4096 bytes; empty when the source is not at hand.
std::string raw_source_line(const UserSpan& where);
// The whole line, without indentation; empty when the source is not at hand.
std::string source_line(const UserSpan& where);
// The same as a part of a sentence: `otherwise` when there is no text to quote.
std::string statement_text(const UserSpan& where, const std::string& otherwise);
// "if y.sum() > 0" for a place inside that statement; "this condition" when the source is not at hand.
std::string condition_text(const UserSpan& where);

}  // namespace suture
