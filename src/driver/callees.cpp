// How it works
//   A break at a call has the whole call on the stack: [NULL, callable, arguments..] or [function, self,
//   arguments..]. The recipe of the callable names the source it came from; the wrapper takes its place as a
//   constant, and an identity guard on the source keeps that right. Wrappers are shared by the whole family
//   of frames, so a recursive callee has one wrapper.
#include "driver/callees.h"

#include "cpython/objects.h"
#include "driver/compiler.h"

namespace suture {
namespace {

bool calls_python_function(const FrameEnd& end) {
  if (end.kind != FrameEnd::Kind::kBreak || !end.reason) return false;
  const BreakReason reason = end.reason->reason;
  return reason == BreakReason::kCalleeBreaks || reason == BreakReason::kRecursion ||
         reason == BreakReason::kInlineLimit;
}

// Stack position of the callable, or -1 when instruction `at` does not begin a call.
int callable_slot(const Capture& capture) {
  const auto& instructions = capture.function.instructions;
  for (size_t i = static_cast<size_t>(capture.end.at);
       i < instructions.size() && i < static_cast<size_t>(capture.end.at) + 3; ++i) {
    if (instructions[i].opcode != Opcode::CALL) continue;
    const int below = static_cast<int>(capture.end.stack.size()) - instructions[i].arg - 2;
    if (below < 0) return -1;
    const RecipeId id = capture.end.stack[static_cast<size_t>(below)];
    return capture.recipes[static_cast<size_t>(id)].kind == Recipe::Kind::kNull ? below + 1 : below;
  }
  return -1;
}

}  // namespace

Status compile_callee(Capture& capture, const FrameInput& input, FrameRecord& frame, Compiler& compiler) {
  if (!calls_python_function(capture.end)) return ok_status();
  const int slot = callable_slot(capture);
  if (slot < 0) return ok_status();
  RecipeId& recipe_id = capture.end.stack[static_cast<size_t>(slot)];
  const Recipe& recipe = capture.recipes[static_cast<size_t>(recipe_id)];
  if (recipe.kind != Recipe::Kind::kSource) return ok_status();
  PyView function = fetch(capture.guards.sources, recipe.source, input);
  if (!function || !is_python_function(function)) return ok_status();
  SUTURE_TRY(wrapper, compiler.compile_callee(function, frame));

  Guard guard;
  guard.kind = GuardKind::kIdentity;
  guard.source = recipe.source;
  guard.object = PyRef::borrow(function);
  guard.where = capture.end.reason->where;
  capture.guards.guards.push_back(std::move(guard));
  Recipe constant;
  constant.kind = Recipe::Kind::kConstant;
  constant.object = std::move(wrapper);
  capture.recipes.push_back(std::move(constant));
  recipe_id = static_cast<RecipeId>(capture.recipes.size()) - 1;
  if (capture.end.reason->reason == BreakReason::kCalleeBreaks)
    capture.end.reason->args.back() = "called and compiled on its own";
  return ok_status();
}

}  // namespace suture
