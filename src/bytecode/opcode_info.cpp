// The opcode tables as lookups. A version is added by its .def file, one struct below and one line in
// `table_for`.
#include <array>

#include "bytecode/instruction.h"

namespace suture {
namespace {

constexpr OpcodeInfo kRows311[] = {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, ...) \
  {Opcode::name, #name, number, caches, has_arg, jump, Operand::operand},
#include "bytecode/opcodes_311.def"
};

StackUse stack_use_311(Opcode opcode, [[maybe_unused]] int arg) {
  switch (opcode) {
#define SUTURE_OPCODE(name, number, caches, has_arg, jump, operand, pops, pushes, pushes_on_jump) \
  case Opcode::name: return {pops, pushes, pushes_on_jump};
#include "bytecode/opcodes_311.def"
  }
  return {};
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

// One line per supported version.
constexpr std::pair<PythonVersion, const VersionTable*> kTables[] = {{{3, 11}, &kTable311}};

const VersionTable* table_for(PythonVersion version) {
  for (const auto& [known, table] : kTables)
    if (known == version) return table;
  return nullptr;
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

std::vector<std::string> supported_versions() {
  std::vector<std::string> versions;
  for (const auto& [version, table] : kTables)
    versions.push_back(std::to_string(version.major) + "." + std::to_string(version.minor));
  return versions;
}

std::string_view opcode_name(Opcode opcode) { return kNames[static_cast<size_t>(opcode)]; }

StackUse stack_use(PythonVersion version, Opcode opcode, int arg) {
  const VersionTable* table = table_for(version);
  return table ? table->stack(opcode, arg) : StackUse{};
}

}  // namespace suture
