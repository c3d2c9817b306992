#include "bytecode/continuation_frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"

namespace suture {
namespace {

// co_flags, the same in all supported versions.
constexpr int kGenerators =
    0x20 | 0x80 | 0x100 | 0x200;  // generator, coroutine, iterable coroutine, async generator

CodeView header_of(const Function& original, const std::string& name) {
  CodeView header = original.code;
  const size_t dot = header.qualname.rfind('.');
  header.qualname = (dot == std::string::npos ? "" : header.qualname.substr(0, dot + 1)) + name;
  header.name = name;
  header.arg_count = header.posonly_count = header.kwonly_count = 0;
  header.flags &= ~(kCodeVarArgs | kCodeVarKeywords);
  header.local_names.clear();
  header.local_kinds.clear();
  return header;
}

bool refers_to_local(const OpcodeInfo* info) {
  return info != nullptr && (info->operand == Operand::kLocal || info->operand == Operand::kCell);
}

}  // namespace

bool holds_cell_at_entry(const Function& function, int local) {
  if (!(function.code.local_kinds[static_cast<size_t>(local)] & kLocalCell)) return false;
  return std::none_of(function.instructions.begin(), function.instructions.end(),
                      [&](const Instruction& i) { return i.opcode == Opcode::MAKE_CELL && i.arg == local; });
}

std::string needs_own_frame(const Function& function) {
  if (function.code.flags & kGenerators) return "is a generator or coroutine";
  if (!(function.code.flags & kCodeOptimized)) return "is not a function body";
  for (const Instruction& i : function.instructions) {
    const bool global = i.opcode == Opcode::LOAD_GLOBAL;
    if (!global && i.opcode != Opcode::LOAD_METHOD && i.opcode != Opcode::LOAD_ATTR) continue;
    const std::string& name = function.code.names[static_cast<size_t>(global ? i.arg >> 1 : i.arg)];
    bool reads = name == "_getframe" || name == "currentframe";
    for (const char* reader : {"locals", "vars", "dir", "eval", "exec", "super"})
      reads = reads || (global && name == reader);
    if (reads) return fmt::format("uses {}, which may look at its frame", name);
  }
  return "";
}

Status check_continuable(const Function& original) {
  const std::string why = needs_own_frame(original);
  if (!why.empty()) return Error::unsupported("continuation", original.code.qualname + " " + why);
  return ok_status();
}

ContinuationFrame::ContinuationFrame(const Function& original, const std::string& name,
                                     std::vector<bool> keep)
    : original_(original),
      keep_(std::move(keep)),
      slot_(original.code.local_names.size(), -1),
      parameter_(original.code.local_names.size(), false),
      cell_itself_(original.code.local_names.size(), false),
      builder_(header_of(original, name)) {
  for (size_t i = 0; i < original.instructions.size(); ++i) labels_.push_back(builder_.new_label());
}

int ContinuationFrame::add_parameter(const std::string& name) {
  CodeView& header = builder_.header();
  std::string unique = name;
  const auto taken = [&](const std::string& n) {
    const auto& theirs = original_.code.local_names;
    return std::find(theirs.begin(), theirs.end(), n) != theirs.end();
  };
  while (taken(unique)) unique += "_";
  header.local_names.push_back(unique);
  header.local_kinds.push_back(kLocalPlain);
  return header.arg_count++;
}

void ContinuationFrame::add_local_parameter(int local, bool is_cell_itself) {
  CodeView& header = builder_.header();
  const size_t at = static_cast<size_t>(local);
  slot_[at] = header.arg_count++;
  parameter_[at] = true;
  cell_itself_[at] = is_cell_itself;
  header.local_names.push_back(original_.code.local_names[at]);
  header.local_kinds.push_back(
      static_cast<uint8_t>(kLocalPlain | (original_.code.local_kinds[at] & kLocalCell)));
}

void ContinuationFrame::lay_out(int first_line) {
  CodeView& header = builder_.header();
  header.first_line = first_line;
  std::vector<bool> used(slot_.size(), false);
  for (size_t i = 0; i < original_.instructions.size(); ++i) {
    const Instruction& instruction = original_.instructions[i];
    if (keep_[i] && refers_to_local(opcode_info(original_.code.version, instruction.opcode)))
      used[static_cast<size_t>(instruction.arg)] = true;
  }
  // CPython wants plain locals first, then cells, then ALL free variables in the order of the closure.
  for (const int kind : {int{kLocalPlain}, int{kLocalCell}, int{kLocalFree}}) {
    for (size_t local = 0; local < slot_.size(); ++local) {
      const uint8_t kinds = original_.code.local_kinds[local];
      const int own = kinds & kLocalFree ? kLocalFree : kinds & kLocalCell ? kLocalCell : kLocalPlain;
      if (slot_[local] >= 0 || own != kind || (own != kLocalFree && !used[local])) continue;
      slot_[local] = static_cast<int>(header.local_names.size());
      header.local_names.push_back(original_.code.local_names[local]);
      header.local_kinds.push_back(static_cast<uint8_t>(own));
    }
  }
}

void ContinuationFrame::begin(const Instruction& place, const std::vector<int>& maybe_unbound) {
  builder_.set_position(place);
  const auto& kinds = original_.code.local_kinds;
  const int frees =
      static_cast<int>(std::count_if(kinds.begin(), kinds.end(), [](uint8_t k) { return k & kLocalFree; }));
  if (frees > 0) builder_.emit(Opcode::COPY_FREE_VARS, frees);
  for (size_t local = 0; local < slot_.size(); ++local) {
    if (slot_[local] >= 0 && kinds[local] & kLocalCell && !cell_itself_[local])
      builder_.emit(Opcode::MAKE_CELL, slot_[local]);
  }
  builder_.emit(Opcode::RESUME, 0);
  for (int local : maybe_unbound) drop_if_unbound(local);
}

void ContinuationFrame::drop_if_unbound(int local) {
  const auto bound = builder_.new_label();
  builder_.emit(Opcode::LOAD_FAST, slot(local));
  push_marker();
  builder_.emit(Opcode::IS_OP, 0);
  builder_.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, bound);
  builder_.emit(Opcode::DELETE_FAST, slot(local));
  builder_.bind(bound);
}

int ContinuationFrame::constant(AddedConstant wanted, std::string printed) {
  for (size_t i = 0; i < constants_.size(); ++i) {
    if (constants_[i].kind == wanted.kind && constants_[i].number == wanted.number)
      return constant_indices_[i];
  }
  constants_.push_back(wanted);
  constant_indices_.push_back(builder_.add_constant(std::move(printed)));
  return constant_indices_.back();
}

void ContinuationFrame::push_marker() {
  builder_.emit(Opcode::LOAD_CONST, constant({AddedConstant::Kind::kUnboundMarker, 0}, "<unbound local>"));
}

void ContinuationFrame::push_int(int64_t number) {
  builder_.emit(Opcode::LOAD_CONST, constant({AddedConstant::Kind::kInt, number}, std::to_string(number)));
}

Instruction ContinuationFrame::renumbered(Instruction instruction) const {
  if (refers_to_local(opcode_info(original_.code.version, instruction.opcode)))
    instruction.arg = slot(instruction.arg);
  return instruction;
}

CodeBuilder::Label ContinuationFrame::edge(const Redirect& redirect, int target) {
  const CodeBuilder::Label other = redirect(target);
  return other >= 0 ? other : label(target);
}

CodeBuilder::Region ContinuationFrame::region_for(const ExceptionRegion& region, int depth_shift) {
  for (const auto& [known, made] : regions_) {
    if (known->target == region.target && known->depth == region.depth &&
        known->push_last_instruction == region.push_last_instruction)
      return made;
  }
  regions_.emplace_back(&region, builder_.new_region(label(region.target), region.depth - depth_shift,
                                                     region.push_last_instruction));
  return regions_.back().second;
}

void ContinuationFrame::copy_kept(const Redirect& redirect, const RegionOf& region_of, int depth_shift) {
  const int count = static_cast<int>(original_.instructions.size());
  for (int i = 0; i < count; ++i) {
    if (!keep_[static_cast<size_t>(i)]) continue;
    const Instruction& instruction = original_.instructions[static_cast<size_t>(i)];
    const ExceptionRegion* region = original_.region_at(i);
    builder_.bind(label(i));
    const auto other = region_of(i);
    const auto none = CodeBuilder::kNoRegion;
    builder_.set_region(other ? *other : region != nullptr ? region_for(*region, depth_shift) : none);
    builder_.copy(renumbered(instruction), instruction.target >= 0 ? edge(redirect, instruction.target) : -1);
    builder_.set_region(CodeBuilder::kNoRegion);
    // Falling through leads to the next kept instruction only when that is the original's next and not
    // redirected.
    if (ends_block(instruction.opcode) || i + 1 >= count) continue;
    const CodeBuilder::Label next = redirect(i + 1);
    if (next < 0 && keep_[static_cast<size_t>(i) + 1]) continue;
    builder_.set_position(instruction);
    builder_.jump(Opcode::JUMP_FORWARD, next >= 0 ? next : label(i + 1));
  }
}

}  // namespace suture
