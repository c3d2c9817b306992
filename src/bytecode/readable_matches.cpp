#include "bytecode/readable_matches.h"

#include "bytecode/added_names.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/output_names.h"
#include "bytecode/straight_code.h"

namespace suture {
Function class_patterns_as_calls(const Function& transformed, std::vector<Constant>& constants,
                                 std::vector<int>& origin) {
  InstructionEditor edit(transformed);
  AddedNames names(transformed.code);
  std::vector<std::string> reprs = transformed.code.constant_reprs;
  for (int i = 0; i < edit.count(); ++i) {
    if (!edit.is(i, Opcode::MATCH_CLASS)) continue;
    const int first = first_push(edit, i, 3), last = first_push(edit, i, 1);
    if (first < 0 || last < 0) continue;
    const Constant count = Constant::number(edit.arg(i));
    reprs.push_back(repr(count));
    const int number = static_cast<int>(constants.size());
    constants.push_back(count);
    edit.replace(first, {edit.like(first, Opcode::LOAD_GLOBAL, names.global_to_call(kMatchClassName)),
                         edit.at(first)});
    edit.replace(last, {edit.like(last, Opcode::LOAD_CONST, number), edit.at(last)});
    edit.replace(i, {edit.like(i, Opcode::PRECALL, 4), edit.like(i, Opcode::CALL, 4)});
  }
  Function out = names.put_into(edit.result(origin));
  out.code.constant_reprs = std::move(reprs);
  return out;
}

}  // namespace suture
