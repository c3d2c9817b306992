// decode_function.
//
// Overview
//   One pass over the code units folds EXTENDED_ARG prefixes and CACHE units into instructions and remembers
//   at which unit each instruction starts (its first prefix) and which instruction a unit belongs to. Then
//   jump distances, exception entries and positions, all of which count units, become instruction indices.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/exception_table.h"
#include "bytecode/instruction.h"
#include "bytecode/line_table.h"

namespace suture {
namespace {

struct Units {
  std::vector<int> first;                  // instruction -> its first unit
  std::vector<int> instruction;            // unit -> index of the instruction that starts there, or -1
  std::vector<std::pair<int, int>> jumps;  // instruction, target unit
};

// No compiler needs more; so sums of arguments and positions fit an int.
constexpr unsigned kMaxArgument = 1u << 28;

Status scan_units(Function& function, Units& units) {
  const CodeView& code = function.code;
  const int count = static_cast<int>(code.code.size() / 2);
  units.instruction.assign(static_cast<size_t>(count) + 1, -1);
  for (int unit = 0; unit < count;) {
    const int start = unit;
    unsigned arg = 0;
    const OpcodeInfo* info = nullptr;
    for (bool prefix = true; prefix; ++unit) {
      if (unit >= count) return Error::internal("decode", "code ends inside an instruction");
      const size_t at = static_cast<size_t>(unit) * 2;
      info = opcode_info(code.version, code.code[at]);
      if (info == nullptr)
        return Error::unsupported(
            "decode",
            fmt::format("opcode {} at byte {} is none of Python {}.{} (code objects hold no specialised or "
                        "instrumented instructions)",
                        code.code[at], at, code.version.major, code.version.minor));
      arg = arg << 8 | code.code[at + 1];
      if (arg >= kMaxArgument)
        return Error::unsupported("decode", fmt::format("the argument at byte {} is too large", at));
      prefix = info->opcode == Opcode::EXTENDED_ARG;
    }
    Instruction instruction{.opcode = info->opcode, .arg = static_cast<int>(arg), .offset = (unit - 1) * 2};
    unit += info->caches;
    if (info->jump != 0) {
      units.jumps.emplace_back(static_cast<int>(function.instructions.size()),
                               unit + info->jump * instruction.arg);
      instruction.arg = 0;
    }
    units.instruction[static_cast<size_t>(start)] = static_cast<int>(function.instructions.size());
    units.first.push_back(start);
    function.instructions.push_back(instruction);
  }
  units.instruction[static_cast<size_t>(count)] = static_cast<int>(function.instructions.size());
  return ok_status();
}

// Index of the instruction that starts at a unit; -1 when the unit is out of range or inside an instruction.
int index_of(const Units& units, int unit) {
  return unit >= 0 && unit < static_cast<int>(units.instruction.size())
             ? units.instruction[static_cast<size_t>(unit)]
             : -1;
}

Status resolve_targets(Function& function, const Units& units) {
  const int count = static_cast<int>(function.instructions.size());
  for (const auto& [index, target] : units.jumps) {
    Instruction& instruction = function.instructions[static_cast<size_t>(index)];
    instruction.target = index_of(units, target);
    if (instruction.target < 0 || instruction.target >= count)
      return Error::internal(
          "decode", fmt::format("jump at {} goes into the middle of an instruction", instruction.offset));
  }
  return ok_status();
}

Status resolve_regions(Function& function, const Units& units) {
  SUTURE_TRY(entries, parse_exception_table(function.code.exception_table));
  const int count = static_cast<int>(function.instructions.size());
  int last_end = 0;
  for (const ExceptionEntry& entry : entries) {
    const ExceptionRegion region{index_of(units, entry.start), index_of(units, entry.end),
                                 index_of(units, entry.target), entry.depth, entry.push_last_instruction};
    if (region.begin < 0 || region.end < 0 || region.target < 0 || region.target >= count)
      return Error::internal("decode", "exception table entry points into the middle of an instruction");
    if (region.begin < last_end || region.end <= region.begin)
      return Error::unsupported("decode", "the entries of the exception table are not in order");
    last_end = region.end;
    function.exception_regions.push_back(region);
  }
  return ok_status();
}

Status resolve_positions(Function& function, const Units& units) {
  SUTURE_TRY(positions, parse_line_table(function.code.line_table, function.code.first_line));
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    const size_t unit = static_cast<size_t>(units.first[i]);
    if (unit >= positions.size()) break;
    Instruction& instruction = function.instructions[i];
    const Position& p = positions[unit];
    instruction.line = p.line;
    instruction.end_line = p.end_line;
    instruction.column = p.column;
    instruction.end_column = p.end_column;
  }
  return ok_status();
}

}  // namespace

int cut_off_caches(PythonVersion version, std::span<const uint8_t> code) {
  const size_t count = code.size() / 2;
  for (size_t unit = 0; unit < count;) {
    const OpcodeInfo* info = opcode_info(version, code[unit * 2]);
    if (info == nullptr) return -1;
    const size_t start = unit;
    unit += 1 + info->caches;
    if (unit > count) return static_cast<int>(start * 2);
  }
  return -1;
}

Result<Function> decode_function(const CodeView& code) {
  if (!has_opcode_table(code.version))
    return Error::unsupported(
        "decode", fmt::format("no opcode table for Python {}.{}", code.version.major, code.version.minor));
  Function function{.code = code};
  Units units;
  SUTURE_TRY_VOID(scan_units(function, units));
  SUTURE_TRY_VOID(resolve_targets(function, units));
  SUTURE_TRY_VOID(resolve_regions(function, units));
  SUTURE_TRY_VOID(resolve_positions(function, units));
  return function;
}

UserSpan Function::span_at(int index) const {
  UserSpan span{.file = code.filename, .function = code.qualname};
  if (index < 0 || index >= static_cast<int>(instructions.size())) return span;
  const Instruction& i = instructions[static_cast<size_t>(index)];
  span.line = i.line;
  span.end_line = i.end_line;
  span.column = i.column;
  span.end_column = i.end_column;
  return span;
}

const ExceptionRegion* Function::region_at(int index) const {
  const auto after = std::ranges::upper_bound(exception_regions, index, {}, &ExceptionRegion::begin);
  if (after == exception_regions.begin()) return nullptr;
  const ExceptionRegion& region = *(after - 1);
  return index < region.end ? &region : nullptr;
}

}  // namespace suture
