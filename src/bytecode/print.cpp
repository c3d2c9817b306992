// to_text: the listing of a function, one line per instruction.
#include <fmt/format.h>

#include "base/escaped_text.h"
#include "bytecode/instruction.h"

namespace suture {
namespace {

std::string at(const std::vector<std::string>& list, int index) {
  return index >= 0 && index < static_cast<int>(list.size()) ? escaped_line(list[static_cast<size_t>(index)])
                                                             : "?";
}

// Jump targets are shown by original offset; instructions that have none are shown by index.
std::string place(const Function& function, int index) {
  const int offset = function.instructions[static_cast<size_t>(index)].offset;
  return offset >= 0 ? std::to_string(offset) : fmt::format("#{}", index);
}

// What the low bits of a name operand add, as dis shows it.
std::string_view name_flags(const Instruction& instruction, const OpcodeInfo& info) {
  if (info.operand == Operand::kName || (instruction.arg & 1) == 0) return "";
  return instruction.opcode == Opcode::LOAD_GLOBAL ? "NULL + " : "NULL|self + ";
}

std::string operand_text(const Function& function, const Instruction& instruction, const OpcodeInfo& info) {
  const CodeView& code = function.code;
  switch (info.operand) {
    case Operand::kNone: return "";
    case Operand::kTarget:
      return instruction.target < 0 ? "-> ?" : "-> " + place(function, instruction.target);
    case Operand::kConstant:
      return fmt::format("{} ({})", instruction.arg, at(code.constant_reprs, instruction.arg));
    case Operand::kName:
    case Operand::kNameShifted:
    case Operand::kNameShiftedTwice:
      return fmt::format("{} ({}{})", instruction.arg, name_flags(instruction, info),
                         at(code.names, name_index(code.version, instruction)));
    case Operand::kLocalPair:
      return fmt::format("{} ({}, {})", instruction.arg, at(code.local_names, instruction.arg >> 4),
                         at(code.local_names, instruction.arg & 15));
    case Operand::kLocal:
    case Operand::kCell:
      return fmt::format("{} ({})", instruction.arg, at(code.local_names, instruction.arg));
    default: return std::to_string(instruction.arg);
  }
}

std::string base_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void append_regions(const Function& function, std::string& out) {
  if (function.exception_regions.empty()) return;
  out += "exception table:\n";
  const int count = static_cast<int>(function.instructions.size());
  for (const ExceptionRegion& r : function.exception_regions) {
    out += fmt::format("  {} to {} -> {} [{}]{}\n", place(function, r.begin),
                       r.end < count ? place(function, r.end) : "end", place(function, r.target), r.depth,
                       r.push_last_instruction ? " lasti" : "");
  }
}

}  // namespace

std::string to_text(const Function& function, int index) {
  const Instruction& instruction = function.instructions[static_cast<size_t>(index)];
  const OpcodeInfo* info = opcode_info(function.code.version, instruction.opcode);
  std::string text(opcode_name(instruction.opcode));
  if (info != nullptr && info->has_arg) text += " " + operand_text(function, instruction, *info);
  return text;
}

std::string to_text(const Function& function) {
  const std::string file = escaped_line(base_name(function.code.filename));
  std::string out;
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    const OpcodeInfo* info = opcode_info(function.code.version, instruction.opcode);
    std::string text =
        fmt::format("{:>5} {}", place(function, static_cast<int>(i)), opcode_name(instruction.opcode));
    if (info != nullptr && info->has_arg)
      text = fmt::format("{:<34} {}", text, operand_text(function, instruction, *info));
    if (instruction.line > 0) text = fmt::format("{:<60} ; {}:{}", text, file, instruction.line);
    out += text + "\n";
  }
  append_regions(function, out);
  return out;
}

}  // namespace suture
