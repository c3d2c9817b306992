// Function: decoded bytecode, ready to be analysed, edited and assembled again.
//
// Overview
//   Instructions are numbered by INDEX in `instructions` (never by byte offset); EXTENDED_ARG and CACHE units
//   are folded away. Jumps hold the index of their target instruction. `offset` remembers the original byte
//   offset, for names
//   (__resume_at_88_2) and messages; instructions that we invented have offset -1.
// Invariants
//   - assemble(decode(code)) behaves as the original; for unedited code it is byte-identical in code and
//     exception table.
//   - targets and exception regions are indices and stay valid until instructions are inserted; edits rebuild
//     the list with a CodeBuilder (code_builder.h), whose labels are resolved at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/user_span.h"
#include "bytecode/code_view.h"

namespace suture {

// Every opcode name of every supported version (union of the per-version tables).
enum class Opcode : uint16_t {
#define SUTURE_OPCODE_NAME(name) name,
#include "bytecode/opcode_names.def"
};

// What the argument of an instruction means.
enum class Operand : uint8_t {
  kNone,              // there is no argument
  kNumber,            // a count, flags, ...
  kConstant,          // index into co_consts
  kName,              // index into co_names
  kNameShifted,       // index into co_names in the upper bits, a flag in bit 0
  kNameShiftedTwice,  // index into co_names in the upper bits, flags in bits 0 and 1
  kLocal,             // index into local_names: a fast local
  kLocalPair,         // two indices into local_names of 4 bits each, fast locals; the first in the upper bits
  kCell,              // index into local_names: a cell or free variable
  kCompare,           // comparison operator
  kBinaryOp,          // arithmetic operator
  kTarget,            // a jump; the target is in Instruction::target
};

struct OpcodeInfo {
  Opcode opcode;
  std::string_view name;
  uint8_t number;  // in this Python version
  uint8_t caches;  // inline cache units that follow
  bool has_arg;
  int8_t jump;  // 0 none, +1 forward relative, -1 backward relative
  Operand operand;
};
// Null when this version has no such opcode.
const OpcodeInfo* opcode_info(PythonVersion version, uint8_t number);
const OpcodeInfo* opcode_info(PythonVersion version, Opcode opcode);
// Versions whose code can be decoded.
bool has_opcode_table(PythonVersion version);
std::vector<std::string> decodable_versions();  // "3.11", ...
// Versions whose code can also be analysed for continuations and assembled again, which capture needs.
bool can_be_rewritten(PythonVersion version);
std::vector<std::string> rewritable_versions();
std::string_view opcode_name(Opcode opcode);

// How an instruction uses the value stack. `pops` is how deep it reaches: values that it only looks at count
// as popped and pushed again, so an instruction never touches anything below `pops`.
struct StackUse {
  int pops = 0;
  int pushes = 0;          // control goes to the next instruction
  int pushes_on_jump = 0;  // the jump is taken
};
StackUse stack_use(PythonVersion version, Opcode opcode, int arg);

struct Instruction {
  Opcode opcode;
  int arg = 0;      // 0 for jumps: assemble computes the distance
  int target = -1;  // index of the jump target, or -1
  int offset = -1;  // original byte offset (of the opcode itself, behind its EXTENDED_ARGs)
  int line = 0, end_line = 0, column = -1, end_column = -1;  // line 0 and end_line 0: no position
};

// Index into co_names of an instruction with one of the name operands, -1 for all others.
int name_index(PythonVersion version, const Instruction& instruction);

// What a conditional jump that pops its value tests, in whatever direction it jumps; kNoBranch for all others.
enum class BranchTest : uint8_t { kNoBranch, kTrue, kFalse, kNone, kNotNone };
BranchTest branch_test(Opcode opcode);

// What COMPARE_OP's argument means: the operator as an index into < <= == != > >=, and whether the result is
// turned into a bool (3.13).
struct Comparison {
  int operator_index = 0;
  bool to_bool = false;
};
Comparison comparison(PythonVersion version, int arg);

struct ExceptionRegion {
  int begin = 0, end = 0;  // [begin, end) instruction indices
  int target = 0;
  int depth = 0;
  bool push_last_instruction = false;
};

struct Function {
  CodeView code;  // header facts; code/line_table/exception_table bytes are the original's
  std::vector<Instruction> instructions;
  std::vector<ExceptionRegion> exception_regions;  // in order, not overlapping

  UserSpan span_at(int index) const;
  const ExceptionRegion* region_at(int index) const;
};

Result<Function> decode_function(const CodeView& code);
// The byte of an instruction whose inline caches go beyond the end of the code; CPython writes there when it is asked for the code
// of such an object. -1: none, or it cannot be told because instructions are specialised (then the object has been run already).
int cut_off_caches(PythonVersion version, std::span<const uint8_t> code);
// One line per instruction: "  88 POP_JUMP_FORWARD_IF_FALSE  -> 106   ; seed.py:5".
std::string to_text(const Function& function);
// "LOAD_FAST 0 (x)": one instruction of it, without its place.
std::string to_text(const Function& function, int index);

// Bytes for a code object of the function's version. stack_size is recomputed. Line entries cover every unit.
struct AssembledCode {
  std::vector<uint8_t> code, line_table, exception_table;
  int stack_size = 0;
  int first_line = 1;
};
Result<AssembledCode> assemble(const Function& function);

}  // namespace suture
