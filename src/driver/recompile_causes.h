// Why a call was accepted by no entry, and what the user can do about it.
//
// How it works
//   Each entry is asked for its first failing guard. The words come from the guard's own record and from the columns of
//   guards.def. Guards about an object also say where the program assigns it (assignment_sites.h). What stops the recompile
//   is told once, the same for all entries (recompile_advice.h).
#pragma once

#include <string>
#include <vector>

#include "driver/compile_context.h"
#include "driver/recompile_advice.h"

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
  std::string
      action;  // what stops the recompile, whichever entry the program keeps; code stands in backticks
};

// One per entry, in order of compilation.
std::vector<RecompileCause> recompile_causes(const CompileContext& ctx, const RefusedCall& call);

}  // namespace suture
