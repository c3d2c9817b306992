// What a reader of a guard wants to know beside its check: where its value comes from, and what would make it unnecessary.
#pragma once

#include <string>
#include <string_view>

#include "guard/guard.h"

namespace suture {

// What the value that `id` is a part of is to the function: "argument", "global", "closure variable", "builtin",
// "function" (the function itself), "object" (fixed by another guard); "" for no source.
std::string_view origin_of(const SourceTable& sources, SourceId id);

// The change of the program that makes guard `index` unnecessary, code in backticks; "" when any program that computes
// the same has it.
std::string guard_removal(const GuardSet& set, size_t index);

}  // namespace suture
