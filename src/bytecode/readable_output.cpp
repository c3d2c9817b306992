// See readable_output.h. A chain of rewritings of decoded instructions, each of which knows nothing of the others; origins
// lead back to the code as it runs.
#include "bytecode/readable_output.h"

#include <algorithm>
#include <numeric>

#include "bytecode/analysis.h"
#include "bytecode/compiler_limits.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/loaded_code.h"
#include "bytecode/output_names.h"
#include "bytecode/readable_blocks.h"
#include "bytecode/readable_cells.h"
#include "bytecode/readable_closures.h"
#include "bytecode/readable_displays.h"
#include "bytecode/readable_exits.h"
#include "bytecode/readable_loops.h"
#include "bytecode/readable_matches.h"
#include "bytecode/readable_returns.h"
#include "bytecode/validate.h"

namespace suture {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const Function& function) : edit_(function) { count_uses(); }

  // Tail calls are calls; the emptying of variables is left out.
  void rewrite() {
    for (int i = 0; i < edit_.count(); ++i) {
      if (edit_.is(i, Opcode::DELETE_FAST)) edit_.remove(i);
      if (loads(i, kTailCallName)) mark_tail_call(i);
    }
    for (int i = 1; i + 3 < edit_.count(); ++i)
      if (loads(i, kReleaseArgumentsName))
        for (int part = i - 1; part <= i + 3; ++part) edit_.remove(part);
  }

  void keep_stack_values() {
    for (int i = 1; i < edit_.count(); ++i) {
      const bool empties = edit_.is(i, Opcode::DELETE_FAST) && edit_.is(i - 1, Opcode::LOAD_FAST);
      if (empties && edit_.arg(i) == edit_.arg(i - 1) && !edit_.is_target(i)) edit_.remove(i);
    }
  }

  // A variable that may be unbound is passed as a marker, and emptied again: `if x is marker: del x`.
  void leave_markers_out() {
    for (int i = 0; i + 4 < edit_.count(); ++i) {
      const bool empties = edit_.is(i, Opcode::LOAD_FAST) && edit_.is(i + 1, Opcode::LOAD_CONST) &&
                           edit_.is(i + 2, Opcode::IS_OP) &&
                           edit_.is(i + 3, Opcode::POP_JUMP_FORWARD_IF_FALSE) &&
                           edit_.is(i + 4, Opcode::DELETE_FAST);
      if (!empties || edit_.at(i + 3).target != i + 5 || edit_.arg(i) != edit_.arg(i + 4)) continue;
      if (edit_.arg(i) >= code().parameter_count() || !is_marker_constant(code(), edit_.arg(i + 1))) continue;
      for (int part = i; part < i + 5; ++part) edit_.remove(part);
    }
  }

  // What shows once the emptying of variables is gone.
  void simplify() {
    for (int i = 0; i + 1 < edit_.count(); ++i)
      if (is_idle_pair(i)) edit_.remove(i), edit_.remove(i + 1);
    exits_as_calls();
    for (int i = 1; i < edit_.count(); ++i)
      if (edit_.is(i, Opcode::CALL) && edit_.arg(i) > kMostPushedArguments &&
          edit_.is(i - 1, Opcode::PRECALL))
        call_with_list(i);
    for (int i = 1; i < edit_.count(); ++i)
      if (edit_.is(i, Opcode::BUILD_LIST) && edit_.arg(i) > kMostPushedArguments)
        collect(i - edit_.arg(i), i);
  }

  // The end of a with statement that nothing of this function enters.
  void exits_as_calls() {
    for (int i = 0; i + 5 < edit_.count(); ++i)
      if (calls_exit(i)) call_exit_plainly(i);
  }

  Function result(std::vector<int>& origin) const { return edit_.result(origin); }

 private:
  bool loads(int i, std::string_view name) const {
    return edit_.is(i, Opcode::LOAD_DEREF) && static_cast<size_t>(edit_.arg(i)) < code().local_names.size() &&
           code().local_names[static_cast<size_t>(edit_.arg(i))] == name;
  }

  // x = x, or a variable that holds a value from one instruction to the next only.
  bool is_idle_pair(int i) const {
    if (edit_.arg(i) != edit_.arg(i + 1) || edit_.is_target(i + 1)) return false;
    if (edit_.is(i, Opcode::LOAD_FAST) && edit_.is(i + 1, Opcode::STORE_FAST)) return true;
    if (!edit_.is(i, Opcode::STORE_FAST) || !edit_.is(i + 1, Opcode::LOAD_FAST)) return false;
    if (edit_.arg(i) < code().parameter_count() || stores_an_item(i) || edit_.is_target(i)) return false;
    return uses_[static_cast<size_t>(edit_.arg(i))] == 2;
  }

  // A target of an unpacked sequence: only an assignment takes its value.
  bool stores_an_item(int i) const {
    int targets = 0;
    while (edit_.is(i, Opcode::STORE_FAST) || edit_.is(i, Opcode::POP_TOP)) --i, ++targets;
    return edit_.is(i, Opcode::UNPACK_SEQUENCE) && targets <= edit_.arg(i);
  }

  // exit(None, None, None) at the end of a with statement, whose first argument stands where a method has its object.
  bool calls_exit(int i) const {
    const bool loads = edit_.is(i, Opcode::LOAD_FAST) && edit_.is(i + 1, Opcode::LOAD_CONST) &&
                       edit_.is(i + 2, Opcode::LOAD_CONST) && edit_.is(i + 3, Opcode::LOAD_CONST) &&
                       !edit_.is(i - 1, Opcode::PUSH_NULL);
    return loads && edit_.is(i + 4, Opcode::PRECALL) && edit_.arg(i + 4) == 2 &&
           edit_.is(i + 5, Opcode::CALL) && edit_.arg(i + 5) == 2;
  }

  // Beyond kMostPushedArguments the compiler of Python collects arguments in a list.
  void call_with_list(int call) {
    if (!collect(call - 1 - edit_.arg(call), call - 1)) return;
    edit_.replace(call - 1, {edit_.like(call - 1, Opcode::LIST_TO_TUPLE)});
    edit_.replace(call, {edit_.like(call, Opcode::CALL_FUNCTION_EX)});
  }

  // Values that are pushed one by one, in a list.
  bool collect(int first, int end) {
    if (first < 1) return false;
    for (int i = first; i < end; ++i) {
      const bool pushes = edit_.is(i, Opcode::LOAD_FAST) || edit_.is(i, Opcode::LOAD_DEREF) ||
                          edit_.is(i, Opcode::LOAD_CONST) || edit_.is(i, Opcode::LOAD_CLOSURE);
      if (!pushes) return false;
    }
    edit_.insert_behind(first - 1, edit_.like(first - 1, Opcode::BUILD_LIST));
    for (int i = first; i < end; ++i) edit_.insert_behind(i, edit_.like(i, Opcode::LIST_APPEND, 1));
    if (edit_.is(end, Opcode::BUILD_LIST)) edit_.remove(end);
    return true;
  }

  void call_exit_plainly(int i) {
    edit_.replace(i, {edit_.like(i, Opcode::PUSH_NULL), edit_.at(i)});
    edit_.replace(i + 4, {edit_.like(i + 4, Opcode::PRECALL, 3)});
    edit_.replace(i + 5, {edit_.like(i + 5, Opcode::CALL, 3)});
  }

  // Finds the BUILD_TUPLE that takes the marker. The code between them only pushes the callable and the arguments.
  void mark_tail_call(int marker) {
    int depth = 1;
    for (int i = marker + 1; i < edit_.count(); ++i) {
      const Instruction& instruction = edit_.at(i);
      const StackUse use = stack_use(code().version, instruction.opcode, instruction.arg);
      if (instruction.target >= 0) return;
      if (use.pops >= depth) {
        if (instruction.opcode == Opcode::BUILD_TUPLE && use.pops == depth) call_there(marker, i);
        return;
      }
      depth += use.pushes - use.pops;
    }
  }

  void call_there(int marker, int tuple) {
    const int arguments = edit_.arg(tuple) - 2;
    edit_.replace(marker, {edit_.like(marker, Opcode::PUSH_NULL)});
    edit_.replace(
        tuple, {edit_.like(tuple, Opcode::PRECALL, arguments), edit_.like(tuple, Opcode::CALL, arguments)});
  }

  void count_uses() {
    uses_.resize(code().local_names.size());
    for (int i = 0; i < edit_.count(); ++i) {
      const bool variable = edit_.is(i, Opcode::LOAD_FAST) || edit_.is(i, Opcode::STORE_FAST);
      if (variable && static_cast<size_t>(edit_.arg(i)) < uses_.size())
        ++uses_[static_cast<size_t>(edit_.arg(i))];
    }
  }
  const CodeView& code() const { return edit_.old().code; }

  InstructionEditor edit_;
  std::vector<int> uses_;  // loads and stores per variable
};

bool is_free(const CodeView& view, size_t slot) { return (view.local_kinds[slot] & kLocalFree) != 0; }

const OpcodeInfo* info_of(const Function& function, const Instruction& instruction) {
  return opcode_info(function.code.version, instruction.opcode);
}

bool names_local(const Function& function, const Instruction& instruction) {
  const OpcodeInfo* info = info_of(function, instruction);
  return info && (info->operand == Operand::kLocal || info->operand == Operand::kCell);
}

// Those that are used, in alphabetical order.
void order_free_variables(Function& function) {
  CodeView& view = function.code;
  std::vector<bool> used(view.local_names.size());
  for (const Instruction& instruction : function.instructions)
    if (names_local(function, instruction) && static_cast<size_t>(instruction.arg) < used.size())
      used[static_cast<size_t>(instruction.arg)] = true;
  std::vector<size_t> order(view.local_names.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t slot) { return is_free(view, slot) && !used[slot]; });
  const auto first_free =
      std::ranges::stable_partition(order, [&](size_t slot) { return !is_free(view, slot); });
  std::ranges::sort(first_free, {}, [&](size_t slot) { return view.local_names[slot]; });
  std::vector<int> position(view.local_names.size(), 0);
  std::vector<std::string> names;
  std::vector<uint8_t> kinds;
  for (size_t slot : order) {
    position[slot] = static_cast<int>(names.size());
    names.push_back(view.local_names[slot]);
    kinds.push_back(view.local_kinds[slot]);
  }
  for (Instruction& instruction : function.instructions) {
    if (names_local(function, instruction) && static_cast<size_t>(instruction.arg) < position.size())
      instruction.arg = position[static_cast<size_t>(instruction.arg)];
    if (instruction.opcode == Opcode::COPY_FREE_VARS) instruction.arg = static_cast<int>(first_free.size());
  }
  if (first_free.empty())
    for (Instruction& instruction : function.instructions)
      if (instruction.opcode == Opcode::COPY_FREE_VARS) instruction.opcode = Opcode::NOP;
  view.local_names = std::move(names);
  view.local_kinds = std::move(kinds);
}

// A string that comes first would be a docstring.
void keep_first_constant_free(Function& function, std::vector<Constant>& constants) {
  if (constants.empty() || !constants.front().is(Constant::Kind::kStr)) return;
  constants.insert(constants.begin(), Constant::none());
  function.code.constant_reprs.insert(function.code.constant_reprs.begin(), "None");
  for (Instruction& instruction : function.instructions) {
    const OpcodeInfo* info = info_of(function, instruction);
    if (info && info->operand == Operand::kConstant) ++instruction.arg;
  }
}

Function without_unreached(const Function& function, std::vector<int>& origin) {
  InstructionEditor edit(function);
  const std::vector<bool> reached = reachable_from(function, 0);
  for (int i = 0; i < edit.count(); ++i)
    if (!reached[static_cast<size_t>(i)]) edit.remove(i);
  std::erase_if(edit.regions(),
                [&](const ExceptionRegion& region) { return !reached[static_cast<size_t>(region.target)]; });
  return edit.result(origin);
}

// One rewriting after the other; `origin` leads back to the first.
class Steps {
 public:
  explicit Steps(Function function) : function_(std::move(function)), origin_(function_.instructions.size()) {
    std::iota(origin_.begin(), origin_.end(), 0);
  }

  template <typename Step>
  void then(Step step) {
    std::vector<int> origin;
    Function next = step(function_, origin);
    for (int& each : origin) each = origin_[static_cast<size_t>(each)];
    function_ = std::move(next);
    origin_ = std::move(origin);
  }
  void then(void (Rewriter::*step)()) {
    then([step](const Function& function, std::vector<int>& origin) {
      Rewriter rewriter(function);
      (rewriter.*step)();
      return rewriter.result(origin);
    });
  }

  Function& function() { return function_; }
  std::vector<int>& origin() { return origin_; }

 private:
  Function function_;
  std::vector<int> origin_;
};

// A continuation has all constants of the function it was cut from; code that only the rest loads is not its own.
std::vector<Constant> with_loaded_code(const CodeTree& code) {
  std::vector<Constant> constants = code.constants;
  const std::vector<CodeTreePtr> loaded = loaded_code(code);
  for (Constant& constant : constants)
    if (constant.is(Constant::Kind::kCode) && std::ranges::find(loaded, constant.code) == loaded.end())
      constant = Constant::none();
  return constants;
}

}  // namespace

namespace {

enum class Blocks : uint8_t { kAsStatements, kAsTheyAre };

Result<ReadableOutput> rewritten(const CodeTree& code, OutputKind kind, const std::string& name,
                                 Blocks blocks) {
  SUTURE_TRY(checked, decode_checked(code));
  Steps steps(std::move(checked.function));
  const auto then_blocks = [&](auto step) {
    if (blocks == Blocks::kAsStatements) steps.then(step);
  };
  ReadableOutput out;
  out.code.constants = with_loaded_code(code);
  steps.then(without_unreached);
  if (kind == OutputKind::kTransformed) {
    steps.then(&Rewriter::rewrite);
    steps.then(&Rewriter::simplify);
    steps.then(&Rewriter::simplify);  // where something was left out in between
    steps.then([&](const Function& each, std::vector<int>& origin) {
      return cells_of_closures(each, out.code.constants, origin);
    });
    steps.then([&](const Function& each, std::vector<int>& origin) {
      return class_patterns_as_calls(each, out.code.constants, origin);
    });
    steps.then(single_steps);
    steps.then(loops_in_regions);
    steps.then(loops_over_variables);
    then_blocks(blocks_left_open);
  } else {
    steps.then(&Rewriter::keep_stack_values);
    steps.then(&Rewriter::leave_markers_out);
    steps.then(variables_for_markers);
    then_blocks(returns_inside_statements);
    then_blocks(ends_with_exceptions);
    then_blocks(handlers_that_hand_on);
    then_blocks(blocks_entered_elsewhere);
    steps.then(&Rewriter::exits_as_calls);
  }
  steps.then(without_unreached);
  steps.then(cells_as_variables);
  steps.then([&](const Function& each, std::vector<int>& origin) {
    return folded_displays(each, out.code.constants, origin);
  });
  Function readable = std::move(steps.function());
  out.origin = std::move(steps.origin());
  order_free_variables(readable);
  keep_first_constant_free(readable, out.code.constants);
  SUTURE_TRY(assembled, assemble(readable));
  out.code.view = std::move(readable.code);
  out.code.view.code = std::move(assembled.code);
  out.code.view.line_table = std::move(assembled.line_table);
  out.code.view.exception_table = std::move(assembled.exception_table);
  out.code.view.stack_size = assembled.stack_size;
  out.qualname = code.view.qualname;
  out.code.view.name = out.code.view.qualname = name;
  return out;
}

}  // namespace

Result<ReadableOutput> readable_output(const CodeTree& code, OutputKind kind, const std::string& name) {
  auto readable = rewritten(code, kind, name, Blocks::kAsStatements);
  return readable ? std::move(readable) : rewritten(code, kind, name, Blocks::kAsTheyAre);
}

}  // namespace suture
