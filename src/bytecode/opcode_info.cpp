// The opcode tables as lookups. A version is added by its .def file, the lines that name the others
// below, and one in `kVersions`.
#include <array>

#include "bytecode/instruction.h"

namespace suture {
namespace {

constexpr OpcodeInfo kRows311[] = {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, ...) \
  {Opcode::name, #name, number, caches, has_arg, jump, Operand::operand},
#include "bytecode/opcodes_311.def"
};

constexpr OpcodeInfo kRows312[] = {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, ...) \
  {Opcode::name, #name, number, caches, has_arg, jump, Operand::operand},
#include "bytecode/opcodes_312.def"
};
constexpr OpcodeInfo kRows313[] = {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, ...) \
  {Opcode::name, #name, number, caches, has_arg, jump, Operand::operand},
#include "bytecode/opcodes_313.def"
};

StackUse stack_use_311(Opcode opcode, [[maybe_unused]] int arg) {
  switch (opcode) {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, pops, pushes, pushes_on_jump) \
  case Opcode::name: return {pops, pushes, pushes_on_jump};
#include "bytecode/opcodes_311.def"
    default: return {};
  }
}
StackUse stack_use_312(Opcode opcode, [[maybe_unused]] int arg) {
  switch (opcode) {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, pops, pushes, pushes_on_jump) \
  case Opcode::name: return {pops, pushes, pushes_on_jump};
#include "bytecode/opcodes_312.def"
    default: return {};
  }
}
StackUse stack_use_313(Opcode opcode, [[maybe_unused]] int arg) {
  switch (opcode) {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, pops, pushes, pushes_on_jump) \
  case Opcode::name: return {pops, pushes, pushes_on_jump};
#include "bytecode/opcodes_313.def"
    default: return {};
  }
}

constexpr std::string_view kNames[] = {
#define SUTURE_OPCODE_NAME(name) #name,
#include "bytecode/opcode_names.def"
};
constexpr size_t kNameCount = std::size(kNames);

struct VersionTable {
  std::array<const OpcodeInfo*, 256> by_number{};
  std::array<const OpcodeInfo*, kNameCount> by_opcode{};
  StackUse (*stack)(Opcode opcode, int arg) = nullptr;
};

template <size_t n>
constexpr VersionTable make_table(const OpcodeInfo (&rows)[n], StackUse (*stack)(Opcode, int)) {
  VersionTable table;
  table.stack = stack;
  for (const OpcodeInfo& row : rows) {
    table.by_number[row.number] = &row;
    table.by_opcode[static_cast<size_t>(row.opcode)] = &row;
  }
  return table;
}

constexpr VersionTable kTable311 = make_table(kRows311, stack_use_311);
constexpr VersionTable kTable312 = make_table(kRows312, stack_use_312);
constexpr VersionTable kTable313 = make_table(kRows313, stack_use_313);

struct Version {
  PythonVersion version;
  const VersionTable* table;
  bool rewritable;
};
// One line per version.
constexpr Version kVersions[] = {
    {{3, 11}, &kTable311, true},
    {{3, 12}, &kTable312, false},
    {{3, 13}, &kTable313, false},
};

const VersionTable* table_for(PythonVersion version) {
  for (const Version& known : kVersions)
    if (known.version == version) return known.table;
  return nullptr;
}

std::string version_text(PythonVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

}  // namespace

const OpcodeInfo* opcode_info(PythonVersion version, uint8_t number) {
  const VersionTable* table = table_for(version);
  return table ? table->by_number[number] : nullptr;
}

const OpcodeInfo* opcode_info(PythonVersion version, Opcode opcode) {
  const VersionTable* table = table_for(version);
  return table ? table->by_opcode[static_cast<size_t>(opcode)] : nullptr;
}

bool has_opcode_table(PythonVersion version) { return table_for(version) != nullptr; }

std::vector<std::string> decodable_versions() {
  std::vector<std::string> versions;
  for (const Version& known : kVersions) versions.push_back(version_text(known.version));
  return versions;
}

bool can_be_rewritten(PythonVersion version) {
  for (const Version& known : kVersions)
    if (known.version == version) return known.rewritable;
  return false;
}

std::vector<std::string> rewritable_versions() {
  std::vector<std::string> versions;
  for (const Version& known : kVersions)
    if (known.rewritable) versions.push_back(version_text(known.version));
  return versions;
}

std::string_view opcode_name(Opcode opcode) { return kNames[static_cast<size_t>(opcode)]; }

int name_index(PythonVersion version, const Instruction& instruction) {
  const OpcodeInfo* info = opcode_info(version, instruction.opcode);
  switch (info ? info->operand : Operand::kNone) {
    case Operand::kName: return instruction.arg;
    case Operand::kNameShifted: return instruction.arg >> 1;
    case Operand::kNameShiftedTwice: return instruction.arg >> 2;
    default: return -1;
  }
}

Comparison comparison(PythonVersion version, int arg) {
  if (version <= PythonVersion{3, 11}) return {arg, false};
  if (version == PythonVersion{3, 12}) return {arg >> 4, false};  // the low bits are for specialisation
  return {arg >> 5, (arg & 16) != 0};
}

StackUse stack_use(PythonVersion version, Opcode opcode, int arg) {
  const VersionTable* table = table_for(version);
  return table ? table->stack(opcode, arg) : StackUse{};
}

BranchTest branch_test(Opcode opcode) {
  switch (opcode) {
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_FORWARD_IF_TRUE:
    case Opcode::POP_JUMP_BACKWARD_IF_TRUE: return BranchTest::kTrue;
    case Opcode::POP_JUMP_IF_FALSE:
    case Opcode::POP_JUMP_FORWARD_IF_FALSE:
    case Opcode::POP_JUMP_BACKWARD_IF_FALSE: return BranchTest::kFalse;
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::POP_JUMP_FORWARD_IF_NONE:
    case Opcode::POP_JUMP_BACKWARD_IF_NONE: return BranchTest::kNone;
    case Opcode::POP_JUMP_IF_NOT_NONE:
    case Opcode::POP_JUMP_FORWARD_IF_NOT_NONE:
    case Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE: return BranchTest::kNotNone;
    default: return BranchTest::kNoBranch;
  }
}

}  // namespace suture
