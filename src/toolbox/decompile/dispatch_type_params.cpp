// Type parameters and type aliases (3.12) in a dispatch loop. The function that makes a generic definition is read like code of
// the first tier: it is straight, and its text is the head of the definition.
#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/operand_numbers.h"
#include "toolbox/decompile/scope.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

// Defaults are evaluated where the definition stands, whatever order they have as arguments.
bool Machine::swaps_for_generic() const {
  if (slots_.back().kind == SlotKind::kGeneric) return true;
  const auto is = [&](int at, Op op) { return at >= 0 && lifted_.at(at).op == op; };
  int load = lifted_.after(at_);
  while (is(load, Op::LoadClosure) || is(load, Op::LoadFast) || is(load, Op::BuildTuple))
    load = lifted_.after(load);  // its closure
  const bool makes = is(load, Op::LoadConst) && is(lifted_.after(load), Op::MakeFunction);
  const suture::Constant* code = makes ? code_.constant(lifted_.at(load).arg) : nullptr;
  return code && code->is(suture::Constant::Kind::kCode) &&
         kind_of_code(*code->code, nullptr) == CodeKind::kTypeParameters;
}

void Machine::call_generic(const Slot& callee, const std::vector<Slot>& args) {
  Slot made{.kind = SlotKind::kDefinition, .waits = true};
  NestedCode nested{callee.code, NestedCode::Use::kGeneric, {}};
  for (const Slot& arg : args) {
    if (!arg.expr) return fail("defaults that no expression gives");
    nested.arguments.push_back(arg.expr);
    made.uses.insert(arg.uses.begin(), arg.uses.end());
  }
  auto definition = nested_(nested, tree_);
  if (!definition) return fail(definition.error().message);
  if (definition->size() != 1) return fail("type parameters without a definition");
  made.definition = definition->front();
  slots_.push_back(std::move(made));
}

// MAKE_FUNCTION; BUILD_TUPLE 3; CALL_INTRINSIC_1 of a type alias
bool Machine::is_value_of_alias() const {
  int at = lifted_.after(at_);
  while (at >= 0 && lifted_.at(at).op == Op::SetFunctionAttribute) at = lifted_.after(at);
  const int next = lifted_.after(at);
  return next >= 0 && lifted_.at(at).op == Op::BuildTuple && lifted_.at(at).arg == 3 &&
         lifted_.at(next).op == Op::Intrinsic1 && lifted_.at(next).arg == kTypeAlias;
}

// The name, None for its type parameters, and the value.
void Machine::type_alias() {
  const Slot value = pop(), parameters = pop(), id = pop();
  const suture::Constant* none = constant_of(parameters.expr);
  const suture::Constant* name = constant_of(id.expr);
  if (!none || !none->is(suture::Constant::Kind::kNone) || !name || !name->is(suture::Constant::Kind::kStr))
    return fail("a type alias without its parts");
  slots_.push_back({.kind = SlotKind::kDefinition,
                    .waits = true,
                    .definition = make<syntax::TypeAlias>(make<Name>(name->text), TypeParams{}, value.expr)});
  at_ = lifted_.after(at_);  // the intrinsic
}

}  // namespace suture::toolbox::dispatch
