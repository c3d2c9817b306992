#include "bytecode/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/escaped_text.h"
#include "bytecode/analysis.h"

namespace suture {
namespace {

Error broken(const Function& function, const Instruction& instruction, std::string_view law) {
  return Error::unsupported(
      "bytecode", fmt::format("{} at byte {} of {} {}", opcode_name(instruction.opcode), instruction.offset,
                              escaped_line(function.code.qualname), law));
}

bool in_range(int index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; }

Status check_operand(const Function& function, const Instruction& instruction, const CodeTree& tree) {
  const CodeView& code = function.code;
  const int arg = instruction.arg;
  const size_t locals = code.local_names.size();
  switch (opcode_info(code.version, instruction.opcode)->operand) {
    case Operand::kConstant:
      if (!in_range(arg, tree.constants.size()))
        return broken(function, instruction,
                      fmt::format("loads constant {} of {}", arg, tree.constants.size()));
      break;
    case Operand::kName:
    case Operand::kNameShifted:
    case Operand::kNameShiftedTwice: {
      const int name = name_index(code.version, instruction);
      if (!in_range(name, code.names.size()))
        return broken(function, instruction, fmt::format("uses name {} of {}", name, code.names.size()));
      break;
    }
    case Operand::kLocal:
      if (!in_range(arg, locals))
        return broken(function, instruction, fmt::format("uses local {} of {}", arg, locals));
      break;
    case Operand::kLocalPair:
      if (arg > 0xFF || !in_range(arg >> 4, locals) || !in_range(arg & 15, locals))
        return broken(function, instruction,
                      fmt::format("uses locals {} and {} of {}", arg >> 4, arg & 15, locals));
      break;
    case Operand::kCell:
      if (!in_range(arg, locals) ||
          (code.local_kinds[static_cast<size_t>(arg)] & (kLocalCell | kLocalFree)) == 0)
        return broken(function, instruction, fmt::format("uses local {}, which is no cell", arg));
      break;
    default: break;
  }
  const bool counts_from_one = instruction.opcode == Opcode::COPY || instruction.opcode == Opcode::SWAP;
  if (counts_from_one && arg < 1) return broken(function, instruction, "has the argument 0");
  const StackUse use = stack_use(code.version, instruction.opcode, arg);
  if (std::max(use.pushes, use.pushes_on_jump) > kDeepestStack)
    return broken(function, instruction, fmt::format("pushes {} values", use.pushes));
  return ok_status();
}

// What the interpreter takes for granted about instructions that it specialises or skips.
Status check_specialised(const Function& function, size_t index) {
  const PythonVersion version = function.code.version;
  const Instruction& instruction = function.instructions[index];
  if (version < PythonVersion{3, 12}) return ok_status();
  if (instruction.opcode == Opcode::FOR_ITER) {
    const auto is = [&](int at, Opcode opcode) {
      return in_range(at, function.instructions.size()) &&
             function.instructions[static_cast<size_t>(at)].opcode == opcode;
    };
    const bool ends = is(instruction.target, Opcode::END_FOR) &&
                      (version < PythonVersion{3, 13} || is(instruction.target + 1, Opcode::POP_TOP));
    if (!ends) return broken(function, instruction, "does not lead to the end of a loop");
  }
  if (instruction.opcode == Opcode::COMPARE_OP) {
    // Which outcomes (unordered 1, less 2, greater 4, equal 8) make each of < <= == != > >= true.
    constexpr int kMasks[] = {2, 10, 8, 7, 4, 12};
    const int number = comparison(version, instruction.arg).operator_index;
    if (number > 5 || (instruction.arg & 15) != kMasks[number])
      return broken(function, instruction, "has a mask that does not fit its operator");
  }
  return ok_status();
}

Status check_handlers(const CheckedFunction& checked) {
  const Function& function = checked.function;
  for (const ExceptionRegion& region : function.exception_regions) {
    for (int i = region.begin; i < region.end; ++i) {
      const int depth = checked.depths[static_cast<size_t>(i)];
      if (depth >= 0 && depth < region.depth)
        return broken(
            function, function.instructions[static_cast<size_t>(i)],
            fmt::format("has {} values on the stack, its handler restores {}", depth, region.depth));
    }
  }
  return ok_status();
}

}  // namespace

Result<CheckedFunction> decode_checked(const CodeTree& tree) {
  SUTURE_TRY(function, decode_function(tree.view));
  for (const Instruction& instruction : function.instructions)
    SUTURE_TRY_VOID(check_operand(function, instruction, tree));
  for (size_t i = 0; i < function.instructions.size(); ++i) SUTURE_TRY_VOID(check_specialised(function, i));
  SUTURE_TRY(depths, stack_depths(function));
  const auto deepest = std::ranges::max_element(depths);
  if (deepest != depths.end() && *deepest > kDeepestStack)
    return broken(function, function.instructions[static_cast<size_t>(deepest - depths.begin())],
                  fmt::format("has {} values on the stack", *deepest));
  CheckedFunction checked{std::move(function), std::move(depths)};
  SUTURE_TRY_VOID(check_handlers(checked));
  return checked;
}

}  // namespace suture
