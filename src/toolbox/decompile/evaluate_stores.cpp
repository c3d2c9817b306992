// Stores, deletions and imports: where values on the stack become statements.
//
// A store of a value whose copy stays on the stack waits: the copy is stored next (`a = b = value`) or used (`(a := value)`).
// While other values of the same statement are on the stack, stores are collected: `a, b = x, y` stores without a tuple.
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/decompile/annotations.h"
#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {

using namespace syntax;

bool Evaluator::execute_store(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::StoreFast:
      if (!stack_.empty() && stack_.back()->kind == ValueKind::kSaved) {
        pop();  // the variable that an inlined comprehension had hidden
        return true;
      }
      note_use(result_.bound, it.arg);
      store(name_expr(local_name(it.arg)));
      return true;
    case Op::StoreDeref:
      note_use(result_.bound, it.arg);
      if (!is_hidden(it.arg)) note_store(it.op, it.arg);
      store(name_expr(local_name(it.arg)));
      return true;
    case Op::StoreGlobal:
      result_.globals.insert(name(it.arg));
      store(name_expr(name(it.arg)));
      return true;
    case Op::StoreName: store(name_expr(name(it.arg))); return true;
    case Op::StoreAttr: store(make<Attribute>(operand(), name(it.arg))); return true;
    case Op::StoreItem: {
      Expression* key = operand();
      Expression* container = operand();
      if (!stack_.empty() && stack_.back()->expr && annotate(container, key, stack_.back()->expr)) {
        pop();
        return true;
      }
      store(make<Subscript>(container, key));
      return true;
    }
    case Op::StoreSlice: slice(true); return true;
    case Op::UnpackSequence:
    case Op::UnpackEx: {
      auto unpacking = std::make_shared<Unpacking>();
      unpacking->source = pop();
      const bool star = it.op == Op::UnpackEx;
      const int before = star ? it.arg & 255 : it.arg, after = star ? it.arg >> 8 : 0;
      const int count = before + after + star;
      unpacking->star = star ? before : -1;
      unpacking->missing = count;
      unpacking->targets.assign(static_cast<size_t>(count), nullptr);
      for (int part = count - 1; part >= 0; --part) {
        Value* value = push(ValueKind::kPart);
        value->unpacking = unpacking;
        value->part = part;
      }
      if (count == 0) assign(unpacking->source, make<Tuple>());
      return true;
    }
    default: return false;
  }
}

void Evaluator::store(Expression* target) {
  Value* value = pop();
  fill_dead_targets(target);
  assign(value, target);
}

// Values that are dropped in the middle of an assignment had a target that the next one overwrote: it is named again.
void Evaluator::fill_dead_targets(Expression* target) {
  for (Expression** dead : dead_targets_) *dead = target;
  dead_targets_.clear();
}

void Evaluator::assign(Value* value, Expression* target) {
  if (value->kind == ValueKind::kPart) return assign_part(value, target);
  if (assign_special(value, target)) return;
  if (value->kind == ValueKind::kDefinition) return define(value, target);
  if (value->kind == ValueKind::kFunction) as_expression(value);
  if (const Name* hidden = as<Name>(target);
      hidden && hidden->id.starts_with(".")) {  // .type_params, .generic_base
    if (hidden->id == ".type_params") type_params_ = type_params_of(value->expr);
    return;
  }
  if (value->kind == ValueKind::kCell) {  // __classcell__
    if (!as<Name>(target)) fail("a cell that is stored elsewhere than in a name");
    return;
  }
  if (value->kind != ValueKind::kExpression) return fail("a store of something other than a value");
  if (value->in_place && as<BinOp>(value->expr)) return augment(value, target);
  if (on_stack(value)) {
    value->targets.push_back(target);
    return;
  }
  stores_.emplace_back(value, target);
  if (at_base()) flush_stores();
}

void Evaluator::assign_part(Value* value, Expression* target) {
  Unpacking& unpacking = *value->unpacking;
  if (value->part == unpacking.star) target = make<Starred>(target);
  unpacking.targets[static_cast<size_t>(value->part)] = target;
  if (--unpacking.missing > 0) return;
  assign(unpacking.source, make<Tuple>(unpacking.targets));
}

// Targets of for, with, except and import statements.
bool Evaluator::assign_special(Value* value, Expression* target) {
  switch (value->kind) {
    case ValueKind::kItem: graph_.at(value->place).target = target; return true;
    case ValueKind::kTypeParameter:
    case ValueKind::kNothing: return true;  // names of the compiler
    case ValueKind::kTypeAlias:
      emit(make<syntax::TypeAlias>(target, value->alias->type_params, value->alias->value));
      return true;
    case ValueKind::kEntered: graph_.withs[value->place].optional_vars = target; return true;
    case ValueKind::kException: {
      const Name* name = as<Name>(target);
      const bool star = regions_.at(value->place).kind == RegionKind::kExceptStar;
      if (!name || stack_.empty() || (!star && stack_.back()->kind != ValueKind::kPrevious)) {
        fail("an exception that is stored elsewhere than in a name");
        return true;
      }
      graph_.at(node_).clause_name = name->id;
      if (star) return true;  // mark_except_star() has cut out what clears it
      Value* previous = make_value(ValueKind::kPrevious);
      previous->place = stack_.back()->place;
      previous->name = name->id;
      stack_.back() = previous;
      return true;
    }
    case ValueKind::kModule:
    case ValueKind::kModuleItem: {
      const Name* name = as<Name>(target);
      if (!name)
        fail("an import into something other than a name");
      else
        assign_import(value, name->id);
      return true;
    }
    default: return false;
  }
}

void Evaluator::assign_import(Value* value, const std::string& target) {
  if (value->kind == ValueKind::kModule) {
    const std::string top = value->name.substr(0, value->name.find('.'));
    emit(make<Import>(std::vector<Alias>{{value->name, target == top ? "" : target}}));
    return;
  }
  Value* module = value->module;
  if (!module->has_from_list)
    emit(make<Import>(std::vector<Alias>{{module->name, target}}));
  else
    module->aliases.push_back({value->name, target == value->name ? "" : target});
}

void Evaluator::define(Value* value, Expression* target) {
  const Name* name = as<Name>(target);
  if (!name) return fail("a definition that is stored elsewhere than in a name");
  Result<Statement*> definition = value->class_parts
                                      ? make_class(builder_, scope_, *value->class_parts, value->decorators)
                                      : make_function(builder_, scope_, *value->function, value->decorators);
  if (!definition.ok()) {
    if (!failed()) error_ = definition.error().message;
    return;
  }
  emit(*definition);
}

void Evaluator::flush_stores() {
  if (stores_.empty()) return;
  auto stores = std::move(stores_);
  stores_.clear();
  if (stores.size() == 1) {
    auto [value, target] = stores.front();
    Expressions targets = value->targets;
    value->targets.clear();
    targets.push_back(target);
    emit(make<Assign>(std::move(targets), as_expression(value)));
    return;
  }
  std::sort(stores.begin(), stores.end(),
            [](const auto& a, const auto& b) { return a.first->order < b.first->order; });
  Expressions targets, values;
  for (auto& [value, target] : stores) {
    targets.push_back(target);
    values.push_back(as_expression(value));
  }
  emit(make<Assign>(Expressions{make<Tuple>(std::move(targets))}, make<Tuple>(std::move(values))));
}

void Evaluator::augment(Value* value, Expression* target) {
  const BinOp* operation = as<BinOp>(value->expr);
  if (!at_base()) return fail("an augmented assignment inside a statement");
  emit(make<AugAssign>(operation->left->kind == ExpressionKind::Name ? target : operation->left,
                       operation->op, operation->right));
}

// __annotations__['name'] = annotation, behind SETUP_ANNOTATIONS
bool Evaluator::annotate(Expression* container, Expression* key, Expression* value) {
  const Name* name = as<Name>(container);
  const suture::Constant* text = constant_of(key);
  if (!name || name->id != "__annotations__" || !text || !text->is(suture::Constant::Kind::kStr))
    return false;
  if (!result_.has_annotations || !is_identifier(text->text)) return false;
  result_.annotates = true;
  auto& statements = graph_.at(node_).statements;
  Expression* annotation = annotation_expression(scope_.view().flags, value, builder_.tree);
  if (!statements.empty()) {
    const Assign* assignment = as<Assign>(statements.back());
    const Name* target =
        assignment && assignment->targets.size() == 1 ? as<Name>(assignment->targets.front()) : nullptr;
    if (target && target->id == text->text) {
      Expression* assigned = assignment->value;
      statements.pop_back();
      emit(make<AnnAssign>(name_expr(text->text), annotation, assigned, true));
      return true;
    }
  }
  emit(make<AnnAssign>(name_expr(text->text), annotation, nullptr, true));
  return true;
}

void Evaluator::drop(Value* value) {
  switch (value->kind) {
    case ValueKind::kNothing:
    case ValueKind::kException:
    case ValueKind::kEntered:
    case ValueKind::kModuleItem: return;
    case ValueKind::kIterator: split_node(*current_, block_->region); return;
    case ValueKind::kModule:
      if (!value->aliases.empty()) emit(make<ImportFrom>(value->name, value->aliases, value->level));
      return;
    case ValueKind::kPart: {
      Unpacking& unpacking = *value->unpacking;
      dead_targets_.push_back(&unpacking.targets[static_cast<size_t>(value->part)]);
      if (--unpacking.missing == 0) fail("an assignment whose last target is lost");
      return;
    }
    case ValueKind::kFunction:
    case ValueKind::kExpression: break;
    default: fail("a dropped value that is none"); return;
  }
  if (value->used && value->targets.empty()) {  // a copy of it was used
    FlowNode& node = graph_.at(node_);
    if (node.has_no_statements() && !node.entry.empty() && node.entry.back() == value)
      node.dropped_test = value;
    return;
  }
  if (on_stack(value)) return;
  emit(make<Expr>(as_expression(value)));
}

bool Evaluator::execute_delete(const LiftedInstruction& it) {
  Expression* target = nullptr;
  switch (it.op) {
    case Op::DeleteDeref:
      note_use(result_.bound, it.arg);
      note_store(it.op, it.arg);
      target = name_expr(local_name(it.arg));
      break;
    case Op::DeleteFast:
      note_use(result_.bound, it.arg);
      target = name_expr(local_name(it.arg));
      break;
    case Op::DeleteGlobal: result_.globals.insert(name(it.arg)); [[fallthrough]];
    case Op::DeleteName: target = name_expr(name(it.arg)); break;
    case Op::DeleteAttr: target = make<Attribute>(operand(), name(it.arg)); break;
    case Op::DeleteItem: {
      Expression* key = operand();
      target = make<Subscript>(operand(), key);
      break;
    }
    default: return false;
  }
  emit(make<Delete>(Expressions{target}));
  return true;
}

bool Evaluator::execute_import(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::ImportName: {
      Expression* from_list = operand();
      const suture::Constant* level = constant_of(operand());
      Value* module = push(ValueKind::kModule);
      module->name = name(it.arg);
      module->level = level && level->is(suture::Constant::Kind::kInt) ? static_cast<int>(level->integer) : 0;
      const suture::Constant* names = constant_of(from_list);
      module->has_from_list = !names || !names->is(suture::Constant::Kind::kNone);
      return true;
    }
    case Op::ImportFrom: {
      Value* module = peek(1);
      if (module->kind != ValueKind::kModule && module->kind != ValueKind::kModuleItem) {
        fail("an import from something other than a module");
        return true;
      }
      Value* item = push(ValueKind::kModuleItem);
      item->name = name(it.arg);
      item->module = module->kind == ValueKind::kModule ? module : module->module;
      return true;
    }
    case Op::ImportStar: {
      Value* module = pop();
      emit(make<ImportFrom>(module->name, std::vector<Alias>{{"*", ""}}, module->level));
      return true;
    }
    case Op::PrintExpr: drop(pop()); return true;
    default: return false;
  }
}

}  // namespace suture::toolbox
