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
inline constexpr std::string_view kCellName = "__cell";                           // types.CellType
inline constexpr std::string_view kGraphName = "__compiled_fn_1";

// Of readable text only, see readable_blocks.h and readable_exits.h.
inline constexpr std::string_view kEnterName = "__enter", kEnterAsName = "__enter_as",
                                  kEnteredName = "__entered", kUnboundName = "__unbound",
                                  kMatchClassName = "__match_class", kExhaustedName = "__exhausted";
struct BlockHelper {
  std::string_view name, meaning;
};
inline constexpr std::array kBlockHelpers = {
    BlockHelper{
        kEnterName,
        "__enter(manager): calls `manager.__enter__` and returns its `__exit__`, for a with statement whose "
        "body is elsewhere"},
    BlockHelper{kEnterAsName,
                "__enter_as(manager): the same, returns what `manager.__enter__` gives and its `__exit__`"},
    BlockHelper{kEnteredName,
                "__entered(exit): a with statement that was entered elsewhere; leaving it calls `exit`"},
    BlockHelper{kMatchClassName,
                "__match_class(subject, cls, count, names): what a class pattern with `count` positional "
                "patterns and "
                "these keywords looks at in the subject, or None"},
    BlockHelper{kExhaustedName, "__exhausted: what `next` gives at the end of an iterator"},
    BlockHelper{kUnboundName,
                "__unbound: stands for the value of a variable that has none, or that nobody reads"},
};

inline bool is_output_name(std::string_view name) {
  constexpr std::string_view kGraphs = "__compiled_fn";
  return name == kTailCallName || name == kReleaseArgumentsName || name == kCellName ||
         name.starts_with(kGraphs) || name.starts_with(kResumeName) || name.starts_with(kIterationName) ||
         std::ranges::find(kBlockHelpers, name, &BlockHelper::name) != kBlockHelpers.end();
}

}  // namespace suture
