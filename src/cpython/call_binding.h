// Arguments of a call bound as CPython binds them, without its frame; and the way back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpython/py_ref.h"

namespace suture {

// What the code object says about parameters. Bound arguments are in localsplus order: positional,
// keyword-only, the *args tuple, the **kwargs dict.
struct ParameterLayout {
  PyView code =
      nullptr;  // the code object it describes; compare before use, a function's __code__ may be replaced
  int positional = 0;  // includes positional-only
  int positional_only = 0;
  int keyword_only = 0;
  bool var_positional = false, var_keyword = false;

  static ParameterLayout of(PyView function) noexcept;
  int bound_count() const { return positional + keyword_only + var_positional + var_keyword; }
  bool only_positional() const { return keyword_only == 0 && !var_positional && !var_keyword; }
};

// Owns what it binds for the length of a call.
class BoundArguments {
 public:
  BoundArguments() = default;
  BoundArguments(const BoundArguments&) = delete;
  BoundArguments& operator=(const BoundArguments&) = delete;
  ~BoundArguments();
  // Vectorcall arguments. False when they do not fit the parameters, or a value could not be made; an
  // exception may be set then, which the caller replaces by calling the function itself with the same
  // arguments.
  bool bind(PyView function, const ParameterLayout& layout, PyObject* const* arguments, Py_ssize_t count,
            PyView names);
  std::span<PyObject* const> values() const { return {slots_, static_cast<size_t>(count_)}; }

 private:
  bool bind_keyword(const ParameterLayout& layout, PyView name, PyView value);
  bool bind_rest(const ParameterLayout& layout, PyObject* const* arguments, Py_ssize_t count);
  bool fill_defaults(PyView function, const ParameterLayout& layout);

  static constexpr int kInline = 24;
  PyObject* inline_slots_[kInline] = {};
  std::vector<PyObject*> heap_slots_;
  PyObject** slots_ = inline_slots_;
  int count_ = 0;
};

// Calls `function` with arguments bound for a function of the same parameters: *args and **kwargs are spread
// again. New reference, or null with an exception set.
PyObject* call_with_bound(PyView function, std::span<PyObject* const> bound);

}  // namespace suture
