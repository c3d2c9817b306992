// Instructions of a dispatch loop: values, operators, displays, text, stores.
#include <algorithm>

#include <fmt/format.h>

#include "bytecode/compiler_limits.h"
#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/expressions.h"
#include "toolbox/decompile/scope.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

bool Machine::execute(const LiftedInstruction& it) {
  return execute_stack(it) || execute_load(it) || execute_operator(it) || execute_display(it) ||
         execute_text(it) || execute_store(it) || execute_call(it) || execute_definition(it) ||
         execute_exception(it);
}

// ---- the stack

void Machine::push(Expression* expr, std::set<int> uses, bool waits) {
  slots_.push_back({.kind = SlotKind::kValue, .expr = expr, .waits = waits, .uses = std::move(uses)});
}

void Machine::push_kind(SlotKind kind) {
  slots_.push_back({.kind = kind, .id = kind == SlotKind::kNull ? node_ : -1});
}

Slot Machine::pop() {
  if (slots_.empty()) {
    fail("the stack is empty");
    return {.kind = SlotKind::kNothing};
  }
  Slot slot = std::move(slots_.back());
  slots_.pop_back();
  return slot;
}

Slot Machine::operand() {
  Slot slot = pop();
  if (slot.kind == SlotKind::kDefinition && is_class_body()) {
    auto* stands_for = make<Name>(".class_body");
    class_bodies_[stands_for] = slot;
    slot = {.expr = stands_for, .waits = true, .uses = slot.uses};
  }
  if (slot.kind == SlotKind::kDefinition) name_definition(slot);
  // iter() outside of a loop: the name may mean something else in the program, which the check then notices.
  if (slot.kind == SlotKind::kIterable) slot.expr = make<Call>(make<Name>("iter"), Expressions{slot.expr});
  const bool value =
      slot.kind == SlotKind::kValue || slot.kind == SlotKind::kIterable || slot.kind == SlotKind::kEntered;
  if (!value || !slot.expr || slot.conversion >= 0) {
    fail("a value that no expression gives");
    slot.expr = make<Name>("_");
  }
  return slot;
}

// Is what has been taken from the stack the body of a class whose bases are in a display?
bool Machine::is_class_body() const {
  if (slots_.empty()) return false;
  const SlotKind top = slots_.back().kind;
  const bool null_between = top == SlotKind::kNull && slots_.size() > 1;
  return top == SlotKind::kBuildClass ||
         (null_between && slots_[slots_.size() - 2].kind == SlotKind::kBuildClass);
}

std::vector<Slot> Machine::operands(int count) {
  if (count < 0 || count > static_cast<int>(slots_.size())) {
    fail("the stack is too small");
    return {};
  }
  std::vector<Slot> all(static_cast<size_t>(count));
  for (size_t i = all.size(); i-- > 0;) all[i] = operand();
  return all;
}

Expressions Machine::expressions(const std::vector<Slot>& slots, std::set<int>& uses) {
  Expressions all;
  for (const Slot& slot : slots) {
    all.push_back(slot.expr);
    uses.insert(slot.uses.begin(), slot.uses.end());
  }
  return all;
}

// A slice has a text of its own only where it is used. `slice` may mean something else in the program: that is right, and not proved.
Expression* Machine::without_slices(Expression* expr) {
  const auto bound = [&](Expression* part) {
    return part ? part : make<syntax::Constant>(suture::Constant::none());
  };
  if (const auto* slice = as<Slice>(expr))
    return make<Call>(make<Name>("slice"),
                      Expressions{bound(slice->lower), bound(slice->upper), bound(slice->step)});
  const auto* tuple = as<Tuple>(expr);
  if (!tuple || std::ranges::none_of(tuple->elts, [](const Expression* one) { return as<Slice>(one); }))
    return expr;
  Expressions parts;
  for (Expression* each : tuple->elts) parts.push_back(without_slices(each));
  return make<Tuple>(std::move(parts));
}

// Directly behind an inlined comprehension a store would change the order in which the compiler restores its variables; one of two
// does not.
Statement* Machine::assign(int local, Slot& slot) {
  slot.expr = without_slices(slot.expr);
  Expressions targets = {slot_name(local)};
  if (std::exchange(slot.restores, 0) > 1) targets.push_back(slot_name(next_spare_++));
  return make<Assign>(std::move(targets), slot.expr);
}

// Evaluates the value at a depth now, into a local that nothing on the stack (or in `reserved`) refers to.
void Machine::spill(size_t depth, const std::set<int>& reserved) {
  Slot& slot = slots_[depth];
  if (!slot.waits || (slot.kind != SlotKind::kValue && slot.kind != SlotKind::kIterable)) return;
  int local = static_cast<int>(depth);
  bool free = !reserved.contains(local);
  for (size_t i = 0; i < slots_.size(); ++i) free = free && (i == depth || !slots_[i].uses.contains(local));
  if (!free) local = next_spare_++;
  out_->push_back(assign(local, slot));
  slot.expr = slot_name(local);
  slot.uses = {local};
  slot.waits = slot.display = false;
}

void Machine::spill_all(const std::set<int>& reserved) {
  for (size_t i = 0; i < slots_.size(); ++i) spill(i, reserved);
}

// Values that still wait were evaluated before the statement, whose own operands have been taken off the stack.
void Machine::emit(Statement* statement, const std::set<int>& uses) {
  spill_all(uses);
  out_->push_back(statement);
}

void Machine::drop(Slot value) {
  if (value.kind == SlotKind::kDefinition) name_definition(value);
  if (value.kind == SlotKind::kValue && value.waits) emit(make<syntax::Expr>(value.expr), value.uses);
}

bool Machine::execute_stack(const LiftedInstruction& it) {
  const auto depth = static_cast<int>(slots_.size());
  switch (it.op) {
    case Op::PopTop: drop(pop()); return true;
    case Op::PushNull: push_kind(SlotKind::kNull); return true;
    case Op::Copy: {
      if (it.arg < 1 || it.arg > depth) return fail("the stack is too small"), true;
      for (int i = 0; i <= depth - it.arg; ++i) spill(static_cast<size_t>(i), {});
      slots_.push_back(slots_[static_cast<size_t>(depth - it.arg)]);
      return true;
    }
    case Op::Swap:
      if (it.arg < 1 || it.arg > depth) return fail("the stack is too small"), true;
      if (!swaps_for_generic()) spill_all();
      std::swap(slots_.back(), slots_[static_cast<size_t>(depth - it.arg)]);
      return true;
    default: return false;
  }
}

// ---- names and constants

std::string Machine::local_name(int index) {
  const auto& names = code_.view.local_names;
  if (index >= 0 && index < static_cast<int>(names.size())) {
    used_.insert(names[static_cast<size_t>(index)]);
    return unmangled(class_name_, names[static_cast<size_t>(index)]);
  }
  fail("a local variable that does not exist");
  return "_";
}

std::string Machine::name(int index) {
  const auto& names = code_.view.names;
  if (index >= 0 && index < static_cast<int>(names.size()))
    return unmangled(class_name_, names[static_cast<size_t>(index)]);
  fail("a name that does not exist");
  return "_";
}

const suture::Constant* Machine::constant_of(const Expression* expr) const {
  const auto* constant = as<syntax::Constant>(expr);
  return constant ? &constant->value : nullptr;
}

bool Machine::execute_load(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::LoadConst: {
      const suture::Constant* constant = code_.constant(it.arg);
      if (!constant) return fail("a constant that does not exist"), true;
      push(make<syntax::Constant>(*constant), {}, false);
      return true;
    }
    case Op::LoadFast:
    case Op::LoadDeref: push(make<Name>(local_name(it.arg))); return true;
    case Op::LoadName: push(make<Name>(name(it.arg))); return true;
    case Op::LoadLocals: push_kind(SlotKind::kNamespace); return true;
    case Op::LoadFromDictOrDeref:
    case Op::LoadFromDictOrGlobals:
      if (pop().kind != SlotKind::kNamespace)
        fail("a variable that is looked for in something else than its class");
      push(make<Name>(it.op == Op::LoadFromDictOrDeref ? local_name(it.arg) : name(it.arg)));
      return true;
    case Op::LoadFastAndClear: inlined_comprehension(); return true;
    case Op::LoadClosure: push_kind(SlotKind::kCell); return true;
    case Op::LoadGlobal: {
      const bool null_first = !lifted_.known_version_at_least(13);
      if (it.flag && null_first) push_kind(SlotKind::kNull);
      if (hidden_globals_.contains(name(it.arg))) globals_.insert(name(it.arg));
      push(make<Name>(name(it.arg)));
      if (it.flag && !null_first) push_kind(SlotKind::kNull);
      return true;
    }
    case Op::LoadBuildClass: push_kind(SlotKind::kBuildClass); return true;
    case Op::LoadAssertionError: push_kind(SlotKind::kAssertion); return true;
    case Op::LoadAttr: {
      const Slot of = operand();
      push(make<Attribute>(of.expr, name(it.arg)), of.uses);
      if (it.flag) push_kind(SlotKind::kSelf);
      return true;
    }
    case Op::LoadSuperAttr: {
      std::set<int> uses;
      const Expressions parts = expressions(operands(3), uses);
      if (failed()) return true;
      Expressions args;
      if (it.flag & 2) args = {parts[1], parts[2]};
      push(make<Attribute>(make<Call>(parts[0], args), name(it.arg)), uses);
      if (it.flag & 1) push_kind(SlotKind::kSelf);
      return true;
    }
    default: return false;
  }
}

// ---- operators

bool Machine::execute_operator(const LiftedInstruction& it) {
  const auto unary = [&](UnaryOperator op) {
    const Slot of = operand();
    push(make<UnaryOp>(op, of.expr), of.uses);
    return true;
  };
  std::set<int> uses;
  const auto binary = [&](auto combine) {
    const Expressions parts = expressions(operands(2), uses);
    if (!failed()) push(combine(parts[0], parts[1]), uses);
    return true;
  };
  const auto compare = [&](CompareOperator op) {
    return binary(
        [&](Expression* a, Expression* b) { return make<Compare>(a, std::vector{op}, Expressions{b}); });
  };
  const auto bound = [&](Expression* part) {
    const suture::Constant* constant = constant_of(part);
    return constant && constant->is(suture::Constant::Kind::kNone) ? nullptr : part;
  };
  switch (it.op) {
    case Op::UnaryPositive: return unary(UnaryOperator::UAdd);
    case Op::UnaryNegative: return unary(UnaryOperator::USub);
    case Op::UnaryNot: return unary(UnaryOperator::Not);
    case Op::ToBool:  // the optimizer makes it of two
      unary(UnaryOperator::Not);
      return unary(UnaryOperator::Not);
    case Op::UnaryInvert: return unary(UnaryOperator::Invert);
    case Op::MatchSequence:
    case Op::MatchMapping: return match_alone(it), true;
    case Op::Is: return compare(it.arg ? CompareOperator::IsNot : CompareOperator::Is);
    case Op::Contains: return compare(it.arg ? CompareOperator::NotIn : CompareOperator::In);
    case Op::Compare: {
      const auto op = compare_operator(it.arg);
      if (!op) fail(fmt::format("comparison {} does not exist", it.arg));
      return compare(op.value_or(CompareOperator::Eq));
    }
    case Op::Binary: {
      constexpr int kInPlace = 13;
      const auto op = binary_operator(it.arg % kInPlace);
      if (!op || it.arg >= 2 * kInPlace || it.arg < 0)
        return fail(fmt::format("operator {} does not exist", it.arg)), true;
      if (it.arg < kInPlace)
        return binary([&](Expression* a, Expression* b) {
          // The compiler would make an f-string of a format and a display.
          const suture::Constant* format = *op == Operator::Mod && as<Tuple>(b) ? constant_of(a) : nullptr;
          if (format && format->is(suture::Constant::Kind::kStr)) a = in_local(a, uses);
          return make<BinOp>(a, *op, b);
        });
      // `_s += value`: the left operand gets a local of its own.
      const Slot right = operand();
      const Slot left = operand();
      if (failed()) return true;
      spill_all(right.uses);
      const int local = next_spare_++;
      out_->push_back(make<Assign>(Expressions{slot_name(local)}, left.expr));
      out_->push_back(make<AugAssign>(slot_name(local), *op, right.expr));
      push(slot_name(local), {local}, false);
      return true;
    }
    case Op::LoadItem: return binary([&](Expression* a, Expression* b) { return make<Subscript>(a, b); });
    case Op::LoadSlice: {
      const Expressions parts = expressions(operands(3), uses);
      if (!failed()) push(make<Subscript>(parts[0], make<Slice>(bound(parts[1]), bound(parts[2]))), uses);
      return true;
    }
    case Op::BuildSlice: {
      const Expressions parts = expressions(operands(it.arg == 3 ? 3 : 2), uses);
      if (failed()) return true;
      push(make<Slice>(bound(parts[0]), bound(parts[1]), parts.size() == 3 ? parts[2] : nullptr), uses);
      return true;
    }
    default: return false;
  }
}

// ---- displays

Expressions Machine::elements_of(const Expression* expr) {
  if (const auto* tuple = as<Tuple>(expr)) return tuple->elts;
  const suture::Constant* constant = constant_of(expr);
  if (!constant || !constant->items) return fail("a tuple is expected"), Expressions{};
  Expressions all;
  for (const suture::Constant& item : *constant->items) all.push_back(make<syntax::Constant>(item));
  return all;
}

// The compiler would make one constant of a display of constants.
void Machine::keep_apart(Expressions& elements, int fewest, std::set<int>& uses) {
  const bool folds = static_cast<int>(elements.size()) >= fewest &&
                     std::ranges::all_of(elements, [&](const Expression* one) { return constant_of(one); });
  if (!folds) return;
  elements.front() = in_local(elements.front(), uses);
}

// A constant, where the compiler must not see that it is one.
Expression* Machine::in_local(Expression* constant, std::set<int>& uses) {
  const int local = next_spare_++;
  out_->push_back(make<Assign>(Expressions{slot_name(local)}, constant));
  uses.insert(local);
  return slot_name(local);
}

bool Machine::execute_display(const LiftedInstruction& it) {
  std::set<int> uses;
  const auto display = [&](Expression* expr) {
    push(expr, uses);
    slots_.back().display = true;
    return true;
  };
  switch (it.op) {
    case Op::BuildTuple: {
      const auto depth = static_cast<int>(slots_.size());
      if (it.arg > 0 && it.arg <= depth && slots_.back().kind == SlotKind::kCell) {
        slots_.resize(static_cast<size_t>(depth - it.arg));
        push_kind(SlotKind::kCell);
        return true;
      }
      if (depth > 0 && slots_.back().kind == SlotKind::kLate) return type_alias(), true;
      Expressions elements = expressions(operands(it.arg), uses);
      keep_apart(elements, 1, uses);
      return display(make<Tuple>(std::move(elements)));
    }
    case Op::BuildList:
    case Op::BuildSet: {
      Expressions elements = expressions(operands(it.arg), uses);
      keep_apart(elements, kFewestFoldedElements, uses);
      if (it.op == Op::BuildList) return display(make<List>(std::move(elements)));
      return display(make<syntax::Set>(std::move(elements)));
    }
    case Op::BuildMap: {
      const Expressions parts = expressions(operands(2 * it.arg), uses);
      auto* dict = make<Dict>();
      for (size_t i = 0; i + 1 < parts.size(); i += 2) {
        dict->keys.push_back(parts[i]);
        dict->values.push_back(parts[i + 1]);
      }
      return display(dict);
    }
    case Op::BuildConstKeyMap: {
      const Slot names = operand();
      Expressions values = expressions(operands(it.arg), uses);
      Expressions keys = elements_of(names.expr);
      if (keys.size() != values.size()) fail("a display with more keys than values");
      return display(make<Dict>(std::move(keys), std::move(values)));
    }
    case Op::ListToTuple: {
      const Slot list = operand();
      const auto* elements = as<List>(list.expr);
      if (!elements || !list.display) return fail("a tuple made of a list that is no display"), true;
      uses = list.uses;
      return display(make<Tuple>(elements->elts));
    }
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge: grow(it); return true;
    default: return false;
  }
}

// All elements of a display are constants, equal ones of a set only once.
bool Machine::is_folded_display(const Expression* display, const suture::Constant* constant) const {
  if (!constant || !constant->items || constant->items->empty()) return false;
  if (const auto* list = as<List>(display))
    return list->elts.empty() && constant->is(suture::Constant::Kind::kTuple) &&
           constant->items->size() >= kFewestFoldedElements;
  const auto* set = as<syntax::Set>(display);
  return set && set->elts.empty() && constant->is(suture::Constant::Kind::kFrozenset);
}

// Items come behind others or behind `**mapping`, named arguments behind the latter only; `{**{}}` and `f(**{})` begin with an empty
// display.
bool Machine::is_chunk(const Dict& dict, const Dict& more, bool of_call) const {
  const bool behind_mapping = !dict.keys.empty() && !dict.keys.back();
  if (more.keys.empty()) return false;
  return of_call ? behind_mapping && names_arguments(more)
                 : behind_mapping || dict.keys.size() >= kItemsPerChunk;
}

// Long and starred displays are built piece by piece, on top of the stack.
void Machine::grow(const LiftedInstruction& it) {
  std::set<int> uses;
  const std::vector<Slot> added_slots = operands(it.op == Op::MapAdd ? 2 : 1);
  const Expressions added = expressions(added_slots, uses);
  if (failed()) return;
  if (it.arg != 1 || slots_.empty() || !slots_.back().display)
    return fail("something is added to what is no display");
  Slot& slot = slots_.back();
  slot.uses.insert(uses.begin(), uses.end());
  const bool one = it.op == Op::ListAppend || it.op == Op::SetAdd;
  const suture::Constant* constant = constant_of(added[0]);
  Expressions elements;
  if (one) {
    elements = added;
  } else if (is_folded_display(slot.expr, constant)) {
    elements = elements_of(added[0]);
    while (elements.size() < kFewestFoldedElements) elements.push_back(elements.front());
  } else {
    elements = {make<Starred>(added[0])};
  }
  // In place: long displays are made of many single steps.
  if (auto* list = as<List>(slot.expr)) {
    list->elts.insert(list->elts.end(), elements.begin(), elements.end());
  } else if (auto* set = as<syntax::Set>(slot.expr)) {
    set->elts.insert(set->elts.end(), elements.begin(), elements.end());
  } else if (auto* dict = as<Dict>(slot.expr)) {
    const auto* more = as<Dict>(added[0]);
    if (it.op == Op::MapAdd) {
      dict->keys.push_back(added[0]);
      dict->values.push_back(added[1]);
    } else if (more && added_slots[0].display && is_chunk(*dict, *more, it.op == Op::DictMerge)) {
      dict->keys.insert(dict->keys.end(), more->keys.begin(), more->keys.end());
      dict->values.insert(dict->values.end(), more->values.begin(), more->values.end());
    } else {
      dict->keys.push_back(nullptr);
      dict->values.push_back(added[0]);
    }
  } else {
    fail("an element is added to a tuple");
  }
}

// ---- f-strings

bool Machine::execute_text(const LiftedInstruction& it) {
  constexpr int kConversions[] = {-1, 's', 'r', 'a'};
  const auto format = [&](int conversion, bool has_spec) {
    Slot spec;
    if (has_spec) spec = operand();
    const int pending = slots_.empty() ? -1 : std::exchange(slots_.back().conversion, -1);
    const Slot value = operand();
    if (has_spec && !as<JoinedStr>(spec.expr)) spec.expr = make<JoinedStr>(Expressions{spec.expr});
    std::set<int> uses = value.uses;
    uses.insert(spec.uses.begin(), spec.uses.end());
    auto* field =
        make<FormattedValue>(value.expr, std::max(conversion, pending), has_spec ? spec.expr : nullptr);
    push(make<JoinedStr>(Expressions{field}), uses);
    return true;
  };
  switch (it.op) {
    case Op::FormatValue: return format(kConversions[it.arg & 3], (it.arg & 4) != 0);
    case Op::FormatSimple: return format(-1, false);
    case Op::FormatWithSpec: return format(-1, true);
    case Op::ConvertValue:
      if (it.arg < 1 || it.arg > 3 || slots_.empty()) return fail("a conversion that does not exist"), true;
      slots_.back().conversion = kConversions[it.arg];
      return true;
    case Op::BuildString: {
      std::set<int> uses;
      Expressions values;
      for (Expression* part : expressions(operands(it.arg), uses)) {
        const auto* joined = as<JoinedStr>(part);
        if (joined) values.insert(values.end(), joined->values.begin(), joined->values.end());
        if (!joined) values.push_back(part);
      }
      push(make<JoinedStr>(std::move(values)), uses);
      return true;
    }
    default: return false;
  }
}

// ---- stores

void Machine::store(Expression* target, const std::set<int>& uses, Slot value) {
  if (value.kind == SlotKind::kDefinition) return store_definition(target, std::move(value));
  if (value.kind != SlotKind::kValue && value.kind != SlotKind::kEntered)
    return fail("a store of what no expression gives");
  std::set<int> all = uses;
  all.insert(value.uses.begin(), value.uses.end());
  emit(make<Assign>(Expressions{target}, value.expr), all);
}

bool Machine::is_free(int local) const {
  const auto& kinds = code_.view.local_kinds;
  return local >= 0 && local < static_cast<int>(kinds.size()) &&
         (kinds[static_cast<size_t>(local)] & kLocalFree) != 0;
}

std::string Machine::stored_name(const LiftedInstruction& it) {
  const bool by_name = it.op == Op::StoreGlobal || it.op == Op::StoreName;
  const std::string id = by_name ? name(it.arg) : local_name(it.arg);
  if (it.op == Op::StoreGlobal) globals_.insert(id);
  if (it.op == Op::StoreDeref && is_free(it.arg)) nonlocals_.insert(id);
  if (!by_name) stored_.insert(id);
  return id;
}

bool Machine::execute_store(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::StoreDeref:
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal: store(make<Name>(stored_name(it)), {}, pop()); return true;
    case Op::StoreAttr: {
      const Slot of = operand();
      store(make<Attribute>(of.expr, name(it.arg)), of.uses, pop());
      return true;
    }
    case Op::StoreItem: {
      std::set<int> uses;
      const Expressions parts = expressions(operands(2), uses);
      if (!failed()) store(make<Subscript>(parts[0], parts[1]), uses, pop());
      return true;
    }
    case Op::StoreSlice: {
      std::set<int> uses;
      const Expressions parts = expressions(operands(3), uses);
      if (!failed()) store(make<Subscript>(parts[0], make<Slice>(parts[1], parts[2])), uses, pop());
      return true;
    }
    case Op::DeleteDeref:
      if (is_free(it.arg)) nonlocals_.insert(local_name(it.arg));
      [[fallthrough]];
    case Op::DeleteFast:
      stored_.insert(local_name(it.arg));
      emit(make<Delete>(Expressions{make<Name>(local_name(it.arg))}));
      return true;
    case Op::DeleteName: emit(make<Delete>(Expressions{make<Name>(name(it.arg))})); return true;
    case Op::DeleteGlobal:
      globals_.insert(name(it.arg));
      emit(make<Delete>(Expressions{make<Name>(name(it.arg))}));
      return true;
    case Op::DeleteAttr: {
      const Slot of = operand();
      emit(make<Delete>(Expressions{make<Attribute>(of.expr, name(it.arg))}), of.uses);
      return true;
    }
    case Op::DeleteItem: {
      std::set<int> uses;
      const Expressions parts = expressions(operands(2), uses);
      if (!failed()) emit(make<Delete>(Expressions{make<Subscript>(parts[0], parts[1])}), uses);
      return true;
    }
    case Op::UnpackSequence: unpack(it.arg, -1); return true;
    case Op::UnpackEx: unpack(it.arg & 255, it.arg >> 8); return true;
    default: return false;
  }
}

// The first part ends on top of the stack. `after`: parts behind a starred one, or -1.
void Machine::unpack(int before, int after) {
  const Slot value = operand();
  if (failed()) return;
  spill_all(value.uses);
  const int count = before + (after < 0 ? 0 : after + 1);
  const int first = next_spare_;
  next_spare_ += count;
  Expressions targets;
  for (int i = 0; i < count; ++i) {
    Expression* target = slot_name(first + i);
    targets.push_back(after >= 0 && i == before ? make<Starred>(target) : target);
  }
  out_->push_back(make<Assign>(Expressions{make<Tuple>(targets)}, value.expr));
  for (int i = count; i-- > 0;) push(slot_name(first + i), {first + i}, false);
}

}  // namespace suture::toolbox::dispatch
