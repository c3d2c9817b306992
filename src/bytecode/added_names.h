// AddedNames: global names and variables that a rewriting adds to a function.
#pragma once

#include <string>
#include <string_view>

#include "bytecode/instruction.h"

namespace suture {

class AddedNames {
 public:
  explicit AddedNames(CodeView view) : view_(std::move(view)) {}

  // Arguments of LOAD_GLOBAL: the name alone, and with a NULL below it to be called.
  int global(std::string_view name);
  int global_to_call(std::string_view name) { return global(name) | 1; }
  // A variable of this name or one like it.
  int new_local(const std::string& name);

  // The rewritten function with these names; once.
  Function put_into(Function function);

 private:
  CodeView view_;
};

}  // namespace suture
