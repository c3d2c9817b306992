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

Status call_method(OutputWriter& writer, RecipeId object, const char* method, RecipeId argument) {
  SUTURE_TRY_VOID(writer.push(object));
  writer.code().emit(Opcode::LOAD_METHOD, writer.code().name(method));
  if (argument >= 0) SUTURE_TRY_VOID(writer.push(argument));
  writer.code().call(argument >= 0 ? 1 : 0);
  writer.code().emit(Opcode::POP_TOP);
  return ok_status();
}

// target.clear(); target.update(value)
Status refill(OutputWriter& writer, const SideEffect& effect) {
  SUTURE_TRY_VOID(call_method(writer, effect.target, "clear", -1));
  return call_method(writer, effect.target, "update", effect.value);
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
    case Kind::kDictAssign:
    case Kind::kSetAssign: return refill(writer, effect);
  }
  return Error::internal("output", "unknown side effect");
}

// The cell of a free variable is reached by its name; its contents are not wanted.
bool needs_value_of_target(const OutputWriter& writer, const SideEffect& effect) {
  if (effect.kind == Kind::kStoreGlobal) return false;
  return effect.kind != Kind::kStoreCell || writer.recipe(effect.target).kind != Recipe::Kind::kSource;
}

}  // namespace

Status emit_side_effects(OutputWriter& writer) {
  const Capture& capture = writer.capture();
  if (capture.side_effects.empty()) return ok_status();
  for (const SideEffect& effect : capture.side_effects) {
    if (needs_value_of_target(writer, effect)) SUTURE_TRY_VOID(writer.hold(effect.target));
    SUTURE_TRY_VOID(writer.hold(effect.value));
  }
  if (!writer.is_unbound(capture.end.value)) SUTURE_TRY_VOID(writer.hold(capture.end.value));
  for (RecipeId id : capture.end.stack) SUTURE_TRY_VOID(writer.hold(id));
  for (const auto& [local, id] : capture.end.locals) {
    if (!writer.is_unbound(id)) SUTURE_TRY_VOID(writer.hold(id));
  }
  for (const SideEffect& effect : capture.side_effects) SUTURE_TRY_VOID(emit_one(writer, effect));
  return ok_status();
}

}  // namespace suture
