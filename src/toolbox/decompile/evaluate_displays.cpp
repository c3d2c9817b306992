// Displays of lists, tuples, sets and dicts, and text with fields. The compiler builds long and starred displays piece by piece.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/compiler_limits.h"
#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/string_literals.h"
#include "toolbox/verify/constant_tests.h"

namespace suture::toolbox {

using namespace syntax;

bool Evaluator::execute_display(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::BuildTuple: push_expr(make<Tuple>(unfolded(operands(it.arg), 1))); break;
    case Op::BuildList: push_expr(make<List>(unfolded(operands(it.arg), kFewestFoldedElements))); break;
    case Op::BuildSet: push_expr(make<Set>(unfolded(operands(it.arg), kFewestFoldedElements))); break;
    case Op::BuildMap: {
      const Expressions parts = operands(2 * it.arg);
      Expressions keys, values;
      for (size_t i = 0; i + 1 < parts.size(); i += 2) {
        keys.push_back(parts[i]);
        values.push_back(parts[i + 1]);
      }
      push_expr(make<Dict>(std::move(keys), std::move(values)));
      break;
    }
    case Op::BuildConstKeyMap: {
      Expression* names = operand();
      Expressions values = operands(it.arg);
      Expressions keys = elements_of(names);
      if (keys.size() != values.size()) fail("a display with more keys than values");
      push_expr(make<Dict>(std::move(keys), std::move(values)));
      break;
    }
    default: return false;
  }
  stack_.back()->display = true;
  return true;
}

bool Evaluator::execute_growth(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd: add_element(it); return true;
    case Op::ListExtend:
    case Op::SetUpdate: {
      Value* added = pop();
      extend_display(it.arg, added);
      return true;
    }
    case Op::DictUpdate: merge_dict(it.arg, false); return true;
    case Op::DictMerge: merge_dict(it.arg, true); return true;
    case Op::ListToTuple: {
      Value* list = pop();
      const List* display = as<List>(list->expr);
      if (!display || !list->display) {
        fail("a tuple made of something other than a list display");
        return true;
      }
      push_expr(make<Tuple>(display->elts));
      stack_.back()->display = true;
      return true;
    }
    default: return false;
  }
}

// A display of constants is one constant, unless one of them came from a condition that the compiler decided after it had
// folded displays: `(1 or 2, 3)`.
Expressions Evaluator::unfolded(Expressions elements, size_t fewest_folded) {
  const bool constants =
      elements.size() >= fewest_folded && std::ranges::all_of(elements, [&](const Expression* element) {
        const suture::Constant* constant = constant_of(element);
        return constant && !constant->is(suture::Constant::Kind::kPlaceholder);
      });
  const auto known = constants && !elements.empty() ? truth(*constant_of(elements.front())) : std::nullopt;
  if (known) {
    const Expressions twice = {elements.front(), elements.front()};
    elements.front() = make<BoolOp>(*known ? BoolOperator::Or : BoolOperator::And, twice);
  }
  return elements;
}

// Elements of a constant tuple or a tuple display.
Expressions Evaluator::elements_of(const Expression* expr) {
  if (const Tuple* tuple = as<Tuple>(expr)) return tuple->elts;
  Expressions result;
  const suture::Constant* constant = constant_of(expr);
  const bool known = constant && (constant->is(suture::Constant::Kind::kTuple) ||
                                  constant->is(suture::Constant::Kind::kFrozenset));
  if (!known) {
    fail("a tuple of constants is expected");
    return result;
  }
  for (const suture::Constant& item : *constant->items) result.push_back(make_constant(item));
  return result;
}

void Evaluator::extend_display(int depth, Value* added) {
  if (depth < 1 || depth > static_cast<int>(stack_.size())) return fail("the stack is too small");
  Value*& slot = stack_[stack_.size() - static_cast<size_t>(depth)];
  const List* list = as<List>(slot->expr);
  const Set* set = as<Set>(slot->expr);
  if ((!list && !set) || !slot->display) return fail("elements are added to something other than a display");
  Expressions elements = list ? list->elts : set->elts;
  const suture::Constant* constant = constant_of(added->expr);
  // Equal constants of a set are one when it is folded.
  const bool folded =
      constant && elements.empty() && constant->items && !constant->items->empty() &&
      (list ? constant->is(suture::Constant::Kind::kTuple) && constant->items->size() >= kFewestFoldedElements
            : constant->is(suture::Constant::Kind::kFrozenset));
  if (folded) {
    elements = elements_of(added->expr);
    while (elements.size() < kFewestFoldedElements) elements.push_back(elements.front());
  } else {
    elements.push_back(make<Starred>(as_expression(added)));
  }
  Value* grown =
      make_value(ValueKind::kExpression, list ? static_cast<Expression*>(make<List>(std::move(elements)))
                                              : static_cast<Expression*>(make<Set>(std::move(elements))));
  grown->display = true;
  slot = grown;
}

// Are all keys names that may stand in front of `=`?
bool Evaluator::names_arguments(const Dict& dict) const {
  return std::all_of(dict.keys.begin(), dict.keys.end(), [&](const Expression* key) {
    const suture::Constant* constant = constant_of(key);
    return constant && constant->is(suture::Constant::Kind::kStr) && is_identifier(constant->text);
  });
}

// `{**a, key: value}`, chunks of long displays, and the keyword arguments of a call.
void Evaluator::merge_dict(int depth, bool of_call) {
  Value* added = pop();
  if (depth < 1 || depth > static_cast<int>(stack_.size())) return fail("the stack is too small");
  Value*& slot = stack_[stack_.size() - static_cast<size_t>(depth)];
  const Dict* dict = as<Dict>(slot->expr);
  if (!dict || !slot->display) return fail("items are added to something other than a display");
  Expressions keys = dict->keys, values = dict->values;
  // Items come behind others or behind `**mapping`, named arguments behind the latter only; `{**{}}` and `f(**{})` begin with
  // an empty display.
  const Dict* more = added->display ? as<Dict>(added->expr) : nullptr;
  const bool behind_mapping = !keys.empty() && !keys.back();
  const bool chunk =
      more && !more->keys.empty() &&
      (of_call ? behind_mapping && names_arguments(*more) : behind_mapping || keys.size() >= kItemsPerChunk);
  if (chunk) {
    keys.insert(keys.end(), more->keys.begin(), more->keys.end());
    values.insert(values.end(), more->values.begin(), more->values.end());
  } else {
    keys.push_back(nullptr);
    values.push_back(as_expression(added));
  }
  Value* grown = make_value(ValueKind::kExpression, make<Dict>(std::move(keys), std::move(values)));
  grown->display = true;
  slot = grown;
}

// LIST_APPEND, SET_ADD, MAP_ADD: a long display grows on top of the stack; below an iterator, a comprehension does.
void Evaluator::add_element(const LiftedInstruction& it) {
  Expression* element = operand();
  Expression* key = it.op == Op::MapAdd ? operand() : nullptr;
  if (it.arg < 1 || it.arg > static_cast<int>(stack_.size())) return fail("the stack is too small");
  Value*& slot = stack_[stack_.size() - static_cast<size_t>(it.arg)];
  if (!slot->display) return fail("an element is added to something other than a display");
  if (it.arg > 1) {
    FlowNode& node = graph_.at(node_);
    if (node.element) return fail("a comprehension with two elements");
    slot->filled = true;
    node.filled = slot;
    node.element = element;
    node.element_key = key;
    return;
  }
  // In place: long displays are made of many single steps, and the bytecode changes the one object, too.
  if (auto* list = as<List>(slot->expr)) {
    list->elts.push_back(element);
  } else if (auto* set = as<Set>(slot->expr)) {
    set->elts.push_back(element);
  } else if (auto* dict = as<Dict>(slot->expr); dict && key) {
    dict->keys.push_back(key);
    dict->values.push_back(element);
  } else {
    fail("an element is added to another kind of display");
  }
}

bool Evaluator::execute_text(const LiftedInstruction& it) {
  static constexpr int kConversions[] = {-1, 's', 'r', 'a'};
  switch (it.op) {
    case Op::FormatValue: {
      Expression* spec = it.arg & 4 ? operand() : nullptr;
      format(operand(), kConversions[it.arg & 3], spec);
      return true;
    }
    case Op::ConvertValue:
      if (it.arg < 1 || it.arg > 3) {
        fail("a conversion that does not exist");
        return true;
      }
      push_expr(operand());
      stack_.back()->conversion = kConversions[it.arg];
      return true;
    case Op::FormatSimple:
    case Op::FormatWithSpec: {
      Expression* spec = it.op == Op::FormatWithSpec ? operand() : nullptr;
      Value* value = pop();
      format(as_expression(value), value->conversion, spec);
      return true;
    }
    case Op::BuildString: {
      Expressions values;
      for (Expression* part : operands(it.arg)) {
        if (const JoinedStr* joined = as<JoinedStr>(part))
          values.insert(values.end(), joined->values.begin(), joined->values.end());
        else
          values.push_back(part);
      }
      push_expr(make<JoinedStr>(std::move(values)));
      return true;
    }
    default: return false;
  }
}

void Evaluator::format(Expression* value, int conversion, Expression* spec) {
  if (spec && !as<JoinedStr>(spec)) spec = make<JoinedStr>(Expressions{spec});
  push_expr(make<JoinedStr>(Expressions{make<FormattedValue>(value, conversion, spec)}));
}

}  // namespace suture::toolbox
