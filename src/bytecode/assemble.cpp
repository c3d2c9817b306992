// assemble.
//
// Overview
//   Instruction sizes depend on jump distances, which depend on sizes: every jump starts without EXTENDED_ARG
//   prefixes and sizes grow until nothing changes. Growing only, from the smallest layout, ends in the least
//   fixpoint, which is also what CPython's own assembler emits. Then code bytes, positions and exception
//   entries are written from the same layout.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"
#include "bytecode/exception_table.h"
#include "bytecode/instruction.h"
#include "bytecode/line_table.h"

namespace suture {
namespace {

int prefix_count(unsigned arg) { return arg > 0xFFFFFFu ? 3 : arg > 0xFFFFu ? 2 : arg > 0xFFu ? 1 : 0; }

struct Layout {
  std::vector<const OpcodeInfo*> info;
  std::vector<unsigned> arg;
  std::vector<int> prefixes;
  std::vector<int> start;  // first unit; one more entry for the end

  int end_of(size_t i) const { return start[i + 1]; }
  int units(size_t i) const { return start[i + 1] - start[i]; }
};

Result<Layout> initial_layout(const Function& function) {
  Layout layout;
  for (const Instruction& instruction : function.instructions) {
    const OpcodeInfo* info = opcode_info(function.code.version, instruction.opcode);
    if (info == nullptr)
      return Error::internal("assemble", fmt::format("{} does not exist in this Python version",
                                                     opcode_name(instruction.opcode)));
    layout.info.push_back(info);
    layout.arg.push_back(info->jump != 0 ? 0u : static_cast<unsigned>(instruction.arg));
    layout.prefixes.push_back(prefix_count(layout.arg.back()));
  }
  layout.start.resize(function.instructions.size() + 1);
  return layout;
}

void place(Layout& layout) {
  int unit = 0;
  for (size_t i = 0; i < layout.info.size(); ++i) {
    layout.start[i] = unit;
    unit += layout.prefixes[i] + 1 + layout.info[i]->caches;
  }
  layout.start.back() = unit;
}

// Recomputes jump distances; true when a jump needs more prefixes than it has.
Result<bool> grow(const Function& function, Layout& layout) {
  bool grew = false;
  const int count = static_cast<int>(function.instructions.size());
  for (size_t i = 0; i < layout.info.size(); ++i) {
    const int jump = layout.info[i]->jump;
    if (jump == 0) continue;
    const int target = function.instructions[i].target;
    if (target < 0 || target >= count)
      return Error::internal("assemble", fmt::format("jump {} has no target", i));
    const int distance = jump * (layout.start[static_cast<size_t>(target)] - layout.end_of(i));
    if (distance < 0)
      return Error::internal("assemble",
                             fmt::format("{} at {} jumps in the wrong direction", layout.info[i]->name, i));
    layout.arg[i] = static_cast<unsigned>(distance);
    const int needed = prefix_count(layout.arg[i]);
    if (needed > layout.prefixes[i]) {
      layout.prefixes[i] = needed;
      grew = true;
    }
  }
  return grew;
}

Result<Layout> lay_out(const Function& function) {
  SUTURE_TRY(layout, initial_layout(function));
  for (bool again = true; again;) {
    place(layout);
    SUTURE_TRY(grew, grow(function, layout));
    again = grew;
  }
  return layout;
}

std::vector<uint8_t> code_bytes(const Layout& layout, uint8_t extended_arg) {
  std::vector<uint8_t> bytes;
  bytes.reserve(static_cast<size_t>(layout.start.back()) * 2);
  for (size_t i = 0; i < layout.info.size(); ++i) {
    for (int p = layout.prefixes[i]; p > 0; --p) {
      bytes.push_back(extended_arg);
      bytes.push_back(static_cast<uint8_t>(layout.arg[i] >> (8 * p)));
    }
    bytes.push_back(layout.info[i]->number);
    bytes.push_back(static_cast<uint8_t>(layout.arg[i]));
    bytes.insert(bytes.end(), static_cast<size_t>(layout.info[i]->caches) * 2, 0);
  }
  return bytes;
}

std::vector<uint8_t> line_table(const Function& function, const Layout& layout) {
  LineTableWriter writer(function.code.first_line);
  for (size_t i = 0; i < layout.info.size(); ++i) {
    const Instruction& in = function.instructions[i];
    writer.add({in.line, in.end_line, in.column, in.end_column}, layout.units(i));
  }
  return writer.take();
}

Result<std::vector<uint8_t>> exception_table(const Function& function, const Layout& layout) {
  const int count = static_cast<int>(function.instructions.size());
  std::vector<ExceptionEntry> entries;
  for (const ExceptionRegion& r : function.exception_regions) {
    if (r.begin < 0 || r.begin > r.end || r.end > count || r.target < 0 || r.target >= count)
      return Error::internal("assemble", "exception region outside the code");
    if (r.begin == r.end) continue;
    const auto unit = [&](int index) { return layout.start[static_cast<size_t>(index)]; };
    entries.push_back({unit(r.begin), unit(r.end), unit(r.target), r.depth, r.push_last_instruction});
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].start < entries[i - 1].end)
      return Error::internal("assemble", "exception regions overlap");
  }
  return write_exception_table(entries);
}

}  // namespace

Result<AssembledCode> assemble(const Function& function) {
  const OpcodeInfo* extended_arg = opcode_info(function.code.version, Opcode::EXTENDED_ARG);
  if (extended_arg == nullptr)
    return Error::unsupported("assemble", "no opcode table for this Python version");
  SUTURE_TRY(layout, lay_out(function));
  SUTURE_TRY(depths, stack_depths(function));
  SUTURE_TRY(exceptions, exception_table(function, layout));
  AssembledCode out;
  out.code = code_bytes(layout, extended_arg->number);
  out.line_table = line_table(function, layout);
  out.exception_table = std::move(exceptions);
  out.stack_size = stack_size(function, depths);
  out.first_line = function.code.first_line;
  return out;
}

}  // namespace suture
