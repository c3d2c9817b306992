// Calls, and the making of functions and classes.
#include <fmt/format.h>

#include "bytecode/compiler_limits.h"
#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/operand_numbers.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {

using namespace syntax;

bool Evaluator::execute_call(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::Call: {
      const suture::Constant* names = it.constant >= 0 ? scope_.code->constant(it.constant) : nullptr;
      call(it.arg, names);
      return true;
    }
    case Op::CallKw: {
      Expression* names = operand();
      const suture::Constant* constant = constant_of(names);
      if (!constant) fail("a call without the names of its keywords");
      call(it.arg, constant);
      return true;
    }
    case Op::CallEx: call_ex((it.arg & 1) != 0); return true;
    default: return false;
  }
}

// Stack: callee and an empty slot (in either order), or callee and first argument; then the arguments.
void Evaluator::call(int count, const suture::Constant* names) {
  if (count < 0 || count + 2 > static_cast<int>(stack_.size())) return fail("the stack is too small");
  std::vector<Value*> args(stack_.end() - count, stack_.end());
  stack_.resize(stack_.size() - static_cast<size_t>(count));
  Value* second = pop();
  Value* first = pop();
  Value* callee = first;
  if (first->kind == ValueKind::kNull)
    callee = second;
  else if (second->kind != ValueKind::kNull && second->kind != ValueKind::kSelf)
    args.insert(args.begin(), second);
  std::vector<Keyword> keywords;
  if (names) {
    if (!names->is(suture::Constant::Kind::kTuple) || names->items->size() > args.size())
      return fail("a call with more keywords than arguments");
    const size_t begin = args.size() - names->items->size();
    for (size_t i = 0; i < names->items->size(); ++i)
      keywords.push_back({(*names->items)[i].text, as_expression(args[begin + i])});
    args.resize(begin);
  }
  call_value(callee, std::move(args), std::move(keywords));
}

// What a comprehension assigns to is declared around it, unless it is a variable of this code itself.
void Evaluator::declare(const AssignedOutside& assigned) {
  if (scope_.kind != CodeKind::kModule)
    result_.globals.insert(assigned.globals.begin(), assigned.globals.end());
  const CodeView& view = scope_.view();
  for (size_t i = 0; i < view.local_names.size() && i < view.local_kinds.size(); ++i)
    if (const std::string one = unmangled(scope_, view.local_names[i]);
        (view.local_kinds[i] & kLocalFree) && assigned.nonlocals.contains(one))
      result_.nonlocals.insert(one);
}

void Evaluator::call_value(Value* callee, std::vector<Value*> args, std::vector<Keyword> keywords) {
  if (callee->kind == ValueKind::kExit) {  // exit(None, None, None)
    push(ValueKind::kNothing);
    return;
  }
  if (callee->kind == ValueKind::kBuildClass) return build_class(args, std::move(keywords));
  if (callee->kind == ValueKind::kFunction && callee->function) {
    const CodeKind kind = kind_of_code(*callee->function->code, &scope_);
    if (kind == CodeKind::kTypeParameters) return call_generic(callee, args);
    if (kind == CodeKind::kComprehension && args.size() == 1 && keywords.empty()) {
      AssignedOutside assigned;
      Result<Expression*> comprehension = make_comprehension(builder_, scope_, *callee->function->code,
                                                             as_expression(args.front()), assigned);
      if (!comprehension.ok()) {
        if (!failed()) error_ = comprehension.error().message;
        return;
      }
      declare(assigned);
      push_expr(*comprehension);
      stack_.back()->in_place =
          callee->function->code->view.flags & kCodeCoroutine;  // awaited by the compiler
      return;
    }
  }
  if (args.size() == 1 && keywords.empty() && args.front()->kind == ValueKind::kDefinition) {
    Value* decorated = push(ValueKind::kDefinition);
    decorated->function = args.front()->function;
    decorated->class_parts = args.front()->class_parts;
    decorated->decorators = args.front()->decorators;
    decorated->decorators.insert(decorated->decorators.begin(), as_expression(callee));
    return;
  }
  Expressions arguments;
  Expression* func = as_expression(callee);
  for (Value* arg : args) arguments.push_back(as_expression(arg));
  push_expr(make<syntax::Call>(func, std::move(arguments), std::move(keywords)));
}

// Keys that are all names, as keyword arguments; null keys as `**`.
std::optional<std::vector<Keyword>> Evaluator::named_pairs(const Expression* expr) {
  const Dict* dict = as<Dict>(expr);
  if (!dict) return std::nullopt;
  std::vector<Keyword> result;
  for (size_t i = 0; i < dict->keys.size(); ++i) {
    const suture::Constant* key = constant_of(dict->keys[i]);
    if (dict->keys[i] && (!key || !key->is(suture::Constant::Kind::kStr) || !is_identifier(key->text)))
      return std::nullopt;
    result.push_back({dict->keys[i] ? key->text : "", dict->values[i]});
  }
  return result;
}

// The compiler calls this way when there are stars, or too many arguments for the stack.
void Evaluator::call_ex(bool has_keywords) {
  std::vector<Keyword> keywords;
  bool starred = false;
  if (has_keywords) {
    Value* mapping = pop();
    auto pairs = mapping->display ? named_pairs(mapping->expr) : std::nullopt;
    if (pairs)
      keywords = std::move(*pairs);
    else
      keywords.push_back({"", as_expression(mapping)});
    for (const Keyword& keyword : keywords) starred = starred || keyword.arg.empty();
  }
  Value* positional = pop();
  Expressions args;
  const suture::Constant* constant = constant_of(positional->expr);
  const bool is_display = (positional->display && as<Tuple>(positional->expr)) ||
                          (constant && constant->is(suture::Constant::Kind::kTuple));
  if (is_display) {
    args = elements_of(positional->expr);
    for (const Expression* arg : args) starred = starred || as<Starred>(arg);
  }
  if (!is_display || (!starred && args.size() + 2 * keywords.size() <= kMostPushedArguments))
    args = {make<Starred>(as_expression(positional))};
  Value* second = pop();
  Value* first = second;
  if (second->kind == ValueKind::kNull || (!stack_.empty() && stack_.back()->kind == ValueKind::kNull))
    first = pop();
  Value* callee = first->kind == ValueKind::kNull ? second : first;
  if (failed()) return;
  if (callee->kind == ValueKind::kBuildClass) {
    std::vector<Value*> values;  // the body, the name and the bases
    for (Expression* arg : args) {
      const auto definition = placeholders_.find(arg);
      values.push_back(definition == placeholders_.end() ? make_value(ValueKind::kExpression, arg)
                                                         : definition->second);
    }
    return build_class(values, std::move(keywords));
  }
  push_expr(make<syntax::Call>(as_expression(callee), std::move(args), std::move(keywords)));
}

void Evaluator::build_class(const std::vector<Value*>& args, std::vector<Keyword> keywords) {
  if (args.size() < 2 || !args[0]->function) return fail("a class without a body");
  const suture::Constant* class_name = constant_of(args[1]->expr);
  if (!class_name || !class_name->is(suture::Constant::Kind::kStr)) return fail("a class without a name");
  Value* value = push(ValueKind::kDefinition);
  value->class_parts = std::make_shared<ClassParts>();
  value->class_parts->code = args[0]->function->code;
  value->class_parts->name = class_name->text;
  for (size_t i = 2; i < args.size(); ++i) {
    const Name* base = as<Name>(args[i]->expr);
    if (!base || base->id != ".generic_base") value->class_parts->bases.push_back(as_expression(args[i]));
  }
  value->class_parts->keywords = std::move(keywords);
  value->class_parts->type_params = type_params_;
}

bool Evaluator::execute_definition(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::MakeFunction: make_function_value(code_.known_version_at_least(13) ? 0 : it.arg); return true;
    case Op::SetFunctionAttribute: {
      Value* function = pop();
      Value* attribute = pop();
      set_function_attribute(function, it.arg, attribute);
      stack_.push_back(function);
      return true;
    }
    case Op::SetupAnnotations: result_.has_annotations = true; return true;
    case Op::Intrinsic1: intrinsic_1(it.arg); return true;
    case Op::Intrinsic2: intrinsic_2(it.arg); return true;
    default: return false;
  }
}

void Evaluator::make_function_value(int flags) {
  Value* code = pop();
  const suture::Constant* constant = constant_of(code->expr);
  if (!constant || !constant->is(suture::Constant::Kind::kCode)) return fail("a function without code");
  Value* function = make_value(ValueKind::kFunction);
  function->function = std::make_shared<FunctionParts>();
  function->function->code = constant->code.get();
  const CodeKind kind = kind_of_code(*function->function->code, &scope_);
  if (kind == CodeKind::kFunction || kind == CodeKind::kClass) function->kind = ValueKind::kDefinition;
  for (const FunctionAttribute flag : kFunctionAttributes)
    if (flags & flag) set_function_attribute(function, flag, pop());
  stack_.push_back(function);
}

void Evaluator::set_function_attribute(Value* function, int flag, Value* value) {
  if (!function->function) return fail("an attribute of something other than a new function");
  FunctionParts& parts = *function->function;
  switch (flag) {
    case kDefaults: parts.defaults = elements_of(as_expression(value)); return;
    case kKeywordDefaults: {
      auto pairs = named_pairs(value->expr);
      if (!pairs) return fail("defaults of keyword arguments without names");
      parts.keyword_defaults = std::move(*pairs);
      return;
    }
    case kAnnotations: {
      const Expressions items = elements_of(value->expr);
      for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const suture::Constant* annotated = constant_of(items[i]);
        if (!annotated) return fail("an annotation without a name");
        parts.annotations.push_back({annotated->text, items[i + 1]});
      }
      return;
    }
    case kClosure: return;  // names say it
    default: fail("a function attribute that does not exist");
  }
}

void Evaluator::intrinsic_1(int number) {
  switch (number) {
    case kPrint: return;
    case kImportStar: {
      Value* module = pop();
      if (module->kind != ValueKind::kModule) return fail("import * of something other than a module");
      emit(make<ImportFrom>(module->name, std::vector<Alias>{{"*", ""}}, module->level));
      push(ValueKind::kNothing);
      return;
    }
    case kAsyncGenWrap: return;  // of what an asynchronous generator yields
    case kUnaryPositive: push_expr(make<UnaryOp>(UnaryOperator::UAdd, operand())); return;
    case kListToTuple: {
      LiftedInstruction to_tuple = *current_;
      to_tuple.op = Op::ListToTuple;
      execute_growth(to_tuple);
      return;
    }
    default:
      if (!execute_type_params(number)) fail(fmt::format("intrinsic function {} does not exist", number));
  }
}

}  // namespace suture::toolbox
