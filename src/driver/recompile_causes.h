// Why a call was accepted by no entry, and what the user can do about it.
//
// How it works
//   Each entry is asked for its first failing guard. The words come from the guard's own record and from the columns of
//   guards.def. Column `refine` names a function here that makes the action of the table more precise, from where the
//   value comes from and from what the compiler can do about it: only a size of an argument can be marked dynamic,
//   sizes 0 and 1 always have entries of their own. Guards about an object also say where the program assigns it
//   (assignment_sites.h).
//   tests/python/test_recompile_actions.py applies every action that holds code and counts the compiles.
#pragma once

#include <string>
#include <vector>

#include "driver/compile_context.h"
#include "driver/frame_record.h"
#include "runtime/code_cache.h"

namespace suture {

struct RecompileCause {
  std::string sentence;  // "0/0: array 'x' size mismatch at index 0. expected 32, actual 48"
  std::string entry;     // "0/0"
  std::string kind, source;
  std::string subject;  // "array 'x' size mismatch at index 0"
  std::string expected, actual;
  std::string place;         // file:line that made capture rely on it; empty when unknown
  std::string place_source;  // text of that line
  std::string assigned;      // guards about an object: "file:line, file:line" that assign what they look at
  std::string passed;        // "12 of 13": guards of the entry that hold for this call
  std::string action;        // what stops it, for all guards of the entry that fail; code stands in backticks
};

// One per entry, in order of compilation.
std::vector<RecompileCause> recompile_causes(const CompileContext& ctx, const CodeCache& cache,
                                             const FrameInput& input, const FrameRecord& frame);

}  // namespace suture
