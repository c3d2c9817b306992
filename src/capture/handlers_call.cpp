// Handlers: calls and the making of functions.
//
// CPython 3.11 calls with [NULL, callable, args] or [method, self, args] on the stack; KW_NAMES before
// PRECALL names the last arguments. Capture pushes the first form only, but comprehensions are called as
// [function, iterator].
#include <fmt/format.h>

#include "capture/symbolic_interpreter.h"
#include "cpython/objects.h"

namespace suture {

Flow SymbolicInterpreter::kw_names(const Instruction& instruction) {
  frame_.keyword_names = state_.literal(PyRef::borrow(constant_at(instruction.arg)));
  return Flow();
}

Flow SymbolicInterpreter::precall(const Instruction&) { return Flow(); }

namespace {

void move_keywords(CallArguments& args, const ValueRef& names) {
  auto* tuple = as_tuple(names);
  if (!tuple) return;
  const size_t first = args.positional.size() - tuple->items.size();
  for (size_t i = 0; i < tuple->items.size(); ++i) {
    PyView name = as_constant(tuple->items[i])->object.get();
    args.keyword.emplace_back(exact_text(name).value_or(short_repr(name)), args.positional[first + i]);
  }
  args.positional.resize(first);
}

bool is_bare_super(const ValueRef& callable, const CallArguments& args) {
  auto* constant = as_constant(callable);
  return constant && constant->object.get() == reinterpret_cast<PyObject*>(&PySuper_Type) &&
         args.positional.empty();
}

}  // namespace

// super() without arguments means super(__class__, <first argument>) of the running function.
Captured<Unit> SymbolicInterpreter::complete_super(CallArguments& args) {
  const CodeView& code = frame_.function().code;
  for (size_t i = 0; i < code.local_names.size(); ++i) {
    CellValue* cell = code.local_names[i] == "__class__" ? as_cell(frame_.locals[i]) : nullptr;
    if (!cell || code.arg_count == 0) continue;
    SUTURE_CAPTURE(cls, state_.cell_value(*cell));
    SUTURE_CAPTURE(self, resolved_local(0));
    if (auto* shared = as_cell(self)) {
      SUTURE_CAPTURE(contents, state_.cell_value(*shared));
      self = contents;
    }
    args.positional = {cls, self};
  }
  return Unit{};
}

Flow SymbolicInterpreter::call_handler(const Instruction& instruction) {
  CallArguments args;
  args.positional = pop_many(static_cast<size_t>(instruction.arg));
  ValueRef self = pop();
  ValueRef method = pop();
  if (method->kind == ValueKind::kNull) {
    method = std::move(self);
  } else {
    args.positional.insert(args.positional.begin(), std::move(self));
  }
  move_keywords(args, std::exchange(frame_.keyword_names, nullptr));
  if (is_bare_super(method, args)) SUTURE_CAPTURE_VOID(complete_super(args));
  return push_outcome(call(state_, method, args));
}

Flow SymbolicInterpreter::call_function_ex(const Instruction& instruction) {
  ValueRef keywords = instruction.arg & 1 ? pop() : nullptr;
  ValueRef positional = pop();
  ValueRef callable = pop();
  pop();  // NULL
  CallArguments args;
  SUTURE_CAPTURE(items, all_items(state_, positional));
  args.positional = std::move(items);
  if (keywords) {
    auto* dict = as_dict(keywords);
    if (!dict) return state_.unknown_break(keywords);
    SUTURE_CAPTURE_VOID(state_.materialize(keywords));
    for (const auto& [key, value] : dict->items) {
      if (!PyUnicode_Check(key.get()))
        return state_.make_break(BreakReason::kWouldRaise, {"A keyword is not a string"});
      const std::optional<std::string> name = exact_text(key.get());
      if (!name)
        return state_.make_break(BreakReason::kUnknownCall, {"a call with a keyword that is no valid text"});
      args.keyword.emplace_back(*name, value);
    }
  }
  return push_outcome(call(state_, callable, args));
}

Flow SymbolicInterpreter::make_function(const Instruction& instruction) {
  auto function = std::make_shared<FunctionValue>();
  function->code = as_constant(peek(1))->object;
  pop();
  if (instruction.arg & 8) function->closure = as_tuple(pop())->items;
  if (instruction.arg & 4) pop();  // annotations: kept out, nothing reads them during capture
  function->has_annotations = (instruction.arg & 4) != 0;
  if (instruction.arg & 2) {
    ValueRef defaults = pop();
    for (const auto& [key, value] : as_dict(defaults)->items)
      function->kwdefaults.emplace_back(exact_text(key.get()).value_or(short_repr(key.get())), value);
  }
  if (instruction.arg & 1) function->defaults = as_tuple(pop())->items;
  function->globals = frame_.globals;
  function->globals_source = frame_.globals_source;
  function->resolved = true;
  push(std::move(function));
  return Flow();
}

}  // namespace suture
