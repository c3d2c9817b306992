// Lifted code: the bytecode of every supported version as instructions of one stack machine.
//
// Differences between versions end here: superinstructions are split, inline caches and prologues gone, calls and jumps
// uniform. `await`, `yield from` and the head of `async for` are single instructions although the compiler spells them as
// loops around SEND. Instructions link to what runs next, so that later steps can cut parts out without moving anything.
#pragma once

#include <vector>

#include "base/result.h"
#include "bytecode/code_tree.h"

namespace suture::toolbox {

enum class Op : uint8_t {
#define SUTURE_LIFTED_OP(name) name,
#include "toolbox/decompile/lifted_ops.def"
};
const char* op_name(Op op);
// A store into a variable.
inline bool is_store(Op op) {
  return op == Op::StoreFast || op == Op::StoreDeref || op == Op::StoreGlobal || op == Op::StoreName;
}

// How JumpIf decides.
enum class JumpTest : uint8_t { kFalse, kTrue, kNone, kNotNone };

struct LiftedInstruction {
  Op op = Op::Nop;
  int arg = 0;
  int flag =
      0;  // LoadGlobal, LoadAttr: 1 = also pushes what a call needs; JumpIf: its JumpTest; LoadSuperAttr: bits
  int constant = -1;  // Call: index of the tuple of keyword names (3.11, 3.12)
  int next = -1;      // -1: control does not go on
  int target = -1;    // of a jump, when it is taken
  int handler = -1, handler_depth = 0;
  bool handler_lasti = false;
  int offset = -1;  // byte offset, for messages
  int line = 0, column = -1, end_line = 0, end_column = -1;

  bool same_position(const LiftedInstruction& other) const {
    return line == other.line && column == other.column && end_line == other.end_line &&
           end_column == other.end_column;
  }
};

struct LiftedCode {
  const CodeTree* tree = nullptr;
  std::vector<LiftedInstruction> instructions;
  int entry = 0;

  LiftedInstruction& at(int index) { return instructions[static_cast<size_t>(index)]; }
  const LiftedInstruction& at(int index) const { return instructions[static_cast<size_t>(index)]; }
  int size() const { return static_cast<int>(instructions.size()); }
  bool known_version_at_least(int minor) const { return tree->view.version.minor >= minor; }
  // The first instruction at or behind `index` that does something: Nop and Jump are passed. In a cycle of nothing else, its
  // member with the smallest index.
  int skip_empty(int index) const;
  // What runs behind an instruction that does not jump; -1: nothing, as behind -1.
  int after(int index) const {
    const int next = index >= 0 ? at(index).next : -1;
    return next >= 0 ? skip_empty(next) : -1;
  }
};

Result<LiftedCode> lift(const CodeTree& tree);

}  // namespace suture::toolbox
