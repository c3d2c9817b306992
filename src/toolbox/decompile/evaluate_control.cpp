// What ends nodes: branches, loops, returns, raises; and handlers of exceptions.
#include <fmt/format.h>

#include "toolbox/decompile/evaluate.h"

namespace suture::toolbox {

using namespace syntax;

bool Evaluator::execute_control(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::JumpIf:
    case Op::JumpIfOrPop: branch(it); return true;
    case Op::GetIter:
    case Op::GetAiter: push(ValueKind::kIterable, operand()); return true;
    case Op::ForIter:
    case Op::AsyncForIter: {
      Value* iterable = pop();
      FlowNode& node = graph_.at(node_);
      node.iter = as_expression(iterable);
      node.is_async = it.op == Op::AsyncForIter;
      node.line = it.line;
      finish(End::kFor, block_->first, block_->second);
      Value* iterator = make_value(ValueKind::kIterator);
      Value* item = make_value(ValueKind::kItem);
      iterator->place = item->place = node_;
      graph_.at(node_).yes.stack.push_back(iterator);
      graph_.at(node_).yes.stack.push_back(item);
      return true;
    }
    case Op::Await: {
      Value* value = peek(1);
      if (value->kind == ValueKind::kEntered || value->kind == ValueKind::kNothing) return true;
      if (value->kind == ValueKind::kExpression && value->in_place && !as<BinOp>(value->expr)) {
        value->in_place = false;  // an asynchronous comprehension: the compiler awaits it
        return true;
      }
      push_expr(make<syntax::Await>(operand()));
      return true;
    }
    case Op::YieldFrom: push_expr(make<syntax::YieldFrom>(operand())); return true;
    case Op::Yield: {
      Expression* value = operand();
      const suture::Constant* constant = constant_of(value);
      const bool none = constant && constant->is(suture::Constant::Kind::kNone);
      push_expr(make<syntax::Yield>(none ? nullptr : value));
      return true;
    }
    case Op::AsyncGenWrap: return true;
    case Op::Return: {
      Value* value = pop();
      if (scope_.kind == CodeKind::kTypeParameters) {
        result_.returned = value;
        finish(End::kReturn, -1);
        graph_.at(node_).test = make_value(ValueKind::kExpression, name_expr("_"));
        return true;
      }
      as_expression(value);
      FlowNode& node = graph_.at(node_);
      node.line = it.line;
      node.implicit_return = is_implicit_return(value);
      finish(End::kReturn, -1);
      graph_.at(node_).test = value;
      return true;
    }
    case Op::Raise: {
      const Expressions parts = operands(it.arg);
      emit(make<syntax::Raise>(!parts.empty() ? parts[0] : nullptr, parts.size() > 1 ? parts[1] : nullptr));
      finish(End::kRaise, -1);
      return true;
    }
    case Op::Stop:
      // A `return` whose value is computed before a finally body that never ends.
      if (stack_.size() > base() && stack_.back()->kind == ValueKind::kExpression)
        emit(make<syntax::Return>(operand()));
      finish(End::kStop, -1);
      return true;
    case Op::MatchCase: match_case(cases_[static_cast<size_t>(it.arg)]); return true;
    default: return false;
  }
}

// The compiler ends every function with `return None`. It has no place in the source: it takes the one of the instruction before.
bool Evaluator::is_implicit_return(const Value* value) const {
  const suture::Constant* constant = constant_of(value->expr);
  if (!constant || !constant->is(suture::Constant::Kind::kNone) || position_ == 0)
    return value->kind == ValueKind::kCell;  // the end of a class body
  if (scope_.kind == CodeKind::kModule || scope_.kind == CodeKind::kClass) return true;
  const LiftedInstruction& load = code_.at(block_->instructions[position_ - 1]);
  if (load.op != Op::LoadConst) return false;
  if (load.column < 0) return true;
  if (position_ >= 2) return load.same_position(code_.at(block_->instructions[position_ - 2]));
  for (const auto& [from, no_edge] : graph_.at(node_).in)
    if (last_of_[static_cast<size_t>(from)] >= 0 &&
        load.same_position(code_.at(last_of_[static_cast<size_t>(from)])))
      return true;
  return false;
}

void Evaluator::match_case(const MatchedCase& matched) {
  Value* subject = peek(1);
  as_expression(subject);
  if (!matched.copied) pop();
  for (const auto& [op, arg] : matched.stores) {
    note_store(op, arg);
    if (op == Op::StoreFast || op == Op::StoreDeref) note_use(result_.bound, arg);
  }
  finish(End::kCase, block_->first, block_->second);
  graph_.at(node_).test = subject;
  graph_.at(node_).pattern = matched.pattern;
  graph_.at(node_).guarded_by_true = matched.guarded_by_true;
}

void Evaluator::note_store(Op op, int arg) {
  if (op == Op::StoreGlobal || op == Op::DeleteGlobal) result_.globals.insert(name(arg));
  if (op != Op::StoreDeref && op != Op::DeleteDeref) return;
  const auto& kinds = scope_.view().local_kinds;
  if (arg >= 0 && arg < static_cast<int>(kinds.size()) && (kinds[static_cast<size_t>(arg)] & kLocalFree))
    result_.nonlocals.insert(local_name(arg));
}

// A conditional jump backwards is spelled since 3.12 as the opposite jump around a jump that has no place of its own.
bool Evaluator::inverted_jump(const LiftedInstruction& it) const {
  if (!code_.known_version_at_least(12) || it.next < 0) return false;
  const LiftedInstruction& next = code_.at(it.next);
  return next.op == Op::Jump && next.same_position(it);
}

void Evaluator::branch(const LiftedInstruction& it) {
  Value* value = pop();
  const auto kind = static_cast<JumpTest>(it.flag);
  graph_.at(node_).line = it.line;
  if (value->kind == ValueKind::kTypeTest) {
    if (kind != JumpTest::kFalse) return fail("an except clause that branches the other way");
    finish(End::kTypeTest, block_->first, block_->second);
    graph_.at(node_).test = value;
    // A clause of `except*` gets the part of the exception that it matches.
    if (value->in_place) graph_.at(node_).yes.stack.push_back(peek(1));
    return;
  }
  Expression* test = as_expression(value);
  if (failed()) return;
  bool jumps_when_true = kind == JumpTest::kTrue;
  Value* decided = value;
  if (kind == JumpTest::kNone || kind == JumpTest::kNotNone) {
    Expression* none = make_constant(suture::Constant::none());
    decided = make_value(
        ValueKind::kExpression,
        make<syntax::Compare>(test, std::vector<CompareOperator>{CompareOperator::Is}, Expressions{none}));
    jumps_when_true = kind == JumpTest::kNone;
  }
  finish(End::kBranch, jumps_when_true ? block_->second : block_->first,
         jumps_when_true ? block_->first : block_->second);
  FlowNode& node = graph_.at(node_);
  node.test = decided;
  (jumps_when_true != inverted_jump(it) ? node.no : node.yes).falls = true;
  // The way of the jump keeps the value; the other one drops it.
  if (it.op == Op::JumpIfOrPop) (jumps_when_true ? node.yes : node.no).stack.push_back(value);
}

bool Evaluator::execute_exception(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::PushExcInfo: {
      Value* exception = pop();
      if (exception->kind != ValueKind::kException) {
        fail("a handler without an exception");
        return true;
      }
      Value* previous = push(ValueKind::kPrevious);
      previous->place = exception->place;
      stack_.push_back(exception);
      graph_.at(node_).context = context_for(stack_, block_->region);
      return true;
    }
    case Op::CheckExcMatch:
    case Op::CheckEgMatch: {
      Expression* type = operand();
      push(ValueKind::kTypeTest, type)->in_place = it.op == Op::CheckEgMatch;
      return true;
    }
    case Op::PrepReraiseStar:  // what the clauses of `except*` raised, and the exception
      pop();
      pop();
      push(ValueKind::kNothing);
      return true;
    case Op::PopExcept: leave_handler(); return true;
    case Op::Reraise: finish(End::kReraise, -1); return true;
    case Op::BeforeWith:
    case Op::BeforeAsyncWith: {
      Expression* manager = operand();
      push(ValueKind::kExit, manager)->in_place = it.op == Op::BeforeAsyncWith;
      push(ValueKind::kEntered);
      return true;
    }
    default: return false;
  }
}

// POP_EXCEPT, and `name = None; del name` when the clause has a name.
void Evaluator::leave_handler() {
  Value* previous = pop();
  if (previous->kind != ValueKind::kPrevious) return fail("the end of a handler outside of it");
  if (!previous->name.empty()) {
    const auto& list = block_->instructions;
    if (position_ + 3 >= list.size() || code_.at(list[position_ + 1]).op != Op::LoadConst)
      return fail("a handler that does not clear its name");
    position_ += 3;
  }
  split_node(*current_, block_->region);
}

}  // namespace suture::toolbox
