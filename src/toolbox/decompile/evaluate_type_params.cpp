// Type parameters and type aliases (3.12). The compiler makes a function of its own for every generic definition, and one for every
// bound, default and alias value, which it evaluates late.
#include <fmt/format.h>

#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/operand_numbers.h"

namespace suture::toolbox {

using namespace syntax;

bool Evaluator::execute_type_params(int number) {
  switch (number) {
    case kTypeVar: type_parameter(TypeParamKind::TypeVar, nullptr); return true;
    case kParamSpec: type_parameter(TypeParamKind::ParamSpec, nullptr); return true;
    case kTypeVarTuple: type_parameter(TypeParamKind::TypeVarTuple, nullptr); return true;
    case kSubscriptGeneric:  // Generic[*parameters], a base of the compiler's own
      pop();
      push_expr(name_expr(".generic_base"));
      return true;
    case kTypeAlias: type_alias(); return true;
    default: return false;
  }
}

void Evaluator::intrinsic_2(int number) {
  Value* second = pop();
  switch (number) {
    case kTypeVarWithBound:
    case kTypeVarWithConstraints: {
      Expression* bound = deferred(as_expression(second));
      type_parameter(TypeParamKind::TypeVar, bound);
      return;
    }
    case kSetFunctionTypeParams: {
      Value* function = pop();
      if (!function->function) return fail("type parameters of something other than a function");
      function->function->type_params = type_params_of(second->expr);
      stack_.push_back(function);
      return;
    }
    case kSetTypeParamDefault: {
      Value* parameter = peek(1);
      if (!parameter->type_parameter) return fail("a default of something other than a type parameter");
      parameter->type_parameter->default_value = deferred(as_expression(second));
      return;
    }
    default: fail(fmt::format("intrinsic function {} of two arguments does not exist", number));
  }
}

void Evaluator::type_parameter(TypeParamKind kind, Expression* bound) {
  const suture::Constant* id = constant_of(operand());
  if (!id || !id->is(suture::Constant::Kind::kStr)) return fail("a type parameter without a name");
  Value* value = push(ValueKind::kTypeParameter);
  value->type_parameter = std::make_shared<TypeParam>();
  value->type_parameter->kind = kind;
  value->type_parameter->name = unmangled(scope_, id->text);
  value->type_parameter->bound = bound;
}

Expression* Evaluator::deferred(Expression* function) {
  const auto known = placeholders_.find(function);
  if (known == placeholders_.end() || !known->second->function) {
    fail("an expression that is evaluated late, without its function");
    return function;
  }
  Result<Expression*> lambda = make_lambda(builder_, scope_, *known->second->function);
  if (!lambda.ok()) {
    if (!failed()) error_ = lambda.error().message;
    return function;
  }
  return as<syntax::Lambda>(*lambda)->body;
}

TypeParams Evaluator::type_params_of(const Expression* expr) {
  TypeParams result;
  const Tuple* tuple = as<Tuple>(expr);
  if (!tuple) {
    const suture::Constant* none = constant_of(expr);
    if (!none || !none->is(suture::Constant::Kind::kNone)) fail("type parameters that are no tuple");
    return result;
  }
  for (const Expression* element : tuple->elts) {
    const auto known = placeholders_.find(element);
    if (known == placeholders_.end() || !known->second->type_parameter)
      fail("a type parameter of unknown kind");
    else
      result.push_back(*known->second->type_parameter);
  }
  return result;
}

// (name, type parameters or None, function of the value)
void Evaluator::type_alias() {
  const Tuple* parts = as<Tuple>(operand());
  if (!parts || parts->elts.size() != 3) return fail("a type alias without its parts");
  const suture::Constant* id = constant_of(parts->elts[0]);
  if (!id || !id->is(suture::Constant::Kind::kStr)) return fail("a type alias without a name");
  Value* value = push(ValueKind::kTypeAlias);
  value->alias = std::make_shared<TypeAliasParts>();
  value->alias->name = id->text;
  value->alias->type_params = type_params_of(parts->elts[1]);
  value->alias->value = deferred(parts->elts[2]);
}

void Evaluator::call_generic(Value* callee, const std::vector<Value*>& args) {
  std::vector<Expression*> arguments;
  for (Value* arg : args) arguments.push_back(as_expression(arg));
  Result<Generic> generic = make_generic(builder_, scope_, *callee->function->code, arguments);
  if (!generic.ok()) {
    if (!failed()) error_ = generic.error().message;
    return;
  }
  Value* value = push(generic->alias ? ValueKind::kTypeAlias : ValueKind::kDefinition);
  value->function = generic->function;
  value->class_parts = generic->class_parts;
  value->alias = generic->alias;
}

}  // namespace suture::toolbox
