#include "capture/output_continuation.h"

#include <fmt/format.h>

#include "bytecode/analysis.h"
#include "bytecode/output_names.h"
#include "cpython/code_object.h"
#include "cpython/objects.h"
#include "cpython/tail_call.h"

namespace suture {
namespace {

PyRef object_of(const AddedConstant& added) {
  if (added.kind == AddedConstant::Kind::kUnboundMarker) return PyRef::borrow(unbound_marker());
  return PyRef::steal(PyLong_FromLongLong(added.number));
}

PyRef constants_with(PyView original, const std::vector<AddedConstant>& added) {
  PyRef old = code_constants(original);
  const Py_ssize_t kept = PyTuple_GET_SIZE(old.get());
  PyRef tuple = PyRef::steal(PyTuple_New(kept + static_cast<Py_ssize_t>(added.size())));
  if (!tuple) return {};
  for (Py_ssize_t i = 0; i < kept; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, PyRef::borrow(PyTuple_GET_ITEM(old.get(), i)).release());
  for (size_t i = 0; i < added.size(); ++i) {
    PyRef object = object_of(added[i]);
    if (!object) return {};
    PyTuple_SET_ITEM(tuple.get(), kept + static_cast<Py_ssize_t>(i), object.release());
  }
  return tuple;
}

constexpr int kLongestWalk = 32;

}  // namespace

Continuations::Continuations(OutputWriter& writer, const MakeCallable& make_callable)
    : writer_(writer), make_callable_(make_callable), live_(live_locals(writer.original())) {}

std::string Continuations::new_name(const std::string& prefix, int at) {
  return fmt::format("{}_{}_{}", prefix, writer_.original().instructions[static_cast<size_t>(at)].offset,
                     next_number_++);
}

std::optional<Item> Continuations::local_item(int local) const {
  const auto found = writer_.capture().end.locals.find(local);
  if (found == writer_.capture().end.locals.end() || writer_.is_unbound(found->second)) return std::nullopt;
  RecipeId id = found->second;
  const bool is_cell = writer_.original().code.local_kinds[static_cast<size_t>(local)] & kLocalCell;
  if (!is_cell) return Item{Item::Kind::kRecipe, id};
  if (writer_.is_cell_object(id)) return Item{Item::Kind::kRecipe, id, true};
  if (writer_.recipe(id).kind == Recipe::Kind::kCell) {
    const auto& children = writer_.recipe(id).children;
    if (children.empty() || writer_.is_unbound(children[0])) return std::nullopt;
    id = children[0];
  }
  return Item{Item::Kind::kRecipe, id};
}

// One instruction that only moves values. With `loads`, also those that push.
bool Continuations::step(Walk& walk, bool loads) const {
  const Instruction& i = writer_.original().instructions[static_cast<size_t>(walk.at)];
  switch (i.opcode) {
    case Opcode::NOP: ++walk.at; return true;
    case Opcode::JUMP_FORWARD: walk.at = i.target; return true;
    case Opcode::POP_TOP:
      if (walk.stack.empty() || walk.stack.back().kind == Item::Kind::kNull) return false;
      walk.stack.pop_back();
      ++walk.at;
      return true;
    case Opcode::STORE_FAST:
      if (walk.stack.empty()) return false;
      walk.locals[i.arg] = walk.stack.back();
      walk.stack.pop_back();
      ++walk.at;
      return true;
    case Opcode::DELETE_FAST: {
      const auto found = walk.locals.find(i.arg);
      if (found == walk.locals.end() || found->second.maybe_unbound) return false;
      walk.locals.erase(found);
      ++walk.at;
      return true;
    }
    case Opcode::LOAD_FAST: {
      const auto found = walk.locals.find(i.arg);
      if (!loads || found == walk.locals.end() || found->second.maybe_unbound) return false;
      walk.stack.push_back(found->second);
      ++walk.at;
      return true;
    }
    case Opcode::LOAD_CONST:
      if (!loads) return false;
      walk.stack.push_back({Item::Kind::kConstant, i.arg});
      ++walk.at;
      return true;
    default: return false;
  }
}

std::optional<Item> Continuations::returned_at_once(Walk walk) const {
  for (int n = 0; n < kLongestWalk; ++n) {
    if (writer_.original().instructions[static_cast<size_t>(walk.at)].opcode == Opcode::RETURN_VALUE)
      return walk.stack.size() == 1 ? std::optional<Item>(walk.stack.back()) : std::nullopt;
    if (!step(walk, true)) return std::nullopt;
  }
  return std::nullopt;
}

// What a variable keeps alive although nothing reads it: see FrameEnd::kept. Results of Python's work are
// objects of which nothing is known.
bool Continuations::is_kept(int local, const Item& item) const {
  if (writer_.original().code.local_kinds[static_cast<size_t>(local)] != kLocalPlain) return false;
  if (item.kind == Item::Kind::kSlot) return !item.maybe_unbound;
  if (item.kind != Item::Kind::kRecipe) return false;
  const Capture& capture = writer_.capture();
  const auto found = capture.end.locals.find(local);
  if (found != capture.end.locals.end() && found->second == item.id && capture.end.kept.contains(local))
    return true;
  const Recipe& recipe = writer_.recipe(item.id);
  return capture.owns_arguments && recipe.kind == Recipe::Kind::kSource &&
         capture.guards.sources[recipe.source].kind == SourceKind::kLocal;
}

// A cell that came into this frame as a cell has to be handed on; without it the rest would write into
// another cell.
Status Continuations::check_cells(const Walk& walk) const {
  for (size_t local = 0; local < live_[static_cast<size_t>(walk.at)].size(); ++local) {
    const int id = static_cast<int>(local);
    if (live_[static_cast<size_t>(walk.at)][local] && holds_cell_at_entry(writer_.original(), id) &&
        !walk.locals.count(id))
      return Error::internal(
          "output", fmt::format("the cell of {} is missing", writer_.original().code.local_names[local]));
  }
  return ok_status();
}

Result<ContinuationPlan> Continuations::plan(int target, std::vector<Item> stack,
                                             std::map<int, Item> locals) {
  Walk walk{target, std::move(stack), std::move(locals)};
  ContinuationPlan plan;
  plan.returned = returned_at_once(walk);
  if (plan.returned) return plan;
  for (int n = 0; n < kLongestWalk && step(walk, false); ++n) {
  }
  std::vector<bool> nulls;
  for (const Item& item : walk.stack) {
    nulls.push_back(item.kind == Item::Kind::kNull);
    if (!nulls.back()) plan.arguments.push_back(item);
  }
  SUTURE_TRY_VOID(check_cells(walk));
  std::vector<int> parameters;
  ResumeOptions options;
  for (const auto& [local, item] : walk.locals) {
    if (!live_[static_cast<size_t>(walk.at)][static_cast<size_t>(local)] && !is_kept(local, item)) continue;
    parameters.push_back(local);
    plan.arguments.push_back(item);
    if (item.is_cell) options.passed_cells.push_back(local);
    if (item.maybe_unbound) options.maybe_unbound.push_back(local);
  }
  plan.resume_name = new_name(kResumeName, walk.at);
  SUTURE_TRY(resume,
             make_resume_function(writer_.original(), walk.at, nulls, parameters, plan.resume_name, options));
  SUTURE_TRY(callable, make(resume.function, resume.added_constants, FrameKind::kResume));
  plan.resume = std::move(callable);
  return plan;
}

Result<PyRef> Continuations::make(const Function& function, const std::vector<AddedConstant>& added,
                                  FrameKind kind) {
  PyView original = writer_.original_function();
  PyRef constants = constants_with(function_code(original), added);
  if (!constants) return Error::python("output");
  SUTURE_TRY(made, make_named_function(function, constants.get(), original, nullptr));
  names_.push_back(function.code.name);
  return make_callable_(std::move(made), kind);
}

Status Continuations::hold(const ContinuationPlan& plan) {
  const auto hold_item = [&](const Item& item) -> Status {
    return item.kind == Item::Kind::kRecipe ? writer_.hold(item.id) : ok_status();
  };
  if (plan.returned) return hold_item(*plan.returned);
  for (const Item& item : plan.arguments) SUTURE_TRY_VOID(hold_item(item));
  return ok_status();
}

Status Continuations::push(const Item& item) {
  CodeBuilder& code = writer_.code();
  switch (item.kind) {
    case Item::Kind::kRecipe: return writer_.push(item.id);
    case Item::Kind::kSlot: writer_.load(item.id); return ok_status();
    case Item::Kind::kClosure: code.emit(Opcode::LOAD_CLOSURE, item.id); return ok_status();
    case Item::Kind::kContents: code.emit(Opcode::LOAD_DEREF, item.id); return ok_status();
    case Item::Kind::kConstant: code.emit(Opcode::LOAD_CONST, item.id); return ok_status();
    case Item::Kind::kInt: writer_.push_int(item.id); return ok_status();
    case Item::Kind::kNull: code.push_null(); return ok_status();
  }
  return ok_status();
}

Status Continuations::emit(const ContinuationPlan& plan, int emptied) {
  CodeBuilder& code = writer_.code();
  if (plan.returned) {
    SUTURE_TRY_VOID(push(*plan.returned));
  } else {
    writer_.push_object(PyRef::borrow(tail_call_marker()), std::string(kTailCallName));
    writer_.push_object(plan.resume, plan.resume_name);
    for (const Item& argument : plan.arguments) SUTURE_TRY_VOID(push(argument));
    code.emit(Opcode::BUILD_TUPLE, static_cast<int>(plan.arguments.size()) + 2);
  }
  if (emptied >= 0) code.emit(Opcode::DELETE_FAST, emptied);
  code.emit(Opcode::RETURN_VALUE);
  return ok_status();
}

}  // namespace suture
