// Handlers: operators, building and taking apart containers, string formatting.
#include <fmt/format.h>

#include "capture/symbolic_interpreter.h"

namespace suture {

Flow SymbolicInterpreter::binary_operator(const Instruction& instruction) {
  ValueRef rhs = pop();
  ValueRef lhs = pop();
  return push_outcome(binary_op(state_, WrittenOperator::of_bytecode(instruction.arg), lhs, rhs));
}

Flow SymbolicInterpreter::unary_positive(const Instruction&) {
  return push_outcome(unary_op(state_, '+', pop()));
}
Flow SymbolicInterpreter::unary_negative(const Instruction&) {
  return push_outcome(unary_op(state_, '-', pop()));
}
Flow SymbolicInterpreter::unary_invert(const Instruction&) {
  return push_outcome(unary_op(state_, '~', pop()));
}
Flow SymbolicInterpreter::unary_not(const Instruction&) { return push_outcome(logical_not(state_, pop())); }

Flow SymbolicInterpreter::compare_operator(const Instruction& instruction) {
  ValueRef rhs = pop();
  ValueRef lhs = pop();
  return push_outcome(
      compare_op(state_, kComparisons[static_cast<size_t>(instruction.arg)].symbol, lhs, rhs));
}

Flow SymbolicInterpreter::is_operator(const Instruction& instruction) {
  ValueRef rhs = pop();
  ValueRef lhs = pop();
  SUTURE_CAPTURE(same, is_same(state_, lhs, rhs));
  push(state_.boolean(same != (instruction.arg == 1)));
  return Flow();
}

Flow SymbolicInterpreter::contains_operator(const Instruction& instruction) {
  ValueRef container = pop();
  ValueRef item = pop();
  if (auto* view = as_dict_view(container); view && view->part == DictPart::kKeys) container = view->dict;
  SUTURE_CAPTURE(found, contains(state_, container, item));
  push(state_.boolean(found != (instruction.arg == 1)));
  return Flow();
}

// --- building ----------------------------------------------------------------------------------------------
Flow SymbolicInterpreter::build_tuple(const Instruction& instruction) {
  push(std::make_shared<SequenceValue>(ValueKind::kTuple, pop_many(static_cast<size_t>(instruction.arg))));
  return Flow();
}

Flow SymbolicInterpreter::build_list(const Instruction& instruction) {
  push(std::make_shared<SequenceValue>(ValueKind::kList, pop_many(static_cast<size_t>(instruction.arg))));
  return Flow();
}

Flow SymbolicInterpreter::build_set(const Instruction& instruction) {
  ValueRef set = std::make_shared<SequenceValue>(ValueKind::kSet, std::vector<ValueRef>());
  for (ValueRef& item : pop_many(static_cast<size_t>(instruction.arg)))
    SUTURE_CAPTURE_VOID(call_builtin_method(state_, set, "add", {{std::move(item)}, {}}));
  push(std::move(set));
  return Flow();
}

Flow SymbolicInterpreter::build_map(const Instruction& instruction) {
  std::vector<ValueRef> items = pop_many(2 * static_cast<size_t>(instruction.arg));
  ValueRef dict = std::make_shared<DictValue>();
  for (size_t i = 0; i < items.size(); i += 2)
    SUTURE_CAPTURE_VOID(set_item(state_, dict, items[i], items[i + 1]));
  push(std::move(dict));
  return Flow();
}

Flow SymbolicInterpreter::build_const_key_map(const Instruction& instruction) {
  ValueRef keys = pop();
  std::vector<ValueRef> values = pop_many(static_cast<size_t>(instruction.arg));
  ValueRef dict = std::make_shared<DictValue>();
  for (size_t i = 0; i < values.size(); ++i)
    SUTURE_CAPTURE_VOID(set_item(state_, dict, as_tuple(keys)->items[i], values[i]));
  push(std::move(dict));
  return Flow();
}

Flow SymbolicInterpreter::build_slice(const Instruction& instruction) {
  ValueRef step = instruction.arg == 3 ? pop() : state_.none();
  ValueRef stop = pop();
  ValueRef start = pop();
  push(std::make_shared<SliceValue>(std::move(start), std::move(stop), std::move(step)));
  return Flow();
}

Flow SymbolicInterpreter::build_string(const Instruction& instruction) {
  PyRef text = PyRef::steal(PyUnicode_New(0, 0));
  for (const ValueRef& part : pop_many(static_cast<size_t>(instruction.arg))) {
    auto* constant = as_constant(part);
    if (!constant || !PyUnicode_Check(constant->object.get())) return state_.unknown_break(part);
    if (text) text = PyRef::steal(PyUnicode_Concat(text.get(), constant->object.get()));
  }
  if (!text) return Error::python("capture");
  push(state_.constant(std::move(text)));
  return Flow();
}

Flow SymbolicInterpreter::format_value_handler(const Instruction& instruction) {
  ValueRef spec = instruction.arg & 4 ? pop() : nullptr;
  ValueRef value = pop();
  return push_outcome(format_value(state_, value, instruction.arg & 3, spec));
}

Flow SymbolicInterpreter::list_append(const Instruction& instruction) {
  ValueRef item = pop();
  SUTURE_CAPTURE_VOID(call_builtin_method(state_, peek(instruction.arg), "append", {{std::move(item)}, {}}));
  return Flow();
}

Flow SymbolicInterpreter::list_extend_handler(const Instruction& instruction) {
  ValueRef items = pop();
  SUTURE_CAPTURE_VOID(list_extend(state_, peek(instruction.arg), items));
  return Flow();
}

Flow SymbolicInterpreter::list_to_tuple(const Instruction&) {
  ValueRef list = pop();
  push(std::make_shared<SequenceValue>(ValueKind::kTuple, as_list(list)->items));
  return Flow();
}

Flow SymbolicInterpreter::set_add(const Instruction& instruction) {
  ValueRef item = pop();
  SUTURE_CAPTURE_VOID(call_builtin_method(state_, peek(instruction.arg), "add", {{std::move(item)}, {}}));
  return Flow();
}

Flow SymbolicInterpreter::set_update(const Instruction& instruction) {
  ValueRef iterable = pop();
  SUTURE_CAPTURE(items, all_items(state_, iterable));
  for (ValueRef& item : items)
    SUTURE_CAPTURE_VOID(call_builtin_method(state_, peek(instruction.arg), "add", {{std::move(item)}, {}}));
  return Flow();
}

Flow SymbolicInterpreter::map_add(const Instruction& instruction) {
  ValueRef value = pop();
  ValueRef key = pop();
  SUTURE_CAPTURE_VOID(set_item(state_, peek(instruction.arg), key, value));
  return Flow();
}

Flow SymbolicInterpreter::dict_merge_handler(const Instruction& instruction) {
  ValueRef other = pop();
  SUTURE_CAPTURE_VOID(dict_merge(state_, peek(instruction.arg), other, true));
  return Flow();
}

Flow SymbolicInterpreter::dict_update_handler(const Instruction& instruction) {
  ValueRef other = pop();
  SUTURE_CAPTURE_VOID(dict_merge(state_, peek(instruction.arg), other, false));
  return Flow();
}

// --- taking apart ------------------------------------------------------------------------------------------
Flow SymbolicInterpreter::unpack_sequence(const Instruction& instruction) {
  ValueRef sequence = pop();
  SUTURE_CAPTURE(items, all_items(state_, sequence));
  if (static_cast<int>(items.size()) != instruction.arg) {
    return state_.make_break(BreakReason::kWouldRaise, {fmt::format("{} values are unpacked into {} names",
                                                                    items.size(), instruction.arg)});
  }
  for (auto item = items.rbegin(); item != items.rend(); ++item) push(std::move(*item));
  return Flow();
}

Flow SymbolicInterpreter::unpack_ex(const Instruction& instruction) {
  const size_t before = static_cast<size_t>(instruction.arg & 255),
               after = static_cast<size_t>(instruction.arg >> 8);
  ValueRef sequence = pop();
  SUTURE_CAPTURE(items, all_items(state_, sequence));
  if (items.size() < before + after)
    return state_.make_break(BreakReason::kWouldRaise,
                             {fmt::format("{} values are too few to unpack", items.size())});
  for (size_t i = 0; i < after; ++i) push(items[items.size() - 1 - i]);
  const auto middle = items.begin() + static_cast<long>(before);
  push(std::make_shared<SequenceValue>(
      ValueKind::kList, std::vector<ValueRef>(middle, items.end() - static_cast<long>(after))));
  for (size_t i = before; i > 0; --i) push(items[i - 1]);
  return Flow();
}

Flow SymbolicInterpreter::get_len(const Instruction&) {
  SUTURE_CAPTURE(length, length_of(state_, peek(1)));
  push(state_.python_int(length));
  return Flow();
}

// Only values whose type says it all; others are left to Python.
Flow SymbolicInterpreter::match_sequence(const Instruction&) {
  const ValueRef& subject = peek(1);
  if (subject->kind == ValueKind::kUnknown || subject->kind == ValueKind::kInstance)
    return state_.unknown_break(subject);
  push(state_.boolean(as_tuple_or_list(subject) || as_range(subject)));
  return Flow();
}

Flow SymbolicInterpreter::match_mapping(const Instruction&) {
  const ValueRef& subject = peek(1);
  if (subject->kind == ValueKind::kUnknown || subject->kind == ValueKind::kInstance)
    return state_.unknown_break(subject);
  push(state_.boolean(as_dict(subject) != nullptr));
  return Flow();
}

}  // namespace suture
