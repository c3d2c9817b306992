// InstructionGraph: a code object as a graph in which layout and encoding no longer show.
//
// How it is made
//   Every instruction becomes one or more nodes of a form that all of its encodings share:
//     - NOP, forward jumps and JUMP_BACKWARD_NO_INTERRUPT disappear into their successor; JUMP_BACKWARD stays
//       (as itself), because it is where signals are noticed;
//     - superinstructions are split; RETURN_CONST is LOAD_CONST and RETURN_VALUE; LOAD_FAST_CHECK is LOAD_FAST;
//       LOAD_GLOBAL with its flag is LOAD_GLOBAL and PUSH_NULL;
//     - every jump on truth is POP_JUMP_IF_TRUE, on None POP_JUMP_IF_NONE, with `next` and `taken`;
//       JUMP_IF_TRUE_OR_POP is COPY 1, the jump, and POP_TOP where it is not taken; a jump to a second test of
//       the value it has just tested goes where that one leads;
//     - a comparison that makes a bool is COMPARE_OP and TO_BOOL; TO_BOOL behind what makes a bool anyway
//       disappears;
//     - a method call in the form "attribute and NULL" (used when the object is an imported name) has the form LOAD_METHOD, when the two values are used by a call and by nothing else.
//   Operands are resolved: names by text, constants by value, locals by name and kind.
// Not part of it, because the header has it: the name that a class body stores as `__qualname__`. And because it is layout: `__firstlineno__` of a class body (3.13), and the order of its
// `__static_attributes__`, which comes from a set.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bytecode/validate.h"

namespace suture::toolbox {

struct Node {
  enum class Operand : uint8_t {
    kNone,
    kNumber,
    kConstant,       // index into the tree's constants
    kConstantItems,  // the same, a tuple whose order does not count
    kIgnored,
    kName,   // index into the view's names
    kLocal,  // index into the view's local_names
  };
  Opcode opcode = Opcode::NOP;  // NOP: a loop that does nothing for ever
  Operand operand = Operand::kNone;
  bool raises = false;  // may raise, apart from running out of memory; so its handler counts
  int index = 0;        // what the operand refers to
  int number = 0;       // its argument, or the flags beside a name
  int next = -1;        // -1: control ends here
  int taken = -1;    // where a conditional jump goes when its condition holds, FOR_ITER and SEND at the end
  int handler = -1;  // into `handlers`; -1: an exception leaves the function
  int instruction = 0;  // that it comes from
};

struct Handler {
  int target = 0;  // node
  int depth = 0;
  bool push_last_instruction = false;
};

struct InstructionGraph {
  const CodeTree* tree = nullptr;
  CheckedFunction checked;
  std::vector<Node> nodes;
  std::vector<Handler> handlers;  // parallel to the function's exception regions
  std::vector<Constant> made;     // constants that the tree does not have; their indices follow the tree's
  int entry = 0;

  const Node& node(int index) const { return nodes[static_cast<size_t>(index)]; }
  const Constant& constant(const Node& node) const {
    const auto index = static_cast<size_t>(node.index), count = tree->constants.size();
    return index < count ? tree->constants[index] : made[index - count];
  }
  int add_constant(Constant constant) {
    made.push_back(std::move(constant));
    return static_cast<int>(tree->constants.size() + made.size()) - 1;
  }
  const std::string& name(const Node& node) const {
    return tree->view.names[static_cast<size_t>(node.index)];
  }
  // "LOAD_CONST 1 (0.0) at byte 12, line 3".
  std::string describe(int index) const;
};

// `tree` must outlive the graph. Error kUnsupported: the bytecode breaks a law of decode_checked.
Result<InstructionGraph> build_instruction_graph(const CodeTree& tree);

}  // namespace suture::toolbox
