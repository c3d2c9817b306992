// Replaying what the captured part did to objects that existed before. Values are on the stack or held before
// the first effect, because an effect may change what a source would give.
#include "capture/output_ends.h"

namespace suture {
namespace {

using Kind = SideEffect::Kind;

Status store_slice(OutputWriter& writer, const SideEffect& effect) {
  SUTURE_TRY_VOID(writer.push(effect.value));
  SUTURE_TRY_VOID(writer.push(effect.target));
  writer.push_none();
  writer.push_none();
  writer.code().emit(Opcode::BUILD_SLICE, 2);
  writer.code().emit(Opcode::STORE_SUBSCR);
  return ok_status();
}

Status store_cell(OutputWriter& writer, const SideEffect& effect) {
  SUTURE_TRY_VOID(writer.push(effect.value));
  const Recipe& target = writer.recipe(effect.target);
  if (target.kind == Recipe::Kind::kSource &&
      writer.capture().guards.sources[target.source].kind == SourceKind::kCell) {
    writer.code().emit(Opcode::STORE_DEREF,
                       writer.free_slot(writer.capture().guards.sources[target.source].index));
    return ok_status();
  }
  SUTURE_TRY_VOID(writer.push_cell_of(effect.target));
  writer.code().emit(Opcode::STORE_ATTR, writer.code().name("cell_contents"));
  return ok_status();
}

Status emit_one(OutputWriter& writer, const SideEffect& effect) {
  CodeBuilder& code = writer.code();
  switch (effect.kind) {
    case Kind::kStoreGlobal:
      SUTURE_TRY_VOID(writer.push(effect.value));
      code.emit(Opcode::STORE_GLOBAL, code.name(effect.name));
      return ok_status();
    case Kind::kStoreAttr:
      SUTURE_TRY_VOID(writer.push(effect.value));
      SUTURE_TRY_VOID(writer.push(effect.target));
      code.emit(Opcode::STORE_ATTR, code.name(effect.name));
      return ok_status();
    case Kind::kStoreCell: return store_cell(writer, effect);
    case Kind::kListAssign: return store_slice(writer, effect);
    case Kind::kDictDelete:
      SUTURE_TRY_VOID(writer.push(effect.target));
      SUTURE_TRY_VOID(writer.push(effect.key));
      code.emit(Opcode::DELETE_SUBSCR);
      return ok_status();
    case Kind::kDictStore:
      SUTURE_TRY_VOID(writer.push(effect.value));
      SUTURE_TRY_VOID(writer.push(effect.target));
      SUTURE_TRY_VOID(writer.push(effect.key));
      code.emit(Opcode::STORE_SUBSCR);
      return ok_status();
  }
  return Error::internal("output", "unknown side effect");
}

// The cell of a free variable is reached by its name; its contents are not wanted.
bool needs_value_of_target(const OutputWriter& writer, const SideEffect& effect) {
  if (effect.kind == Kind::kStoreGlobal) return false;
  return effect.kind != Kind::kStoreCell || writer.recipe(effect.target).kind != Recipe::Kind::kSource;
}

bool makes_iterator(const Recipe& recipe, const OutputWriter& writer) {
  if (recipe.kind == Recipe::Kind::kIterator) return true;
  if (recipe.kind != Recipe::Kind::kCall || recipe.children.empty()) return false;
  const PyRef& callable = writer.recipe(recipe.children[0]).object;
  return callable && PyType_Check(callable.get()) &&
         reinterpret_cast<PyTypeObject*>(callable.get())->tp_iternext != nullptr;
}

// An iterator is made behind the effects: iter() may run code of the user's, and an iterator over a dict knows
// the dict as it was then.
Status hold_for_later(OutputWriter& writer, RecipeId id) {
  if (writer.is_unbound(id)) return ok_status();
  if (!makes_iterator(writer.recipe(id), writer)) return writer.hold(id);
  for (RecipeId child : writer.recipe(id).children) SUTURE_TRY_VOID(hold_for_later(writer, child));
  return ok_status();
}

}  // namespace

Status emit_side_effects(OutputWriter& writer) {
  const Capture& capture = writer.capture();
  if (capture.side_effects.empty()) return ok_status();
  for (const SideEffect& effect : capture.side_effects) {
    if (needs_value_of_target(writer, effect)) SUTURE_TRY_VOID(writer.hold(effect.target));
    if (effect.key >= 0) SUTURE_TRY_VOID(writer.hold(effect.key));
    SUTURE_TRY_VOID(writer.hold(effect.value));
  }
  SUTURE_TRY_VOID(hold_for_later(writer, capture.end.value));
  for (RecipeId id : capture.end.stack) SUTURE_TRY_VOID(hold_for_later(writer, id));
  for (const auto& [local, id] : capture.end.locals) SUTURE_TRY_VOID(hold_for_later(writer, id));
  for (const SideEffect& effect : capture.side_effects) SUTURE_TRY_VOID(emit_one(writer, effect));
  return ok_status();
}

}  // namespace suture
