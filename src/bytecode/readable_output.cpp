// See readable_output.h. Works on decoded instructions: marks what goes, replaces what changes, then moves jump targets
// and exception regions to where their instructions went.
#include "bytecode/readable_output.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "bytecode/instruction.h"

namespace suture {
namespace {

constexpr int kMostPushedArguments = 30;  // STACK_USE_GUIDELINE of the compiler
constexpr std::string_view kTailCall = "__tail_call", kReleaseArguments = "__release_arguments";

class Rewriter {
 public:
  explicit Rewriter(const Function& function) : old_(function), to_(function.instructions.size()) {}

  // What stands for instruction i of the original.
  void rewrite() {
    for (int i = 0; i < count(); ++i)
      if (loads(i, kTailCall)) mark_tail_call(i);
    for (int i = 0; i < count(); ++i) {
      to_[at(i)].push_back(old_.instructions[at(i)]);
      if (old_.instructions[at(i)].opcode == Opcode::DELETE_FAST) to_[at(i)].clear();
    }
    for (const auto& [marker, tuple] : tail_calls_) {
      to_[at(marker)] = {like(marker, Opcode::PUSH_NULL, 0)};
      const int arguments = old_.instructions[at(tuple)].arg - 2;
      to_[at(tuple)] = {like(tuple, Opcode::PRECALL, arguments), like(tuple, Opcode::CALL, arguments)};
    }
    for (int i = 1; i + 3 < count(); ++i)
      if (loads(i, kReleaseArguments))
        for (int part = i - 1; part <= i + 3; ++part) to_[at(part)].clear();
  }

  // What shows once the emptying of variables is gone.
  void simplify() {
    for (int i = 0; i < count(); ++i) to_[at(i)].push_back(old_.instructions[at(i)]);
    for (int i = 0; i + 1 < count(); ++i)
      if (is_idle_pair(i)) to_[at(i)].clear(), to_[at(i + 1)].clear();
    for (int i = 0; i + 5 < count(); ++i)
      if (calls_exit(i)) call_exit_plainly(i);
    for (int i = 1; i < count(); ++i)
      if (is(i, Opcode::CALL) && arg(i) > kMostPushedArguments && is(i - 1, Opcode::PRECALL))
        call_with_list(i);
  }

  Function result(std::vector<int>& origin) const {
    Function out = old_;
    out.instructions.clear();
    std::vector<int> position;
    for (int i = 0; i < count(); ++i) {
      position.push_back(static_cast<int>(out.instructions.size()));
      for (const Instruction& instruction : to_[at(i)]) {
        out.instructions.push_back(instruction);
        origin.push_back(i);
      }
    }
    position.push_back(static_cast<int>(out.instructions.size()));
    for (Instruction& instruction : out.instructions)
      if (instruction.target >= 0) instruction.target = position[at(instruction.target)];
    for (ExceptionRegion& region : out.exception_regions) {
      region.begin = position[at(region.begin)];
      region.end = position[at(region.end)];
      region.target = position[at(region.target)];
    }
    std::erase_if(out.exception_regions,
                  [](const ExceptionRegion& region) { return region.begin == region.end; });
    return out;
  }

 private:
  static size_t at(int index) { return static_cast<size_t>(index); }
  int count() const { return static_cast<int>(old_.instructions.size()); }

  bool loads(int i, std::string_view name) const {
    const Instruction& instruction = old_.instructions[at(i)];
    return instruction.opcode == Opcode::LOAD_DEREF && at(instruction.arg) < old_.code.local_names.size() &&
           old_.code.local_names[at(instruction.arg)] == name;
  }

  Instruction like(int i, Opcode opcode, int arg) const {
    Instruction made = old_.instructions[at(i)];
    made.opcode = opcode;
    made.arg = arg;
    return made;
  }

  bool is(int i, Opcode opcode) const { return old_.instructions[at(i)].opcode == opcode; }
  int arg(int i) const { return old_.instructions[at(i)].arg; }
  bool is_target(int i) const {
    return std::ranges::any_of(old_.instructions,
                               [i](const Instruction& each) { return each.target == i; }) ||
           std::ranges::any_of(old_.exception_regions,
                               [i](const ExceptionRegion& each) { return each.target == i; });
  }

  // x = x, or a variable that holds a value from one instruction to the next only.
  bool is_idle_pair(int i) const {
    if (arg(i) != arg(i + 1) || is_target(i + 1)) return false;
    if (is(i, Opcode::LOAD_FAST) && is(i + 1, Opcode::STORE_FAST)) return true;
    if (!is(i, Opcode::STORE_FAST) || !is(i + 1, Opcode::LOAD_FAST) || arg(i) < old_.code.parameter_count())
      return false;
    const auto uses = std::ranges::count_if(old_.instructions, [&](const Instruction& each) {
      return each.arg == arg(i) && (each.opcode == Opcode::LOAD_FAST || each.opcode == Opcode::STORE_FAST);
    });
    return uses == 2;
  }

  // exit(None, None, None) at the end of a with statement, whose first argument stands where a method has its object.
  bool calls_exit(int i) const {
    const bool loads = is(i, Opcode::LOAD_FAST) && is(i + 1, Opcode::LOAD_CONST) &&
                       is(i + 2, Opcode::LOAD_CONST) && is(i + 3, Opcode::LOAD_CONST) &&
                       (i == 0 || !is(i - 1, Opcode::PUSH_NULL));
    return loads && is(i + 4, Opcode::PRECALL) && arg(i + 4) == 2 && is(i + 5, Opcode::CALL) &&
           arg(i + 5) == 2;
  }

  // Beyond kMostPushedArguments the compiler of Python collects arguments in a list.
  void call_with_list(int call) {
    const int first = call - 1 - arg(call);
    if (first < 1) return;
    for (int i = first; i < call - 1; ++i) {
      const bool pushes = is(i, Opcode::LOAD_FAST) || is(i, Opcode::LOAD_DEREF) ||
                          is(i, Opcode::LOAD_CONST) || is(i, Opcode::LOAD_CLOSURE);
      if (!pushes || to_[at(i)].size() != 1) return;
    }
    to_[at(first - 1)].push_back(like(first - 1, Opcode::BUILD_LIST, 0));
    for (int i = first; i < call - 1; ++i) to_[at(i)].push_back(like(i, Opcode::LIST_APPEND, 1));
    to_[at(call - 1)] = {like(call - 1, Opcode::LIST_TO_TUPLE, 0)};
    to_[at(call)] = {like(call, Opcode::CALL_FUNCTION_EX, 0)};
  }

  void call_exit_plainly(int i) {
    to_[at(i)] = {like(i, Opcode::PUSH_NULL, 0), old_.instructions[at(i)]};
    to_[at(i + 4)] = {like(i + 4, Opcode::PRECALL, 3)};
    to_[at(i + 5)] = {like(i + 5, Opcode::CALL, 3)};
  }

  // Finds the BUILD_TUPLE that takes the marker. The code between them only pushes the callable and the arguments.
  void mark_tail_call(int marker) {
    int depth = 1;
    for (int i = marker + 1; i < count(); ++i) {
      const Instruction& instruction = old_.instructions[at(i)];
      const StackUse use = stack_use(old_.code.version, instruction.opcode, instruction.arg);
      if (instruction.target >= 0) return;
      if (use.pops >= depth) {
        if (instruction.opcode == Opcode::BUILD_TUPLE && use.pops == depth) tail_calls_[marker] = i;
        return;
      }
      depth += use.pushes - use.pops;
    }
  }

  const Function& old_;
  std::vector<std::vector<Instruction>> to_;
  std::map<int, int> tail_calls_;  // marker -> tuple
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

}  // namespace

Result<ReadableOutput> readable_output(const CodeTree& transformed, const std::string& name) {
  SUTURE_TRY(function, decode_function(transformed.view));
  Rewriter rewriter(function);
  rewriter.rewrite();
  std::vector<int> first_origin;
  const Function without = rewriter.result(first_origin);
  Rewriter simplifier(without);
  simplifier.simplify();
  ReadableOutput out;
  Function readable = simplifier.result(out.origin);
  for (int& origin : out.origin) origin = first_origin[static_cast<size_t>(origin)];
  out.code.constants = transformed.constants;
  order_free_variables(readable);
  keep_first_constant_free(readable, out.code.constants);
  SUTURE_TRY(assembled, assemble(readable));
  out.code.view = std::move(readable.code);
  out.code.view.code = std::move(assembled.code);
  out.code.view.line_table = std::move(assembled.line_table);
  out.code.view.exception_table = std::move(assembled.exception_table);
  out.code.view.stack_size = assembled.stack_size;
  out.code.view.name = out.code.view.qualname = name;
  return out;
}

}  // namespace suture
