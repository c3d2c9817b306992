// The guards of an entry as a Python function, printed from the records that the guard tree walks.
//
//   def __guard_0_for_f(x, n, globals, closure=(), function=None):
//       """Whether compile 0/0 of f (seed.py:12) serves a call with these bound arguments."""
//       try:
//           np = _key(globals, "np")
//           if not (np is numpy): return False  # seed.py:14: y = np.sin(x) + 1
//           ...
//       except (LookupError, ZeroDivisionError):  # something is not there any more
//           return False
//       return True
//
// How it works
//   Guards are printed in their final order. A source is fetched into a variable of its own right before the first guard
//   that needs it; a fetch that finds nothing raises LookupError, as the tree refuses a call then. What a guard tests
//   is the column `python` of guards.def; its helpers, and imports, stand before the function. Facts about arrays read
//   NumPy attributes only after a test has made sure that there is an array with such an axis.
// Invariants
//   - The text is a module that imports nothing but the standard library and NumPy, and runs nothing when it is imported.
//   - For all arguments it answers what GuardTree::matches answers, and runs no code of the program's (tested by mutation).
//     Objects that a file cannot hold stand in a table `_K`, which whoever executes the text fills with `objects`; weak
//     references stay weak. Unfilled, every guard about such an object fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "guard/guard_tree.h"

namespace suture {

struct GuardFunction {
  std::string name;  // "__guard_0_for_f"
  std::string text;
  std::vector<PyRef> objects;  // of the table _K
};

struct GuardFunctionTitle {
  int entry = 0;
  std::string compile;  // "0/0"
  // Text of a line of the program, for comments; may be empty.
  std::function<std::string(const UserSpan&)> source_line;
};

GuardFunction print_guard_function(const GuardTree& tree, PyView function, const GuardFunctionTitle& title);

}  // namespace suture
