// Tier 3 of the decompiler: any function, class or module as a dispatch loop.
//
//     _pc = 0
//     while True:
//         if _pc == 0:
//             ...
//             _pc = 2 if test else 1
//
// `_pc` says which block of the flow graph runs next; values that the bytecode leaves on its stack between blocks are in
// `_s0`, `_s1`, ..., by depth. So irreducible flow, jumps into loops and values on the stack where ways join need no structure.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/code_tree.h"
#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

struct DispatchLoop {
  syntax::Statements body;
  std::vector<std::string> synthetic_locals;  // `_pc` and the `_s` in use
};

// Where in a text the loop stands.
struct Surroundings {
  std::string class_name;           // of the class that mangles private names; "": none
  std::set<std::string> variables;  // of the functions around it, which hide global variables
};

// Code that `code` makes a function of, and what the function is for.
struct NestedCode {
  enum class Use : uint8_t {
    kDefinition,  // of itself
    kGeneric,     // called with `arguments`, it makes a definition that has type parameters
    kLate,        // an expression that is evaluated late
  };
  CodeTreePtr code;
  Use use = Use::kDefinition;
  syntax::Expressions arguments;
};
// The statement (SyntaxTree::body) that stands for it; its nodes go into the tree.
using NestedDefinition = std::function<Result<syntax::Statements>(const NestedCode&, syntax::SyntaxTree&)>;

enum class LoopForm : uint8_t {
  kDispatch,  // of `_pc`
  kFlags,     // tier 2: nested statements, with flags for what they cannot say (flag_flow.h)
};

// Error kUnsupported: the code has an instruction or a handler that no statement expresses; with the place.
Result<DispatchLoop> dispatch_loop(const CodeTree& code, const Surroundings& around,
                                   const NestedDefinition& nested, syntax::SyntaxTree& tree,
                                   LoopForm form = LoopForm::kDispatch);

}  // namespace suture::toolbox
