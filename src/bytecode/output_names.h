// Names in transformed code that mean something to its readers. No object of a program gets one of them
// (capture/output_sources.cpp), and no rewriting adds a name that is taken (bytecode/added_names.h).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "bytecode/continuation.h"

namespace suture {

inline constexpr std::string_view kTailCallName = "__tail_call";                  // see cpython/tail_call.h
inline constexpr std::string_view kReleaseArgumentsName = "__release_arguments";  // the same
inline constexpr std::string_view kGraphName = "__compiled_fn_1";
// Of readable text only, see readable_blocks.h.
inline constexpr std::string_view kEnterName = "__enter", kEnterAsName = "__enter_as",
                                  kEnteredName = "__entered";

inline bool is_output_name(std::string_view name) {
  constexpr std::array kNames = {kTailCallName, kReleaseArgumentsName, kEnterName, kEnterAsName,
                                 kEnteredName};
  constexpr std::string_view kGraphs = "__compiled_fn";
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with(kGraphs) ||
         name.starts_with(kResumeName) || name.starts_with(kIterationName);
}

}  // namespace suture
