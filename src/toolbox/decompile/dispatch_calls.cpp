// Instructions of a dispatch loop: calls, definitions, imports, exceptions, and what ends a node.
#include <algorithm>

#include <fmt/format.h>

#include "bytecode/compiler_limits.h"
#include "toolbox/decompile/annotations.h"
#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/operand_numbers.h"
#include "toolbox/decompile/scope.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

// ---- calls

bool Machine::execute_call(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::Call: call(it.arg, it.constant >= 0 ? code_.constant(it.constant) : nullptr); return true;
    case Op::CallKw: {
      const Slot names = operand();
      const suture::Constant* constant = constant_of(names.expr);
      if (!constant) fail("a call without the names of its keywords");
      if (!failed()) call(it.arg, constant);
      return true;
    }
    case Op::CallEx: call_ex((it.arg & 1) != 0); return true;
    default: return false;
  }
}

// Stack: callee and an empty slot (in either order), or callee and first argument; then the arguments.
void Machine::call(int count, const suture::Constant* names) {
  if (count < 0 || count + 2 > static_cast<int>(slots_.size())) return fail("the stack is too small");
  std::vector<Slot> args(slots_.end() - count, slots_.end());
  slots_.resize(slots_.size() - static_cast<size_t>(count));
  Slot second = pop(), first = pop();
  Slot callee = first.kind == SlotKind::kNull ? second : first;
  // The compiler leaves a NULL beside an attribute where both stand together in one block only.
  callee.plain = first.kind == SlotKind::kNull && callee.waits && first.id != node_;
  if (first.kind != SlotKind::kNull && second.kind != SlotKind::kNull && second.kind != SlotKind::kSelf) {
    args.insert(args.begin(), second);
  }
  std::vector<Keyword> keywords;
  if (names) {
    if (!names->is(suture::Constant::Kind::kTuple) || names->items->size() > args.size()) {
      return fail("a call with more keywords than arguments");
    }
    const size_t begin = args.size() - names->items->size();
    for (size_t i = 0; i < names->items->size(); ++i)
      keywords.push_back({(*names->items)[i].text, args[begin + i].expr});
  }
  call_value(std::move(callee), std::move(args), std::move(keywords));
}

// `args` holds the keywords' values, too, at the end.
void Machine::call_value(Slot callee, std::vector<Slot> args, std::vector<Keyword> keywords) {
  if (callee.kind == SlotKind::kExit) return push_kind(SlotKind::kNothing);  // exit(None, None, None)
  if (callee.kind == SlotKind::kBuildClass) return build_class(args, std::move(keywords));
  if (callee.kind == SlotKind::kGeneric) return call_generic(callee, args);
  if (callee.kind == SlotKind::kAssertion) {
    if (args.size() != 1 || !keywords.empty()) return fail("an assertion with more than one message");
    slots_.push_back(
        {.kind = SlotKind::kAssertion, .expr = args[0].expr, .waits = true, .uses = args[0].uses});
    return;
  }
  if (callee.kind == SlotKind::kComprehension && args.size() == 1 && keywords.empty()) {
    auto* generator = as<GeneratorExp>(callee.expr);
    auto* list = as<ListComp>(callee.expr);
    auto* set = as<SetComp>(callee.expr);
    auto* dict = as<DictComp>(callee.expr);
    auto& generators = generator ? generator->generators
                       : list    ? list->generators
                       : set     ? set->generators
                                 : dict->generators;
    if (!args[0].expr || generators.empty()) return fail("a comprehension without an iterable");
    if (!completed_.insert(callee.expr).second) return fail("a comprehension that several blocks complete");
    generators[0].iter = args[0].expr;
    push(callee.expr, args[0].uses);
    slots_.back().awaited = callee.awaited;
    return;
  }
  if (args.size() == 1 && keywords.empty() && args[0].kind == SlotKind::kDefinition &&
      callee.kind == SlotKind::kValue) {
    Slot definition = std::move(args[0]);
    auto* function = as<FunctionDef>(definition.definition);
    auto* coroutine = as<AsyncFunctionDef>(definition.definition);
    auto* of_class = as<ClassDef>(definition.definition);
    if (!function && !coroutine && !of_class) return fail("a decorator of what no statement decorates");
    auto& decorators = function    ? function->decorator_list
                       : coroutine ? coroutine->decorator_list
                                   : of_class->decorator_list;
    decorators.insert(decorators.begin(), callee.expr);
    definition.uses.insert(callee.uses.begin(), callee.uses.end());
    slots_.push_back(std::move(definition));
    return;
  }
  std::set<int> uses = callee.uses;
  Expressions values;
  if (callee.plain && as<Attribute>(callee.expr)) {  // no method
    const int local = next_spare_++;
    spill_all();
    out_->push_back(make<Assign>(Expressions{slot_name(local)}, callee.expr));
    callee.expr = slot_name(local);
    uses = {local};
  }
  if (callee.kind != SlotKind::kValue && callee.kind != SlotKind::kEntered)
    return fail("a call of what no expression gives");
  for (Slot& arg : args) {
    if (arg.kind == SlotKind::kIterable) arg.expr = make<Call>(make<Name>("iter"), Expressions{arg.expr});
    const bool value =
        arg.kind == SlotKind::kValue || arg.kind == SlotKind::kIterable || arg.kind == SlotKind::kEntered;
    if (!value) return fail("an argument that no expression gives");
    values.push_back(arg.expr);
    uses.insert(arg.uses.begin(), arg.uses.end());
  }
  values.resize(values.size() - keywords.size());
  push(make<Call>(callee.expr, std::move(values), std::move(keywords)), std::move(uses));
}

// Are all keys names that may stand in front of `=`, or `**mapping`?
bool Machine::names_arguments(const Dict& dict) const {
  return std::ranges::all_of(dict.keys, [&](const Expression* key) {
    const suture::Constant* constant = key ? constant_of(key) : nullptr;
    return !key || (constant && constant->is(suture::Constant::Kind::kStr) && is_identifier(constant->text));
  });
}

void Machine::call_ex(bool has_keywords) {
  std::set<int> uses;
  std::vector<Keyword> keywords;
  if (has_keywords) {
    const Slot mapping = operand();
    const auto* dict = mapping.display ? as<Dict>(mapping.expr) : nullptr;
    const bool named = dict && names_arguments(*dict);
    if (named) {
      for (size_t i = 0; i < dict->keys.size(); ++i) {
        keywords.push_back({dict->keys[i] ? constant_of(dict->keys[i])->text : "", dict->values[i]});
      }
    } else {
      keywords.push_back({"", mapping.expr});
    }
    uses.insert(mapping.uses.begin(), mapping.uses.end());
  }
  const Slot positional = operand();
  uses.insert(positional.uses.begin(), positional.uses.end());
  const suture::Constant* constant = constant_of(positional.expr);
  const bool is_display = (positional.display && as<Tuple>(positional.expr)) ||
                          (constant && constant->is(suture::Constant::Kind::kTuple));
  Expressions args;
  if (is_display) args = elements_of(positional.expr);
  const bool starred =
      std::ranges::any_of(args, [](const Expression* arg) { return as<Starred>(arg) != nullptr; }) ||
      std::ranges::any_of(keywords, [](const Keyword& keyword) { return keyword.arg.empty(); });
  if (!is_display || (!starred && args.size() + 2 * keywords.size() <= kMostPushedArguments))
    args = {make<Starred>(positional.expr)};
  Slot second = pop();
  Slot first = second;
  if (second.kind == SlotKind::kNull || (!slots_.empty() && slots_.back().kind == SlotKind::kNull))
    first = pop();
  const Slot callee = first.kind == SlotKind::kNull ? second : first;
  if (callee.kind == SlotKind::kBuildClass) {
    std::vector<Slot> values;
    for (Expression* arg : args) {
      const auto body = class_bodies_.find(arg);
      values.push_back(body == class_bodies_.end() ? Slot{.expr = arg, .uses = uses} : body->second);
    }
    for (const Keyword& keyword : keywords) values.push_back({.expr = keyword.value, .uses = uses});
    return build_class(values, std::move(keywords));
  }
  if (callee.kind != SlotKind::kValue) return fail("a call of what no expression gives");
  uses.insert(callee.uses.begin(), callee.uses.end());
  push(make<Call>(callee.expr, std::move(args), std::move(keywords)), std::move(uses));
}

// ---- definitions

bool Machine::execute_definition(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::MakeFunction: make_function(lifted_.known_version_at_least(13) ? 0 : it.arg); return true;
    case Op::SetFunctionAttribute: {
      Slot function = pop();
      const Slot attribute = pop();
      set_function_attribute(function, it.arg, attribute);
      slots_.push_back(std::move(function));
      return true;
    }
    case Op::ImportName: import(it); return true;
    case Op::Intrinsic1:
      switch (it.arg) {
        case kAsyncGenWrap: return true;  // of what an asynchronous generator yields
        case kUnaryPositive: {
          LiftedInstruction positive = it;
          positive.op = Op::UnaryPositive;
          return execute_operator(positive);
        }
        case kListToTuple: {
          LiftedInstruction tuple = it;
          tuple.op = Op::ListToTuple;
          return execute_display(tuple);
        }
        default: return false;
      }
    case Op::AsyncGenWrap: return true;
    case Op::SetupAnnotations: has_annotations_ = true; return true;
    default: return false;
  }
}

void Machine::make_function(int flags) {
  const Slot code = pop();
  const suture::Constant* constant = constant_of(code.expr);
  if (!constant || !constant->is(suture::Constant::Kind::kCode)) return fail("a function without code");
  if (kind_of_code(*constant->code, nullptr) == CodeKind::kTypeParameters) {
    if (flags & ~kClosure) return fail("type parameters with defaults of their own");
    if (flags & kClosure) pop();
    push_kind(SlotKind::kGeneric);
    slots_.back().code = constant->code;
    return;
  }
  const bool late = is_value_of_alias();
  auto nested =
      nested_({constant->code, late ? NestedCode::Use::kLate : NestedCode::Use::kDefinition, {}}, tree_);
  if (!nested) return fail(nested.error().message);
  if (nested->size() != 1) return fail("a nested function without a definition");
  Slot function{.kind = SlotKind::kDefinition, .waits = true, .definition = (*nested)[0]};
  if (auto* expr = as<syntax::Expr>((*nested)[0])) {
    const bool lambda = expr->value->kind == ExpressionKind::Lambda;
    function.kind = late ? SlotKind::kLate : lambda ? SlotKind::kValue : SlotKind::kComprehension;
    function.expr = expr->value;
    if (!lambda) note_stores(*constant->code);
    function.awaited = (constant->code->view.flags & kCodeCoroutine) != 0;
  }
  for (const FunctionAttribute flag : kFunctionAttributes) {
    if (flags & flag) set_function_attribute(function, flag, pop());
  }
  slots_.push_back(std::move(function));
}

// What a comprehension assigns to is declared in the code around it.
void Machine::note_stores(const CodeTree& comprehension) {
  const auto lifted = lift(comprehension);
  if (!lifted) return;
  const auto& locals = code_.view.local_names;
  for (const LiftedInstruction& it : lifted->instructions) {
    const auto& names = it.op == Op::StoreGlobal ? comprehension.view.names : comprehension.view.local_names;
    if ((it.op != Op::StoreGlobal && it.op != Op::StoreDeref) || it.arg < 0 ||
        it.arg >= static_cast<int>(names.size()))
      continue;
    const std::string& id = names[static_cast<size_t>(it.arg)];
    if (it.op == Op::StoreGlobal) globals_.insert(unmangled(class_name_, id));
    const auto at = std::ranges::find(locals, id);
    if (it.op == Op::StoreDeref && at != locals.end() && is_free(static_cast<int>(at - locals.begin())))
      nonlocals_.insert(unmangled(class_name_, id));
  }
}

void Machine::set_function_attribute(Slot& function, int flag, const Slot& value) {
  if (flag == kClosure) return;  // names say it
  auto* definition = as<FunctionDef>(function.definition);
  auto* coroutine = as<AsyncFunctionDef>(function.definition);
  auto* lambda = as<Lambda>(function.expr);
  Arguments* args = definition  ? &definition->args
                    : coroutine ? &coroutine->args
                    : lambda    ? &lambda->args
                                : nullptr;
  if (!args) return fail("defaults of what is no function");
  if (!value.expr) return fail("defaults that no expression gives");
  function.uses.insert(value.uses.begin(), value.uses.end());
  if (flag == kDefaults) {
    args->defaults = elements_of(value.expr);
    return;
  }
  const auto* dict = as<Dict>(value.expr);
  Expressions keys, values;
  if (flag == kAnnotations) {
    const Expressions items = elements_of(value.expr);
    for (size_t i = 0; i + 1 < items.size(); i += 2) keys.push_back(items[i]), values.push_back(items[i + 1]);
  } else if (dict) {
    keys = dict->keys, values = dict->values;
  } else {
    return fail("defaults of keyword arguments without names");
  }
  if (flag == kAnnotations) {
    for (Expression*& value : values) value = annotation_expression(code_.view.flags, value, tree_);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const suture::Constant* key = keys[i] ? constant_of(keys[i]) : nullptr;
    if (!key) return fail("a parameter without a name");
    if (flag == kAnnotations && key->text == "return") {
      (definition ? definition->returns : coroutine->returns) = values[i];
      continue;
    }
    std::vector<std::vector<Arg>*> lists = {&args->kwonlyargs};
    if (flag == kAnnotations) lists = {&args->kwonlyargs, &args->args, &args->posonlyargs};
    bool found = false;
    for (auto* list : lists) {
      for (size_t at = 0; at < list->size() && !found; ++at) {
        if ((*list)[at].arg != key->text) continue;
        found = true;
        if (flag == kAnnotations) (*list)[at].annotation = values[i];
        if (flag == kKeywordDefaults) args->kw_defaults[at] = values[i];
      }
    }
    for (Arg* star : {&args->vararg, &args->kwarg}) {
      if (flag == kAnnotations && !found && star->arg == key->text)
        star->annotation = values[i], found = true;
    }
    if (!found) return fail("a default of a parameter that does not exist");
  }
}

void Machine::build_class(std::vector<Slot>& args, std::vector<Keyword> keywords) {
  auto* definition = args.size() >= 2 ? as<ClassDef>(args[0].definition) : nullptr;
  const suture::Constant* name = definition ? constant_of(args[1].expr) : nullptr;
  // Behind a branch the name is in a local; then the check compares it.
  const bool other_name = name && (!name->is(suture::Constant::Kind::kStr) || name->text != definition->name);
  if (!definition || other_name) return fail("a class without a body");
  Slot slot{.kind = SlotKind::kDefinition, .waits = true, .definition = definition};
  if (!completed_.insert(definition).second) return fail("a class that several blocks complete");
  for (size_t i = 2; i < args.size(); ++i) {
    if (!args[i].expr) return fail("a base class that no expression gives");
    if (i < args.size() - keywords.size()) definition->bases.push_back(args[i].expr);
    slot.uses.insert(args[i].uses.begin(), args[i].uses.end());
  }
  definition->keywords = std::move(keywords);
  slots_.push_back(std::move(slot));
}

namespace {

std::string name_of_definition(const Statement* statement) {
  if (const auto* function = as<FunctionDef>(statement)) return function->name;
  if (const auto* function = as<AsyncFunctionDef>(statement)) return function->name;
  if (const auto* of_class = as<ClassDef>(statement)) return of_class->name;
  const auto* alias = as<syntax::TypeAlias>(statement);
  if (const auto* name = alias ? as<Name>(alias->name) : nullptr) return name->id;
  return "";
}

}  // namespace

void Machine::store_definition(Expression* target, Slot value) {
  const auto* name = as<Name>(target);
  if (name && name->id == name_of_definition(value.definition)) return emit(value.definition, value.uses);
  name_definition(value);
  if (!failed()) emit(make<Assign>(Expressions{target}, value.expr));
}

void Machine::name_definition(Slot& slot) {
  const std::string id = name_of_definition(slot.definition);
  const auto& view = code_.view;
  const bool taken = std::ranges::find(view.local_names, id) != view.local_names.end() ||
                     std::ranges::find(view.names, id) != view.names.end();
  if (taken) return fail("a definition that is used before it has its name");
  synthetic_.insert(id);
  emit(slot.definition, slot.uses);
  slot = {.kind = SlotKind::kValue, .expr = make<Name>(id), .waits = true};
}

// ---- imports: IMPORT_NAME and what follows, up to the last store

void Machine::import(const LiftedInstruction& it) {
  const Slot list = operand(), level = operand();
  const suture::Constant* from = constant_of(list.expr);
  const suture::Constant* up = constant_of(level.expr);
  const std::string module = name(it.arg);
  if (failed()) return;
  if (!from || !up || !up->is(suture::Constant::Kind::kInt)) return fail("an import that no statement makes");
  if (from->is(suture::Constant::Kind::kTuple)) return import_from(it, module, static_cast<int>(up->integer));
  Alias alias{module, ""};
  int at = it.next, store = -1;
  while (at >= 0 && lifted_.at(at).op == Op::ImportFrom) {  // import a.b as c
    const int second = lifted_.after(at), third = lifted_.after(second);
    if (third < 0) break;
    alias.asname = "?";
    if (is_store(lifted_.at(second).op) && lifted_.at(third).op == Op::PopTop) {  // 3.13: without the SWAP
      store = second;
      at = third;
      break;
    }
    if (lifted_.at(second).op != Op::Swap || lifted_.at(third).op != Op::PopTop) break;
    at = lifted_.after(third);
  }
  if (at < 0) return fail("an import that no statement makes");
  const LiftedInstruction& last = lifted_.at(store >= 0 ? store : at);
  if (!is_store(last.op)) return fail("an import into something other than a name");
  const std::string target = stored_name(last);
  const bool top = alias.asname.empty() && target == module.substr(0, module.find('.'));
  alias.asname = top ? "" : target;
  emit(make<Import>(std::vector<Alias>{alias}));
  at_ = at;
}

void Machine::import_from(const LiftedInstruction& it, const std::string& module, int level) {
  std::vector<Alias> aliases;
  int at = it.next;
  const bool everything =
      at >= 0 && (lifted_.at(at).op == Op::ImportStar ||
                  (lifted_.at(at).op == Op::Intrinsic1 && lifted_.at(at).arg == kImportStar));
  if (everything) {
    if (lifted_.at(at).op == Op::Intrinsic1) at = lifted_.at(at).next;  // the result is dropped
    if (at < 0) return fail("an import that no statement makes");
    emit(make<ImportFrom>(module, std::vector<Alias>{{"*", ""}}, level));
    at_ = at;
    return;
  }
  while (at >= 0 && lifted_.at(at).op == Op::ImportFrom) {
    const int stored = lifted_.at(at).next;
    if (stored < 0) break;
    const LiftedInstruction& last = lifted_.at(stored);
    if (!is_store(last.op)) break;
    const std::string from = name(lifted_.at(at).arg), target = stored_name(last);
    aliases.push_back({from, target == from ? "" : target});
    at = last.next;
  }
  if (aliases.empty() || at < 0 || lifted_.at(at).op != Op::PopTop)
    return fail("an import that no statement makes");
  emit(make<ImportFrom>(module, std::move(aliases), level));
  at_ = at;
}

// ---- exceptions, await, yield

bool Machine::execute_exception(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::GetIter:
    case Op::GetAiter: {
      Slot of = operand();
      of.kind = SlotKind::kIterable;
      of.waits = true;
      of.display = false;
      slots_.push_back(std::move(of));
      return true;
    }
    case Op::Await: {
      if (!slots_.empty() &&
          (slots_.back().kind == SlotKind::kNothing || slots_.back().kind == SlotKind::kEntered))
        return true;
      if (!slots_.empty() && std::exchange(slots_.back().awaited, false)) return true;
      const Slot of = operand();
      push(make<Await>(of.expr), of.uses);
      return true;
    }
    case Op::YieldFrom: {
      const Slot of = operand();
      yields_ = true;
      push(make<YieldFrom>(of.expr), of.uses);
      return true;
    }
    case Op::Yield: {
      const Slot of = operand();
      yields_ = true;
      push(make<Yield>(of.expr), of.uses);
      return true;
    }
    case Op::PopExcept: {
      const Slot previous = pop();
      if (previous.kind != SlotKind::kPrevious) return fail("the end of a handler outside of it"), true;
      if (previous.name.empty()) return true;
      // `name = None; del name`, which the except clause does by itself
      int at = it.next;
      for (int i = 0; i < 2 && at >= 0; ++i) at = lifted_.at(reach(at)).next;
      const int deletion = at >= 0 ? reach(at) : -1;
      const Op op = deletion >= 0 ? lifted_.at(deletion).op : Op::Nop;
      if (op != Op::DeleteFast && op != Op::DeleteDeref && op != Op::DeleteGlobal && op != Op::DeleteName)
        return fail("a handler that does not clear its name"), true;
      at_ = deletion;
      return true;
    }
    default: return false;
  }
}

// ---- the end of a node

// Where a jump that keeps its value comes to when the value is tested again there: that test has no effect of its own. -1: the value
// is kept.
int Machine::threaded_target(const LiftedInstruction& jump) const {
  int at = lifted_.skip_empty(jump.target);
  for (int steps = 0; at >= 0 && steps < lifted_.size(); ++steps) {
    const LiftedInstruction& next = lifted_.at(at);
    const auto test = static_cast<JumpTest>(next.flag);
    if (next.op != Op::JumpIf && next.op != Op::JumpIfOrPop) return -1;
    if (test != JumpTest::kTrue && test != JumpTest::kFalse) return -1;
    if (next.flag != jump.flag) return next.next;
    if (next.op == Op::JumpIf) return next.target;
    at = lifted_.skip_empty(next.target);
  }
  return -1;
}

void Machine::branch(const LiftedInstruction& it) {
  Context* context = nodes_[static_cast<size_t>(node_)].context;
  const auto kind = static_cast<JumpTest>(it.flag);
  const Slot tested = operand();
  if (failed()) return;
  Slots jumping = slots_;
  Expression* test = tested.expr;
  std::set<int> uses = tested.uses;
  if (it.op == Op::JumpIfOrPop) {  // the way of the jump keeps the value
    slots_.push_back(tested);
    spill_all();
    test = slots_.back().expr;
    uses = slots_.back().uses;
    jumping = slots_;
    slots_.pop_back();
  }
  if (const auto* compare = it.op == Op::JumpIf ? as<Compare>(test) : nullptr;
      compare && compare->ops.size() == 1 && constant_of(compare->comparators[0]) &&
      constant_of(compare->comparators[0])->is(suture::Constant::Kind::kNone) &&
      (compare->ops[0] == CompareOperator::Is || compare->ops[0] == CompareOperator::IsNot)) {
    // The compiler makes one jump of it, but for where it has seen the test too late.
    spill_all(uses);
    const int local = next_spare_++;
    out_->push_back(make<Assign>(Expressions{slot_name(local)}, test));
    test = slot_name(local);
    uses = {local};
  }
  bool when_true = kind == JumpTest::kTrue;
  if (kind == JumpTest::kNone || kind == JumpTest::kNotNone) {
    Expression* none = make<syntax::Constant>(suture::Constant::none());
    test = make<Compare>(test, std::vector{CompareOperator::Is}, Expressions{none});
    when_true = kind == JumpTest::kNone;
  }
  int target = it.target;
  if (it.op == Op::JumpIfOrPop) {
    if (const int threaded = threaded_target(it); threaded >= 0) {  // the value is gone there
      target = threaded;
      jumping.pop_back();
    }
  } else {
    spill_all(uses);
    jumping = slots_;
  }
  // What the ways need in their `_s` may be what the test reads: it is evaluated first in both.
  Statements yes, no;
  go(target, std::move(jumping), context, yes);
  go(it.next, slots_, context, no);
  out_->push_back(
      make<If>(test, when_true ? std::move(yes) : std::move(no), when_true ? std::move(no) : std::move(yes)));
}

// Where a value is stored at once: the target, and `at` becomes what follows. Null: it is not.
Expression* Machine::read_target(int& at, int region) {
  const auto is_here = [&](int one) {
    return one >= 0 && !is_leader_[static_cast<size_t>(one)] && regions_.region_of(one) == region;
  };
  std::vector<int> stores;
  int end = at;
  const bool unpacks = is_here(at) && lifted_.at(at).op == Op::UnpackSequence;
  const int count = unpacks ? lifted_.at(at).arg : 1;
  if (unpacks) end = lifted_.after(at);
  for (int i = 0; i < count; ++i, end = lifted_.after(end)) {
    if (!is_here(end) || !is_store(lifted_.at(end).op)) return nullptr;
    stores.push_back(end);
  }
  // An empty body has nothing but the store.
  if (end < 0 || lifted_.at(end).op == Op::ForIter || lifted_.at(end).op == Op::AsyncForIter) return nullptr;
  Expressions targets;
  for (const int store : stores) targets.push_back(make<Name>(stored_name(lifted_.at(store))));
  at = end;
  return unpacks ? make<Tuple>(targets) : targets.front();
}

void Machine::for_loop(const LiftedInstruction& it) {
  DispatchNode& node = nodes_[static_cast<size_t>(node_)];
  const Slot iterator = pop();
  if (iterator.kind != SlotKind::kIterable && iterator.kind != SlotKind::kValue)
    return fail("a loop over what no expression gives");
  node.tail = Tail::kFor;
  node.is_async = it.op == Op::AsyncForIter;
  node.subject = iterator.expr;
  const auto depth = static_cast<int>(slots_.size());
  node.target = slot_name(depth + 1);
  Slots after = slots_;
  slots_.push_back({.kind = SlotKind::kIterator, .id = node_});
  push(slot_name(depth + 1), {depth + 1}, false);
  Context* context = node.context;
  int next = reach(it.next);
  Expression* const target = form_ == LoopForm::kFlags ? read_target(next, regions_.region_of(at_)) : nullptr;
  if (target) slots_.pop_back();
  const int body = node_at(next, slots_);
  if (failed()) return;
  Statements otherwise;
  go(it.target, std::move(after), context, otherwise);
  DispatchNode& done = nodes_[static_cast<size_t>(node_)];
  if (target) done.target = target;
  done.inside_node = body;
  done.inside = interned_[{Context::Kind::kFor, node_, context}];
  done.otherwise = std::move(otherwise);
  if (!done.inside || nodes_[static_cast<size_t>(body)].context != done.inside) {
    // The body begins with a try statement; it is entered from the loop's own context.
    if (!done.inside) return fail("a loop without a body");
  }
}

void Machine::with_statement(const LiftedInstruction& it) {
  const Slot manager = operand();
  if (failed()) return;
  spill_all(manager.uses);
  DispatchNode& node = nodes_[static_cast<size_t>(node_)];
  Context* context = node.context;
  node.tail = Tail::kWith;
  node.is_async = it.op == Op::BeforeAsyncWith;
  node.subject = manager.expr;
  const auto depth = static_cast<int>(slots_.size());
  node.target = slot_name(depth + 1);
  const Slots below = slots_;
  slots_.push_back({.kind = SlotKind::kExit, .id = node_});
  push(slot_name(depth + 1), {depth + 1}, false);
  slots_.back().kind = SlotKind::kEntered;
  int next = reach(it.next);
  if (node.is_async && next >= 0 && lifted_.at(next).op == Op::Await) next = reach(lifted_.at(next).next);
  if (next < 0) return fail("a with statement without a body");
  int region = regions_.region_of(next);
  while (region >= 0 &&
         (regions_.at(region).kind != RegionKind::kWith || regions_.at(region).depth != depth + 1)) {
    region = regions_.at(region).parent;
  }
  if (region < 0) return fail("a with statement without a handler");
  Expression* target = nullptr;
  const bool named = form_ == LoopForm::kFlags && (target = read_target(next, region));
  if (named) slots_.pop_back();
  const int body = node_at(next, slots_);
  if (failed()) return;
  Statements otherwise;
  const int last = regions_.at(region).suppressing;  // of what runs when an exception was swallowed
  const int behind = last < 0 ? -1 : lifted_.at(last).next;
  if (behind >= 0) go(behind, below, context, otherwise);
  DispatchNode& done = nodes_[static_cast<size_t>(node_)];
  done.inside_node = body;
  done.inside = interned_[{Context::Kind::kWith, node_, context}];
  if (named) done.target = target;
  done.can_swallow = behind >= 0;
  done.otherwise = std::move(otherwise);
  if (!done.inside) fail("a with statement without a body");
}

bool Machine::ends_node(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::JumpIf:
    case Op::JumpIfOrPop: branch(it); return true;
    case Op::Nop:
    case Op::Jump:  // only a loop that does nothing has them
      emit(make<While>(make<syntax::Constant>(suture::Constant::boolean(true)), Statements{make<Pass>()}));
      return true;
    case Op::MatchSequence:
    case Op::MatchMapping:
    case Op::MatchClass: return match_statement(it);
    case Op::ForIter:
    case Op::AsyncForIter: for_loop(it); return true;
    case Op::BeforeWith:
    case Op::BeforeAsyncWith: with_statement(it); return true;
    case Op::Return: {
      if (!is_function()) return fail("the body of a module or class that returns a value"), true;
      const Slot value = operand();
      for (const Slot& slot : slots_) {
        if (slot.kind == SlotKind::kExit) fail("a return inside a with statement that leaves it open");
      }
      const suture::Constant* constant = constant_of(value.expr);
      const bool none = constant && constant->is(suture::Constant::Kind::kNone);
      if ((code_.view.flags & kCodeAsyncGenerator) && !none)
        fail("an asynchronous generator that returns a value");
      emit(make<Return>(none && (code_.view.flags & kCodeAsyncGenerator) ? nullptr : value.expr), value.uses);
      return true;
    }
    case Op::Raise: {
      if (it.arg == 1 && !slots_.empty() && slots_.back().kind == SlotKind::kAssertion) {
        const Slot assertion = pop();
        auto* never = make<syntax::Constant>(suture::Constant::boolean(false));
        emit(make<Assert>(never, assertion.expr), assertion.uses);
        return true;
      }
      std::set<int> uses;
      const Expressions parts = expressions(operands(it.arg), uses);
      if (!failed())
        emit(make<Raise>(!parts.empty() ? parts[0] : nullptr, parts.size() > 1 ? parts[1] : nullptr), uses);
      return true;
    }
    case Op::Reraise: {
      const Slot exception = pop();
      if (exception.kind != SlotKind::kException) fail("an exception is raised again outside of its handler");
      emit(make<Raise>(nullptr, nullptr));
      return true;
    }
    case Op::Stop: emit(make<Raise>(make<Name>("SystemError"), nullptr)); return true;
    default: return false;
  }
}

}  // namespace suture::toolbox::dispatch
