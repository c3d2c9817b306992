// The driver of symbolic execution: blocks, nodes, contexts; and the instructions that only move values.
#include "toolbox/decompile/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolbox/decompile/comprehensions.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {

using namespace syntax;

namespace {
constexpr size_t kMostKeptValues = 20'000'000;  // on the stacks of all edges together
}

Evaluator::Evaluator(Builder& builder, const Scope& scope, const LiftedCode& code, const Regions& regions,
                     const Blocks& blocks, const std::vector<MatchedCase>& cases)
    : builder_(builder),
      scope_(scope),
      code_(code),
      regions_(regions),
      blocks_(blocks),
      cases_(cases),
      graph_(result_.graph) {
  graph_.nodes.resize(blocks.all.size());
  last_of_.assign(blocks.all.size(), -1);
  result_.bound.assign(scope.view().local_names.size(), false);
  result_.loaded = result_.bound;
}

Result<Evaluated> Evaluator::run() {
  for (const int block : blocks_.order) {
    run_block(block);
    if (failed()) return Error::unsupported("decompile", error_);
  }
  add_unused_free_variables();
  return std::move(result_);
}

// A free variable that no instruction uses is in the code because the source declares it.
void Evaluator::add_unused_free_variables() {
  if (scope_.kind != CodeKind::kFunction) return;
  const CodeView& view = scope_.view();
  std::set<int> used;
  for (const LiftedInstruction& it : code_.instructions) {
    const bool cell = it.op == Op::LoadDeref || it.op == Op::StoreDeref || it.op == Op::DeleteDeref ||
                      it.op == Op::LoadClosure || it.op == Op::LoadFromDictOrDeref;
    if (cell || it.op == Op::LoadFast) used.insert(it.arg);
  }
  for (size_t i = 0; i < view.local_names.size() && i < view.local_kinds.size(); ++i) {
    const std::string& one = view.local_names[i];
    if (!(view.local_kinds[i] & kLocalFree) || used.contains(static_cast<int>(i))) continue;
    if (one != "__class__" && is_identifier(one)) result_.nonlocals.insert(one);
  }
}

void Evaluator::fail(const std::string& what) {
  if (failed()) return;
  const int offset = current_ ? current_->offset : 0, line = current_ ? current_->line : 0;
  error_ = fmt::format("offset {} (line {}): {}", offset, line, what);
}

void Evaluator::run_block(int block) {
  current_ = &code_.at(std::max(blocks_.at(block).place, 0));
  if (!enter_block(block) || failed()) return;
  if (blocks_.at(block).entered_region >= 0) return run_entry_block(block);
  run_instructions(blocks_.at(block));
}

// Sets node_ and stack_. A block that is the only way on from its predecessor continues that one's node.
bool Evaluator::enter_block(int block) {
  FlowNode& node = graph_.at(block);
  stack_.clear();
  if (block != 0) {
    if (node.in.empty()) return false;
    if (!merge_stacks(block)) return false;
  }
  node_ = block;
  if (node.in.size() == 1 && !blocks_.is_header[static_cast<size_t>(block)]) {
    const int before = node.in.front().first;
    if (can_continue(block, graph_.at(before))) {
      node.dead = true;
      node_ = before;
      if (graph_.at(before).does_nothing()) graph_.at(before).place = blocks_.at(block).place;
      graph_.at(before).end = End::kNone;
      return true;
    }
  }
  begin_node(block, block);
  node.is_header = blocks_.is_header[static_cast<size_t>(block)];
  return true;
}

void Evaluator::begin_node(int index, int block) {
  node_ = index;
  FlowNode& node = graph_.at(index);
  node.entry = stack_;
  node.place = blocks_.at(block).place;
  node.sequence = next_sequence_++;
  node.line = code_.at(node.place).line;
  node.context = context_for(stack_, blocks_.at(block).region);
}

bool Evaluator::can_continue(int block, const FlowNode& before) const {
  const Block& it = blocks_.at(block);
  if (before.end != End::kGoto || before.element || it.entered_region >= 0) return false;
  const Op first = code_.at(it.instructions.front()).op;
  if (first == Op::ForIter || first == Op::AsyncForIter) return false;
  return const_cast<Evaluator*>(this)->context_for(stack_, it.region) == before.context;
}

void Evaluator::run_instructions(const Block& block) {
  block_ = &block;
  ended_ = false;
  for (position_ = 0; position_ < block.instructions.size() && !failed(); ++position_) {
    current_ = &code_.at(block.instructions[position_]);
    note_place(block);
    execute(*current_);
    last_of_.resize(static_cast<size_t>(graph_.size()), -1);
    last_of_[static_cast<size_t>(node_)] = block.instructions[position_];
  }
  if (failed()) return;
  if (!stores_.empty()) return fail("an assignment whose values are used in another block");
  if (!ended_) {
    graph_.at(node_).line = current_->line;
    finish(End::kGoto, block.first);
  }
}

// Where a block only leaves a statement and jumps, what it does stands behind the jump.
void Evaluator::note_place(const Block& block) {
  if (position_ == 0) return;
  const int before = block.instructions[position_ - 1], at = block.instructions[position_];
  int following = before + 1;
  while (following < at && code_.at(following).op == Op::Nop) ++following;
  if (following == at) return;
  FlowNode& node = graph_.at(node_);
  if (!node.has_no_statements() || !node.clause_name.empty()) return;
  const bool same = std::all_of(stack_.begin(), stack_.end(), [&](const Value* value) {
    return std::find(node.entry.begin(), node.entry.end(), value) != node.entry.end();
  });
  if (same) node.place = at;
}

void Evaluator::run_entry_block(int index) {
  const Block& block = blocks_.at(index);
  const Region& region = regions_.at(block.entered_region);
  FlowNode& node = graph_.at(node_);
  node.region = block.entered_region;
  if (region.depth > static_cast<int>(stack_.size()))
    return fail("a handler that needs more values than there are");
  Stack below(stack_.begin(), stack_.begin() + region.depth);
  if (region.kind == RegionKind::kWith) {
    // The body finds [exit, entered]; where a swallowed exception leads, both are gone.
    const size_t depth = static_cast<size_t>(region.depth);
    if (depth == 0 || below.back()->kind != ValueKind::kExit)
      return fail("a with statement without a manager");
    below.back()->place = block.entered_region;
    if (stack_.size() > depth && stack_[depth]->kind == ValueKind::kEntered)
      stack_[depth]->place = block.entered_region;
    graph_.withs[block.entered_region].context_expr = below.back()->expr;
    graph_.withs[block.entered_region].is_async = below.back()->in_place;
    finish(End::kWith, block.first, block.second);
    below.pop_back();
  } else {
    finish(End::kTry, block.first, block.second);
    if (region.lasti) below.push_back(make_value(ValueKind::kLasti));
    Value* exception = make_value(ValueKind::kException);
    exception->place = block.entered_region;
    below.push_back(exception);
  }
  graph_.at(node_).no.stack = std::move(below);
}

// Ends the node under way; both edges leave with the current stack, which the caller may change afterwards.
void Evaluator::finish(End end, int yes, int no) {
  FlowNode& node = graph_.at(node_);
  kept_values_ += 2 * stack_.size();
  if (kept_values_ > kMostKeptValues) fail("too many values are on the stack between the blocks of the code");
  node.end = end;
  node.yes = {yes, stack_, false};
  node.no = {no, stack_, false};
  connect(yes, false);
  connect(no, true);
  ended_ = true;
}

void Evaluator::connect(int to, bool no_edge) {
  if (to >= 0) graph_.at(to).in.emplace_back(node_, no_edge);
}

// Control goes on in a new node: what the old one was inside of has ended.
int Evaluator::split_node(const LiftedInstruction& at, int region) {
  const int fresh = graph_.size();
  graph_.nodes.emplace_back();
  graph_.at(node_).line = at.line;
  finish(End::kGoto, fresh);
  ended_ = false;
  node_ = fresh;
  FlowNode& node = graph_.at(fresh);
  node.entry = stack_;
  node.place = block_->instructions[position_];
  node.sequence = next_sequence_++;
  node.line = at.line;
  node.context = context_for(stack_, region);
  return fresh;
}

const Context* Evaluator::intern(Context::Kind kind, int id, const Context* parent) {
  const Context*& known = contexts_[{kind, id, parent}];
  if (!known) {
    result_.contexts.push_back(
        {.kind = kind, .id = id, .parent = parent, .level = parent ? parent->level + 1 : 0});
    known = &result_.contexts.back();
  }
  return known;
}

// Marks on the stack and regions around the code, outermost first.
const Context* Evaluator::context_for(const Stack& stack, int region) {
  std::vector<int> around;
  for (int at = region; at >= 0; at = regions_.at(at).parent) around.push_back(at);
  std::reverse(around.begin(), around.end());
  const Context* context = intern(Context::Kind::kCode, 0, nullptr);
  size_t next = 0;
  for (int slot = 0; slot <= static_cast<int>(stack.size()); ++slot) {
    while (next < around.size() &&
           (regions_.at(around[next]).depth <= slot || slot == static_cast<int>(stack.size())))
      context = intern(Context::Kind::kRegion, around[next++], context);
    if (slot == static_cast<int>(stack.size())) break;
    const Value* value = stack[static_cast<size_t>(slot)];
    if (value->kind == ValueKind::kIterator) context = intern(Context::Kind::kFor, value->place, context);
    if (value->kind == ValueKind::kPrevious) context = intern(Context::Kind::kHandler, value->place, context);
  }
  return context;
}

// ---- values

Value* Evaluator::make_value(ValueKind kind, Expression* expr) {
  Value value;
  value.kind = kind;
  value.expr = expr;
  value.order = next_order_++;
  result_.values.push_back(std::move(value));
  return &result_.values.back();
}

Value* Evaluator::push(ValueKind kind, Expression* expr) {
  Value* value = make_value(kind, expr);
  stack_.push_back(value);
  return value;
}

Value* Evaluator::pop() {
  if (stack_.empty()) {
    fail("the stack is empty");
    return make_value(ValueKind::kNothing);
  }
  Value* value = stack_.back();
  stack_.pop_back();
  return value;
}

Value* Evaluator::peek(int depth) {
  if (depth < 1 || depth > static_cast<int>(stack_.size())) {
    fail("the stack is too small");
    return make_value(ValueKind::kNothing);
  }
  return stack_[stack_.size() - static_cast<size_t>(depth)];
}

Expression* Evaluator::as_expression(Value* value) {
  if (value->kind == ValueKind::kFunction && value->function) {
    Result<Expression*> lambda = make_lambda(builder_, scope_, *value->function);
    if (!lambda.ok()) {
      if (!failed()) error_ = lambda.error().message;
      return name_expr("_");
    }
    value->kind = ValueKind::kExpression;
    value->expr = *lambda;
  }
  if (value->kind == ValueKind::kDefinition || value->kind == ValueKind::kTypeParameter) {
    value->expr = name_expr("_");  // stands for it in a display
    placeholders_[value->expr] = value;
    return value->expr;
  }
  if (value->kind == ValueKind::kPart && value->unpacking->targets.size() == 1 &&
      value->unpacking->star < 0) {  // `*args: *Ts`: the annotation is unpacked
    value->kind = ValueKind::kExpression;
    value->expr = make<Starred>(as_expression(value->unpacking->source));
  }
  if ((value->kind != ValueKind::kExpression && value->kind != ValueKind::kIterable &&
       value->kind != ValueKind::kCell) ||
      !value->expr) {
    fail(fmt::format("a value of kind {} where an expression belongs", static_cast<int>(value->kind)));
    return name_expr("_");
  }
  for (Expression* target : value->targets) {  // stored to and used: (target := value)
    if (target->kind != ExpressionKind::Name)
      fail("an assignment inside an expression to something other than a name");
    value->expr = make<NamedExpr>(target, value->expr);
  }
  value->targets.clear();
  value->used = true;
  return value->expr;
}

Expression* Evaluator::operand() { return as_expression(pop()); }

Expressions Evaluator::operands(int count) {
  Expressions result(static_cast<size_t>(std::max(count, 0)));
  if (count > static_cast<int>(stack_.size())) {
    fail("the stack is too small");
    result.clear();
    return result;
  }
  for (size_t i = result.size(); i > 0; --i) result[i - 1] = operand();
  return result;
}

bool Evaluator::on_stack(const Value* value) const {
  return std::find(stack_.begin(), stack_.end(), value) != stack_.end();
}

// By its name: a free variable and the comprehension's may stand beside each other.
bool Evaluator::is_hidden(int variable) const {
  const auto& names = scope_.view().local_names;
  const auto name = [&](int index) -> const std::string& { return names[static_cast<size_t>(index)]; };
  if (variable < 0 || static_cast<size_t>(variable) >= names.size()) return false;
  return std::any_of(stack_.begin(), stack_.end(), [&](const Value* value) {
    return value->kind == ValueKind::kSaved && value->place >= 0 &&
           static_cast<size_t>(value->place) < names.size() && name(value->place) == name(variable);
  });
}

void Evaluator::note_use(std::vector<bool>& uses, int variable) {
  if (variable < 0 || static_cast<size_t>(variable) >= uses.size() || is_hidden(variable)) return;
  uses[static_cast<size_t>(variable)] = true;
}

size_t Evaluator::base() const {
  for (size_t i = stack_.size(); i > 0; --i)
    if (stack_[i - 1]->kind >= ValueKind::kIterator || stack_[i - 1]->kind == ValueKind::kException) return i;
  return 0;
}

// No value of a statement is left: only variables that an inlined comprehension hides, which are stored back last.
bool Evaluator::at_base() const {
  for (size_t i = base(); i < stack_.size(); ++i)
    if (stack_[i]->kind != ValueKind::kSaved) return false;
  return true;
}

const suture::Constant* Evaluator::constant_of(const Expression* expr) const {
  const syntax::Constant* constant = as<syntax::Constant>(expr);
  return constant ? &constant->value : nullptr;
}

Expression* Evaluator::make_constant(suture::Constant constant) {
  return make<syntax::Constant>(std::move(constant));
}

std::string Evaluator::local_name(int index) {
  const auto& names = scope_.view().local_names;
  if (index >= 0 && index < static_cast<int>(names.size()))
    return unmangled(scope_, names[static_cast<size_t>(index)]);
  fail("a local variable that does not exist");
  return "_";
}

std::string Evaluator::name(int index) {
  const auto& names = scope_.view().names;
  if (index >= 0 && index < static_cast<int>(names.size()))
    return unmangled(scope_, names[static_cast<size_t>(index)]);
  fail("a name that does not exist");
  return "_";
}

void Evaluator::emit(Statement* statement) { graph_.at(node_).statements.push_back(statement); }

// ---- instructions

void Evaluator::execute(const LiftedInstruction& it) {
  const bool known = execute_stack(it) || execute_load(it) || execute_operator(it) || execute_attribute(it) ||
                     execute_store(it) || execute_delete(it) || execute_display(it) || execute_growth(it) ||
                     execute_text(it) || execute_call(it) || execute_definition(it) || execute_import(it) ||
                     execute_control(it) || execute_exception(it);
  if (!known) fail(fmt::format("{} in a place where the compiler emits none", op_name(it.op)));
}

bool Evaluator::execute_stack(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::Nop:
    case Op::Jump: return true;
    case Op::PopTop: drop(pop()); return true;
    case Op::PushNull: push(ValueKind::kNull); return true;
    case Op::Copy: stack_.push_back(peek(it.arg)); return true;
    case Op::Swap:
      if (it.arg < 1 || it.arg > static_cast<int>(stack_.size()))
        fail("the stack is too small");
      else
        std::swap(stack_.back(), stack_[stack_.size() - static_cast<size_t>(it.arg)]);
      return true;
    default: return false;
  }
}

}  // namespace suture::toolbox
