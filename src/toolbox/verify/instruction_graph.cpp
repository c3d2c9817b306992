// Overview
//   `Builder` appends the nodes of each instruction in order; edges between instructions hold instruction
//   indices at first (`Pending`). Then every instruction gets the node that control finds there, transparent
//   instructions that of their successor, and the edges are resolved.
#include "toolbox/verify/instruction_graph.h"

#include <fmt/format.h>

#include <utility>

#include "base/escaped_text.h"
#include "bytecode/analysis.h"
#include "toolbox/verify/call_forms.h"

namespace suture::toolbox {
namespace {

// Leave the active handler where it is, whatever happens in them.
bool never_raises(PythonVersion version, Opcode opcode) {
  switch (opcode) {
    case Opcode::COPY:
    case Opcode::COPY_FREE_VARS:
    case Opcode::END_FOR:
    case Opcode::END_SEND:
    case Opcode::IS_OP:
    case Opcode::KW_NAMES:
    case Opcode::LOAD_ASSERTION_ERROR:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_CONST:
    case Opcode::LOAD_FAST_AND_CLEAR:
    case Opcode::MAKE_CELL:
    case Opcode::NOP:
    case Opcode::POP_EXCEPT:
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::POP_TOP:
    case Opcode::PUSH_EXC_INFO:
    case Opcode::PUSH_NULL:
    case Opcode::RETURN_GENERATOR:
    case Opcode::RETURN_VALUE:
    case Opcode::STORE_DEREF:
    case Opcode::STORE_FAST:
    case Opcode::SWAP: return true;
    case Opcode::LOAD_FAST: return version >= PythonVersion{3, 12};  // else LOAD_FAST_CHECK
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::UNARY_NOT: return version >= PythonVersion{3, 13};  // of a bool
    default: return false;
  }
}

// Every result is True or False.
bool makes_bool(const Instruction& instruction, PythonVersion version) {
  switch (instruction.opcode) {
    case Opcode::IS_OP:
    case Opcode::CONTAINS_OP:
    case Opcode::UNARY_NOT:
    case Opcode::TO_BOOL: return true;
    case Opcode::COMPARE_OP: return comparison(version, instruction.arg).to_bool;
    default: return false;
  }
}

Node::Operand node_operand(Operand operand) {
  switch (operand) {
    case Operand::kNone: return Node::Operand::kNone;
    case Operand::kConstant: return Node::Operand::kConstant;
    case Operand::kName:
    case Operand::kNameShifted:
    case Operand::kNameShiftedTwice: return Node::Operand::kName;
    case Operand::kLocal:
    case Operand::kLocalPair:
    case Operand::kCell: return Node::Operand::kLocal;
    default: return Node::Operand::kNumber;
  }
}

class Builder {
 public:
  Builder(const CodeTree& tree, InstructionGraph& graph)
      : graph_(graph),
        function_(graph.checked.function),
        version_(tree.view.version),
        calls_(find_call_forms(graph.checked)) {}

  Status build();

 private:
  // An edge to an instruction, whose node is not known yet.
  struct Pending {
    int node;
    bool taken;
    int instruction;
  };

  const Instruction& at(int index) const { return function_.instructions[static_cast<size_t>(index)]; }
  int last() const { return static_cast<int>(graph_.nodes.size()) - 1; }

  // Appends a node; the node appended before it for the same instruction leads to it.
  Node& append(Opcode opcode, Node::Operand operand = Node::Operand::kNone, int index = 0, int number = 0);
  void leave(int node, bool taken, int instruction) { pending_.push_back({node, taken, instruction}); }

  void add_instruction(int index);
  void add_jump(const Instruction& instruction, BranchTest jump);
  void add_jump_or_pop(const Instruction& instruction);
  int threaded_target(const Instruction& instruction) const;
  void add_load_global(const Instruction& instruction);
  void add_pair(Opcode first, Opcode second, int arg);
  void add_other(const Instruction& instruction);
  bool is_transparent(int index) const;
  bool is_entered(int index) const { return entered_[static_cast<size_t>(index)]; }
  void mark_layout_constants();
  int node_at(int instruction);

  InstructionGraph& graph_;
  const Function& function_;
  PythonVersion version_;
  CallForms calls_;
  std::vector<bool> entered_;  // by a jump or an exception
  std::vector<int> first_;     // instruction -> its first node, -1 when transparent or unreachable
  std::vector<Pending> pending_;
  int current_ = 0;     // instruction
  bool fresh_ = false;  // no node of it yet
};

Node& Builder::append(Opcode opcode, Node::Operand operand, int index, int number) {
  const int node = static_cast<int>(graph_.nodes.size());
  if (fresh_)
    first_[static_cast<size_t>(current_)] = node;
  else
    graph_.nodes.back().next = node;
  fresh_ = false;
  const ExceptionRegion* region = function_.region_at(current_);
  Node& added = graph_.nodes.emplace_back();
  added.opcode = opcode;
  added.operand = operand;
  added.index = index;
  added.number = number;
  added.raises = !never_raises(version_, opcode);
  added.handler = region ? static_cast<int>(region - function_.exception_regions.data()) : -1;
  added.instruction = current_;
  return added;
}

bool Builder::is_transparent(int index) const {
  switch (at(index).opcode) {
    case Opcode::NOP:
    case Opcode::JUMP_FORWARD:
    case Opcode::JUMP_BACKWARD_NO_INTERRUPT: return true;
    case Opcode::PUSH_NULL: return calls_.drops_null[static_cast<size_t>(index)];
    case Opcode::TO_BOOL: return index > 0 && !is_entered(index) && makes_bool(at(index - 1), version_);
    default: return false;
  }
}

void Builder::add_jump(const Instruction& instruction, BranchTest jump) {
  const bool on_none = jump == BranchTest::kNone || jump == BranchTest::kNotNone;
  append(on_none ? Opcode::POP_JUMP_IF_NONE : Opcode::POP_JUMP_IF_TRUE);
  const int branch = last();
  const bool positive = jump == BranchTest::kTrue || jump == BranchTest::kNone;
  leave(branch, !positive, current_ + 1);
  const OpcodeInfo* info = opcode_info(version_, instruction.opcode);
  if (info->jump > 0) {
    leave(branch, positive, instruction.target);
    return;
  }
  // 3.11 looks for signals when it jumps backward.
  append(Opcode::JUMP_BACKWARD);
  Node& node = graph_.nodes[static_cast<size_t>(branch)];
  node.next = -1;
  (positive ? node.taken : node.next) = last();
  leave(last(), false, instruction.target);
}

// Where a jump of 3.11 that keeps a value comes to when the value is tested again there: the compiler saves the
// second test where the lines of both allow it. -1 when the value is kept.
int Builder::threaded_target(const Instruction& instruction) const {
  const bool value = instruction.opcode == Opcode::JUMP_IF_TRUE_OR_POP;
  int index = instruction.target;
  // Such jumps go forward, so the chain ends.
  while (true) {
    const Instruction& next = at(index);
    const BranchTest jump = branch_test(next.opcode);
    if (jump == BranchTest::kTrue || jump == BranchTest::kFalse)
      return opcode_info(version_, next.opcode)->jump < 0 ? -1
             : (jump == BranchTest::kTrue) == value       ? next.target
                                                          : index + 1;
    if (next.opcode != Opcode::JUMP_IF_TRUE_OR_POP && next.opcode != Opcode::JUMP_IF_FALSE_OR_POP) {
      if (next.opcode != Opcode::NOP && next.opcode != Opcode::JUMP_FORWARD) return -1;
      index = next.target >= 0 ? next.target : index + 1;
      continue;
    }
    if ((next.opcode == Opcode::JUMP_IF_TRUE_OR_POP) != value) return index + 1;
    index = next.target;
  }
}

void Builder::add_jump_or_pop(const Instruction& instruction) {
  if (const int target = threaded_target(instruction); target >= 0) {
    append(Opcode::POP_JUMP_IF_TRUE);
    const bool if_true = instruction.opcode == Opcode::JUMP_IF_TRUE_OR_POP;
    leave(last(), if_true, target);
    return leave(last(), !if_true, current_ + 1);
  }
  append(Opcode::COPY, Node::Operand::kNumber, 0, 1);
  append(Opcode::POP_JUMP_IF_TRUE);
  const int branch = last();
  append(Opcode::POP_TOP);
  const int pop = last();
  const bool pops_if_false = instruction.opcode == Opcode::JUMP_IF_TRUE_OR_POP;
  Node& node = graph_.nodes[static_cast<size_t>(branch)];
  node.next = -1;
  (pops_if_false ? node.next : node.taken) = pop;
  leave(branch, pops_if_false, instruction.target);
  leave(pop, false, current_ + 1);
}

void Builder::add_load_global(const Instruction& instruction) {
  const bool with_null = (instruction.arg & 1) != 0 && !calls_.drops_null[static_cast<size_t>(current_)];
  if (with_null && version_ <= PythonVersion{3, 12}) append(Opcode::PUSH_NULL);
  append(Opcode::LOAD_GLOBAL, Node::Operand::kName, instruction.arg >> 1);
  if (with_null && version_ > PythonVersion{3, 12}) append(Opcode::PUSH_NULL);
  leave(last(), false, current_ + 1);
}

void Builder::add_pair(Opcode first, Opcode second, int arg) {
  append(first, Node::Operand::kLocal, arg >> 4);
  append(second, Node::Operand::kLocal, arg & 15);
  leave(last(), false, current_ + 1);
}

void Builder::add_other(const Instruction& instruction) {
  const OpcodeInfo* info = opcode_info(version_, instruction.opcode);
  const Node::Operand operand = node_operand(info->operand);
  const int name = name_index(version_, instruction);
  if (operand == Node::Operand::kName)
    append(instruction.opcode, operand, name,
           info->operand == Operand::kNameShiftedTwice ? instruction.arg & 3 : 0);
  else if (operand == Node::Operand::kNumber)
    append(instruction.opcode, operand, 0, instruction.arg);
  else
    append(instruction.opcode, operand, instruction.arg);
  const int node = last();
  if (!ends_block(instruction.opcode)) leave(node, false, current_ + 1);
  if (instruction.target >= 0) leave(node, true, instruction.target);
}

void Builder::add_instruction(int index) {
  const Instruction& instruction = at(index);
  const BranchTest jump = branch_test(instruction.opcode);
  if (jump != BranchTest::kNoBranch) return add_jump(instruction, jump);
  switch (instruction.opcode) {
    case Opcode::JUMP_IF_TRUE_OR_POP:
    case Opcode::JUMP_IF_FALSE_OR_POP: return add_jump_or_pop(instruction);
    case Opcode::LOAD_GLOBAL: return add_load_global(instruction);
    case Opcode::LOAD_FAST_LOAD_FAST: return add_pair(Opcode::LOAD_FAST, Opcode::LOAD_FAST, instruction.arg);
    case Opcode::STORE_FAST_LOAD_FAST:
      return add_pair(Opcode::STORE_FAST, Opcode::LOAD_FAST, instruction.arg);
    case Opcode::STORE_FAST_STORE_FAST:
      return add_pair(Opcode::STORE_FAST, Opcode::STORE_FAST, instruction.arg);
    case Opcode::JUMP_BACKWARD:
      append(Opcode::JUMP_BACKWARD);
      return leave(last(), false, instruction.target);
    case Opcode::RETURN_CONST:
      append(Opcode::LOAD_CONST, Node::Operand::kConstant, instruction.arg);
      append(Opcode::RETURN_VALUE);
      return;
    case Opcode::LOAD_FAST_CHECK:
      append(Opcode::LOAD_FAST, Node::Operand::kLocal, instruction.arg).raises = true;
      return leave(last(), false, current_ + 1);
    case Opcode::LOAD_ATTR: {
      const bool shifted = version_ >= PythonVersion{3, 12};
      const bool method =
          calls_.is_method[static_cast<size_t>(current_)] || (shifted && (instruction.arg & 1) != 0);
      append(method ? Opcode::LOAD_METHOD : Opcode::LOAD_ATTR, Node::Operand::kName,
             name_index(version_, instruction));
      return leave(last(), false, current_ + 1);
    }
    case Opcode::COMPARE_OP: {
      const Comparison meaning = comparison(version_, instruction.arg);
      append(Opcode::COMPARE_OP, Node::Operand::kNumber, 0, meaning.operator_index);
      if (meaning.to_bool) append(Opcode::TO_BOOL);
      return leave(last(), false, current_ + 1);
    }
    default: return add_other(instruction);
  }
}

// The node that control finds at an instruction; a loop of transparent instructions gets a node of its own.
int Builder::node_at(int instruction) {
  std::vector<int> passed;
  int index = instruction;
  int node = -1;
  while (node < 0) {
    node = first_[static_cast<size_t>(index)];
    if (node >= 0) break;
    first_[static_cast<size_t>(index)] = -2;  // on the way
    passed.push_back(index);
    index = at(index).target >= 0 ? at(index).target : index + 1;
    if (first_[static_cast<size_t>(index)] == -2) {
      current_ = index;
      fresh_ = true;
      append(Opcode::NOP);
      node = last();
      graph_.nodes.back().next = node;
    }
  }
  for (const int each : passed) first_[static_cast<size_t>(each)] = node;
  return node;
}

// Class bodies store their qualified name, which the comparison of the headers knows; those of 3.13 the line they begin at, and
// attributes in the order of a set.
void Builder::mark_layout_constants() {
  const CodeTree& tree = *graph_.tree;
  if ((tree.view.flags & kCodeOptimized) != 0 || tree.view.name == "<module>") return;
  bool has_line = false;  // what is stored behind it is the program's
  for (size_t i = 0; i + 1 < graph_.nodes.size(); ++i) {
    Node& load = graph_.nodes[i];
    const Node& store = graph_.nodes[i + 1];
    // A class body may declare the name nonlocal.
    const bool deref = store.opcode == Opcode::STORE_DEREF;
    if (load.opcode != Opcode::LOAD_CONST || !(deref || store.opcode == Opcode::STORE_NAME)) continue;
    if (load.next != static_cast<int>(i) + 1 || is_entered(store.instruction)) continue;
    const std::string& name =
        deref ? tree.view.local_names[static_cast<size_t>(store.index)] : graph_.name(store);
    const Constant& constant = graph_.constant(load);
    if (name == "__qualname__" && constant.is(Constant::Kind::kStr) && constant.text == tree.view.qualname)
      load.operand = Node::Operand::kIgnored;
    if (version_ < PythonVersion{3, 13}) continue;
    if (name == "__firstlineno__" && constant.is(Constant::Kind::kInt) && !std::exchange(has_line, true))
      load.operand = Node::Operand::kIgnored;
    if (name == "__static_attributes__" && constant.is(Constant::Kind::kTuple))
      load.operand = Node::Operand::kConstantItems;
  }
}

Status Builder::build() {
  const int count = static_cast<int>(function_.instructions.size());
  entered_.resize(static_cast<size_t>(count));
  for (const Instruction& i : function_.instructions)
    if (i.target >= 0) entered_[static_cast<size_t>(i.target)] = true;
  for (const ExceptionRegion& region : function_.exception_regions)
    entered_[static_cast<size_t>(region.target)] = true;
  first_.assign(static_cast<size_t>(count), -1);
  graph_.nodes.reserve(static_cast<size_t>(count) + 8);
  for (current_ = 0; current_ < count; ++current_) {
    const bool reached = graph_.checked.depths[static_cast<size_t>(current_)] >= 0;
    if (!reached || is_transparent(current_)) continue;
    if (at(current_).opcode == Opcode::CACHE)
      return Error::unsupported(
          "verify", fmt::format("byte {} is an inline cache, not an instruction", at(current_).offset));
    fresh_ = true;
    add_instruction(current_);
  }
  for (const Pending& edge : pending_) {
    const int target = node_at(edge.instruction);
    Node& node = graph_.nodes[static_cast<size_t>(edge.node)];
    (edge.taken ? node.taken : node.next) = target;
  }
  for (const ExceptionRegion& region : function_.exception_regions) {
    const bool reached = graph_.checked.depths[static_cast<size_t>(region.target)] >= 0;
    graph_.handlers.push_back(
        {reached ? node_at(region.target) : -1, region.depth, region.push_last_instruction});
  }
  graph_.entry = node_at(0);
  mark_layout_constants();
  return ok_status();
}

}  // namespace

Result<InstructionGraph> build_instruction_graph(const CodeTree& tree) {
  InstructionGraph graph;
  graph.tree = &tree;
  SUTURE_TRY(checked, decode_checked(tree));
  graph.checked = std::move(checked);
  SUTURE_TRY_VOID(Builder(tree, graph).build());
  return graph;
}

std::string InstructionGraph::describe(int index) const {
  const int instruction = node(index).instruction;
  const Instruction& from = checked.function.instructions[static_cast<size_t>(instruction)];
  std::string text = fmt::format("{} at byte {}", to_text(checked.function, instruction), from.offset);
  if (from.line > 0) text += fmt::format(", line {}", from.line);
  return text;
}

}  // namespace suture::toolbox
