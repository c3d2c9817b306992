// The user's source text, for messages: read through Python's linecache, so that notebooks work too.
#pragma once

#include <string>

#include "base/user_span.h"

namespace suture {

// The line as it stands in the file, cut after 4096 bytes; empty when the source is not at hand.
std::string raw_source_line(const UserSpan& where);
// The whole line, without indentation; empty when the source is not at hand.
std::string source_line(const UserSpan& where);
// "if y.sum() > 0" for a place inside that statement; "this condition" when the source is not at hand.
std::string condition_text(const UserSpan& where);

}  // namespace suture
