// Handlers: variables, attributes, subscripts, stack shuffling, imports.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"
#include "bytecode/continuation.h"
#include "capture/known_modules.h"
#include "capture/symbolic_interpreter.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {

// --- locals ------------------------------------------------------------------------------------------------
Outcome SymbolicInterpreter::resolve(const ValueRef& value) {
  if (!value || value->kind != ValueKind::kPending) return value;
  PyView object = static_cast<PendingValue&>(*value).object;
  const Source& source = state_.guards.sources[value->source];
  // Resume functions are handed the cells of variables that inner functions share.
  if (PyCell_Check(object) && source.kind == SourceKind::kLocal &&
      holds_cell_at_entry(frame_.function(), source.index))
    return state_.cell_value_of(object, state_.source(SourceKind::kContentsOf, value->source));
  return state_.wrap(object, value->source);
}

Outcome SymbolicInterpreter::resolved_local(int index) {
  SUTURE_CAPTURE(value, resolve(frame_.locals[static_cast<size_t>(index)]));
  return frame_.locals[static_cast<size_t>(index)] = std::move(value);
}

namespace {

// Instructions that move values without looking at them.
bool only_moves(Opcode opcode) {
  switch (opcode) {
    case Opcode::STORE_FAST:
    case Opcode::POP_TOP:
    case Opcode::SWAP:
    case Opcode::COPY:
    case Opcode::RETURN_VALUE: return true;
    default: return false;
  }
}

}  // namespace

// Arguments of the captured frame become values when an instruction works with them: what is only handed on
// is never guarded, and an int that counts iterations is no constant of its loop body.
Captured<Unit> SymbolicInterpreter::resolve_operands(const Instruction& instruction) {
  if (only_moves(instruction.opcode)) return Unit{};
  const auto& instructions = frame_.function().instructions;
  const size_t next = static_cast<size_t>(frame_.ip) + 1;
  const bool returned = instruction.opcode == Opcode::BUILD_TUPLE && next < instructions.size() &&
                        instructions[next].opcode == Opcode::RETURN_VALUE;
  if (returned) return Unit{};
  const size_t pops =
      std::min(frame_.stack.size(), static_cast<size_t>(stack_use(frame_.function(), frame_.ip).pops));
  for (size_t i = frame_.stack.size() - pops; i < frame_.stack.size(); ++i) {
    if (frame_.stack[i]->kind != ValueKind::kPending) continue;
    SUTURE_CAPTURE(value, resolve(frame_.stack[i]));
    frame_.stack[i] = std::move(value);
  }
  return Unit{};
}

Flow SymbolicInterpreter::load_fast(const Instruction& instruction) {
  ValueRef value = frame_.locals[static_cast<size_t>(instruction.arg)];
  if (!value) {
    return state_.make_break(
        BreakReason::kWouldRaise,
        {fmt::format("Local variable '{}' has no value",
                     frame_.function().code.local_names[static_cast<size_t>(instruction.arg)])});
  }
  push(std::move(value));
  return Flow();
}

Flow SymbolicInterpreter::store_fast(const Instruction& instruction) {
  frame_.locals[static_cast<size_t>(instruction.arg)] = pop();
  return Flow();
}

Flow SymbolicInterpreter::delete_fast(const Instruction& instruction) {
  ValueRef& local = frame_.locals[static_cast<size_t>(instruction.arg)];
  if (!local)
    return state_.make_break(BreakReason::kWouldRaise, {"A local variable without value is deleted"});
  local = nullptr;
  return Flow();
}

Flow SymbolicInterpreter::load_const(const Instruction& instruction) {
  push(state_.literal(PyRef::borrow(constant_at(instruction.arg))));
  return Flow();
}

// --- globals -----------------------------------------------------------------------------------------------
Outcome SymbolicInterpreter::load_global(const std::string& name) {
  const bool own = frame_.globals.get() == function_globals(state_.input.function);
  if (own) {
    for (const auto& [written, value] : state_.global_writes)
      if (written == name) return value;
  }
  PyRef key = PyRef::steal(PyUnicode_InternFromString(name.c_str()));
  if (!own && frame_.globals_source == kNoSource)
    return state_.make_break(BreakReason::kUnsupportedValue,
                             {"`" + name + "`", "global of a function that cannot be guarded"});
  if (PyView object = PyDict_GetItemWithError(frame_.globals.get(), key.get())) {
    const SourceId source = own ? state_.source(SourceKind::kGlobal, kNoSource, -1, name)
                                : state_.key_source(frame_.globals_source, key.get());
    return state_.wrap(object, source);
  }
  PyView builtins = function_builtins(state_.input.function);
  PyView object = PyDict_GetItemWithError(builtins, key.get());
  if (!object)
    return state_.make_break(BreakReason::kWouldRaise, {fmt::format("Name '{}' is not defined", name)});
  state_.guard_absent(
      own ? state_.source(SourceKind::kGlobalsOf, state_.source(SourceKind::kFunction, kNoSource))
          : frame_.globals_source,
      name);
  return state_.wrap(object, state_.source(SourceKind::kBuiltin, kNoSource, -1, name));
}

Flow SymbolicInterpreter::load_global(const Instruction& instruction) {
  SUTURE_CAPTURE(value, load_global(name_at(instruction.arg >> 1)));
  if (instruction.arg & 1) push(std::make_shared<Value>(ValueKind::kNull));
  push(std::move(value));
  return Flow();
}

Flow SymbolicInterpreter::store_global(const Instruction& instruction) {
  const std::string name = name_at(instruction.arg);
  if (frame_.globals.get() != function_globals(state_.input.function))
    return state_.make_break(BreakReason::kUnsupportedMutation,
                             {fmt::format("Global `{}` of another module is set", name)});
  ValueRef value = pop();
  for (auto& [written, old] : state_.global_writes) {
    if (written != name) continue;
    old = std::move(value);
    return Flow();
  }
  state_.global_writes.emplace_back(name, std::move(value));
  return Flow();
}

// --- cells -------------------------------------------------------------------------------------------------
CellValue* SymbolicInterpreter::cell_at(int index) {
  return as_cell(frame_.locals[static_cast<size_t>(index)]);
}

Flow SymbolicInterpreter::make_cell(const Instruction& instruction) {
  SUTURE_CAPTURE(value, resolved_local(instruction.arg));
  frame_.locals[static_cast<size_t>(instruction.arg)] = std::make_shared<CellValue>(std::move(value));
  return Flow();
}

Flow SymbolicInterpreter::copy_free_vars(const Instruction& instruction) {
  const size_t first = frame_.locals.size() - static_cast<size_t>(instruction.arg);
  for (size_t i = 0; i < static_cast<size_t>(instruction.arg); ++i) {
    if (frame_.top) {
      PyView cell = PyTuple_GET_ITEM(function_closure(state_.input.function), static_cast<Py_ssize_t>(i));
      const std::string& name = frame_.function().code.local_names[first + i];
      frame_.locals[first + i] =
          state_.cell_value_of(cell, state_.source(SourceKind::kCell, kNoSource, static_cast<int>(i), name));
    } else {
      frame_.locals[first + i] = frame_.closure[i];
    }
  }
  return Flow();
}

Flow SymbolicInterpreter::load_deref(const Instruction& instruction) {
  SUTURE_CAPTURE_VOID(resolved_local(instruction.arg));
  CellValue* cell = cell_at(instruction.arg);
  if (!cell) return Error::internal("capture", "a closure variable without a cell");
  return push_outcome(state_.cell_value(*cell));
}

Flow SymbolicInterpreter::store_deref(const Instruction& instruction) {
  SUTURE_CAPTURE_VOID(resolved_local(instruction.arg));
  CellValue* cell = cell_at(instruction.arg);
  if (!cell) return Error::internal("capture", "a closure variable without a cell");
  if (cell->source != kNoSource) {
    // Cells of inlined functions cannot be written from this frame's code.
    const SourceKind kind = state_.guards.sources[cell->source].kind;
    if (kind != SourceKind::kCell && kind != SourceKind::kContentsOf)
      return state_.make_break(BreakReason::kUnsupportedMutation,
                               {"A variable of an enclosing function is set"});
    cell->mutated = true;
    state_.mark_mutated(frame_.locals[static_cast<size_t>(instruction.arg)]);
  }
  cell->contents = pop();
  cell->loaded = true;
  return Flow();
}

Flow SymbolicInterpreter::load_closure(const Instruction& instruction) {
  return push_outcome(resolved_local(instruction.arg));
}

// --- attributes and items ----------------------------------------------------------------------------------
Flow SymbolicInterpreter::load_attr(const Instruction& instruction) {
  ValueRef object = pop();
  return push_outcome(get_attribute(state_, object, name_at(instruction.arg)));
}

// A bound method is one value; the pair that CPython pushes is (NULL, bound method).
Flow SymbolicInterpreter::load_method(const Instruction& instruction) {
  ValueRef object = pop();
  SUTURE_CAPTURE(method, get_attribute(state_, object, name_at(instruction.arg)));
  push(std::make_shared<Value>(ValueKind::kNull));
  push(std::move(method));
  return Flow();
}

Flow SymbolicInterpreter::store_attr(const Instruction& instruction) {
  ValueRef object = pop();
  ValueRef value = pop();
  SUTURE_CAPTURE_VOID(set_attribute(state_, object, name_at(instruction.arg), value));
  return Flow();
}

Flow SymbolicInterpreter::binary_subscr(const Instruction&) {
  ValueRef index = pop();
  ValueRef container = pop();
  return push_outcome(get_item(state_, container, index));
}

Flow SymbolicInterpreter::store_subscr(const Instruction&) {
  ValueRef index = pop();
  ValueRef container = pop();
  ValueRef value = pop();
  SUTURE_CAPTURE_VOID(set_item(state_, container, index, value));
  return Flow();
}

Flow SymbolicInterpreter::delete_subscr(const Instruction&) {
  ValueRef index = pop();
  ValueRef container = pop();
  SUTURE_CAPTURE_VOID(delete_item(state_, container, index));
  return Flow();
}

// --- imports: known modules that are loaded already --------------------------------------------------------
Flow SymbolicInterpreter::import_name(const Instruction& instruction) {
  ValueRef from_list = pop();
  ValueRef level = pop();
  const std::string name = name_at(instruction.arg);
  PyRef names = state_.python_constant(from_list);
  const bool has_names = names && names.get() != Py_None;
  const std::string wanted = has_names ? name : name.substr(0, name.find('.'));
  PyRef module = PyRef::steal(PyImport_GetModule(PyRef::steal(PyUnicode_FromString(wanted.c_str())).get()));
  auto relative = state_.as_int(level);
  if (!module || !names || !relative || *relative != SymInt(0) || !is_known_module(module.get())) {
    discard_error();
    return state_.make_break(BreakReason::kUnsupportedOpcode,
                             {fmt::format("IMPORT_NAME (import of {})", name)});
  }
  push(state_.constant(module));
  return Flow();
}

Flow SymbolicInterpreter::import_from(const Instruction& instruction) {
  return push_outcome(get_attribute(state_, peek(1), name_at(instruction.arg)));
}

Flow SymbolicInterpreter::load_assertion_error(const Instruction&) {
  push(state_.constant(PyRef::borrow(PyExc_AssertionError)));
  return Flow();
}

// --- stack -------------------------------------------------------------------------------------------------
Flow SymbolicInterpreter::pop_top(const Instruction&) {
  pop();
  return Flow();
}

Flow SymbolicInterpreter::push_null(const Instruction&) {
  push(std::make_shared<Value>(ValueKind::kNull));
  return Flow();
}

Flow SymbolicInterpreter::swap(const Instruction& instruction) {
  std::swap(peek(1), peek(instruction.arg));
  return Flow();
}

Flow SymbolicInterpreter::copy(const Instruction& instruction) {
  push(ValueRef(peek(instruction.arg)));
  return Flow();
}

}  // namespace suture
