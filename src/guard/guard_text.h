// The words of guards: filled templates of guards.def.
#pragma once

#include <span>
#include <string>

#include "guard/guard.h"

namespace suture {

// "x.shape[0] == 32"
std::string guard_check_text(const Guard& guard, const GuardSet& set, const ShapeEnv& env);
struct GuardFailure {
  std::string subject;  // "array 'x' size mismatch at index 0"
  std::string expected, actual;
  std::string action;  // what stops it, as the table has it

  // "array 'x' size mismatch at index 0. expected 32, actual 48"
  std::string sentence() const { return subject + ". expected " + expected + ", actual " + actual; }
};
// Functions and code objects say where they were written: two lambdas print alike. Null: a collected object.
std::string object_text(PyView object);
// A constant that has another type now: True is 1 and members of an IntEnum are ints, but they are other constants.
bool is_of_other_type(const Guard& guard, PyView value) noexcept;

// `value` and `other` are the fetched sources.
GuardFailure guard_failure(const Guard& guard, const GuardSet& set, const ShapeEnv& env, PyView value,
                           PyView other, std::span<const int64_t> symbols);

}  // namespace suture
