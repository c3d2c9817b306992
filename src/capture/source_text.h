// The user's source text, for messages: read through Python's linecache, so that notebooks work too.
// In the place of text from another version of the file (source_version.h) stands kChangedSource (base/source_line.h).
#pragma once

#include <string>

#include "base/user_span.h"

namespace suture {

// The line as it stands in the file, cut after 4096 bytes; empty when the source is not at hand.
std::string raw_source_line(const UserSpan& where);
// The whole line, without indentation; empty when the source is not at hand.
std::string source_line(const UserSpan& where);
// The same as a part of a sentence: `otherwise` when there is no text to quote.
std::string statement_text(const UserSpan& where, const std::string& otherwise);
// "if y.sum() > 0" for a place inside that statement; "this condition" when the source is not at hand.
std::string condition_text(const UserSpan& where);

}  // namespace suture
