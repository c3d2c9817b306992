#include "bytecode/loaded_code.h"

#include "bytecode/instruction.h"

namespace suture {

std::vector<CodeTreePtr> loaded_code(const CodeTree& code) {
  const auto function = decode_function(code.view);
  std::vector<bool> loaded(code.constants.size(), !function.ok());
  if (function.ok())
    for (const Instruction& instruction : function->instructions) {
      const OpcodeInfo* info = opcode_info(code.view.version, instruction.opcode);
      const bool constant = info && info->operand == Operand::kConstant;
      if (constant && code.constant(instruction.arg)) loaded[static_cast<size_t>(instruction.arg)] = true;
    }
  std::vector<CodeTreePtr> out;
  for (size_t i = 0; i < code.constants.size(); ++i)
    if (loaded[i] && code.constants[i].is(Constant::Kind::kCode)) out.push_back(code.constants[i].code);
  return out;
}

}  // namespace suture
