// CodeBuilder: writes a Function instruction by instruction, with labels instead of indices.
//
//   CodeBuilder b(header);
//   auto done = b.new_label();
//   b.emit(Opcode::LOAD_FAST, 0);
//   b.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, done);   // the direction is chosen when the target is known
//   ...
//   b.bind(done);
//
// Positions and exception regions are sticky: they hold for every instruction until they are set again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"

namespace suture {

class CodeBuilder {
 public:
  using Label = int;
  using Region = int;
  static constexpr Region kNoRegion = -1;

  explicit CodeBuilder(CodeView header) { function_.code = std::move(header); }

  Label new_label();
  void bind(Label label);  // the next instruction
  Region new_region(Label handler, int depth, bool push_last_instruction);
  void set_region(Region region) { region_ = region; }
  void set_position(const Instruction& like) { position_ = like; }

  void emit(Opcode opcode, int arg = 0);
  void jump(Opcode opcode, Label target);
  // A copy of an existing instruction with its own position; `target` only for jumps.
  void copy(const Instruction& instruction, Label target = -1);
  // The callable and a NULL below the arguments, then the arguments, then `call`.
  void push_null() { emit(Opcode::PUSH_NULL); }
  void call(int arguments);

  int name(const std::string& name);  // index in co_names, added when new
  int add_constant(
      std::string printed_form);  // index in co_consts; the caller adds the object at the same place
  CodeView& header() { return function_.code; }

  // Resolves labels. Error kInternal when a label is not bound or an opcode cannot jump in the needed
  // direction.
  Result<Function> finish();

 private:
  void append(Instruction instruction, Label target);

  struct PendingRegion {
    Label handler;
    int depth;
    bool push_last_instruction;
  };
  Function function_;
  std::vector<Label> targets_;   // per instruction, -1: no jump
  std::vector<Region> regions_;  // per instruction
  std::vector<int> labels_;      // label -> instruction index, -1: not bound
  std::vector<PendingRegion> pending_;
  Region region_ = kNoRegion;
  Instruction position_;
};

// The same jump in the other direction; the opcode itself when there is no such form.
Opcode jump_in_direction(Opcode opcode, bool forward);

}  // namespace suture
