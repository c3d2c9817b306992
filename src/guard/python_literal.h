// Objects as expressions of Python: what a file can say (constants, names of the standard library and of NumPy), and a
// table _K for everything else.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/py_ref.h"

namespace suture {

class PythonLiterals {
 public:
  // An expression that gives `object` (for constants: one that same_constant accepts for it). Runs no user code.
  std::string of(PyView object);
  // An expression that gives the object itself, not an equal one.
  std::string same(PyView object);
  // "_K[3]": the object itself, found in `objects`.
  std::string entry(PyView object);
  // Modules that the expressions name, and builtins that they call.
  const std::set<std::string>& modules() const { return modules_; }
  const std::set<std::string>& names() const { return names_; }
  const std::vector<PyRef>& objects() const { return objects_; }

 private:
  // "" when a file cannot say it.
  std::string constant(PyView object, int depth);
  std::string number(PyView object);
  std::string real(double value);
  std::string sequence(PyView tuple, int depth);
  std::string numpy_value(PyView object);
  std::string importable(PyView object);
  std::string named(PyView object, const std::string& module, const std::string& path);
  std::string call(const char* function, const std::string& arguments);

  std::set<std::string> modules_, names_;
  std::vector<PyRef> objects_;
};

// Whether Python takes `name` for the name of a variable.
bool is_python_name(const std::string& name);
// The nearest such name: "<lambda>" -> "_lambda_", "class" -> "class_".
std::string as_python_name(std::string_view text);

}  // namespace suture
