// Where the program assigns the names that guards look at, read from its source.
//
// How it works
//   The text of the file is compiled (which runs nothing) and the instructions of its code objects that store the name are
//   looked at: the compiler has resolved scopes, `global`, `nonlocal`, imports, `def` and every form of target already.
//     global `g` of a function      module level of its file, and functions of it with `global g`
//     closure variable              the function around it, and functions inside that one with `nonlocal`
//     attribute of a module         module level of its file
//     attribute of an instance      bodies of its classes, `self.g = ...` in their methods
//     attribute of either           `anything.g = ...` outside classes, in its file and in that of the compiled function
//     default of a parameter        the `def`
// Invariants
//   - Nothing is executed and no warning is shown; what cannot be read has no sites.
//   - For globals, a file that no longer holds the function in question has changed since, and has no sites. Closures and
//     attributes are looked up in the file as it is now.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "guard/frame_input.h"
#include "guard/source.h"

namespace suture {

class AssignmentSites {
 public:
  // "file:line" of every assignment that can give `id` its object, in order; empty when none was found, or when the
  // object is an argument, which has its place at the caller.
  std::vector<std::string> of(const SourceTable& sources, SourceId id, const FrameInput& input);

 private:
  PyView module_code(const std::string& file);  // null: no source
  void add_global(PyView function, const std::string& name, std::vector<std::string>& places);
  void add_closure(PyView function, int cell, std::vector<std::string>& places);
  void add_attribute(PyView owner, PyView function, const std::string& name,
                     std::vector<std::string>& places);

  std::map<std::string, PyRef> modules_;  // code of whole files, compiled once
};

}  // namespace suture
