// Loads, operators, attributes and items.
#include <fmt/format.h>

#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/expressions.h"

namespace suture::toolbox {

using namespace syntax;

bool Evaluator::execute_load(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::LoadConst: {
      const suture::Constant* constant = scope_.code->constant(it.arg);
      if (!constant)
        fail("a constant that does not exist");
      else
        push_expr(make_constant(*constant));
      return true;
    }
    case Op::LoadFast:
    case Op::LoadDeref: {
      note_use(result_.loaded, it.arg);
      const std::string id = local_name(it.arg);
      const auto argument = scope_.arguments.find(id);
      push_expr(argument == scope_.arguments.end() ? name_expr(id) : argument->second);
      stack_.back()->display = argument != scope_.arguments.end();
      return true;
    }
    case Op::LoadClosure: push(ValueKind::kCell, name_expr(local_name(it.arg))); return true;
    case Op::LoadFastAndClear: push(ValueKind::kSaved)->place = it.arg; return true;
    case Op::LoadName: push_expr(name_expr(name(it.arg))); return true;
    case Op::LoadLocals: push(ValueKind::kNothing); return true;
    case Op::LoadFromDictOrDeref:
      pop();
      push_expr(name_expr(local_name(it.arg)));
      return true;
    case Op::LoadFromDictOrGlobals:
      pop();
      push_expr(name_expr(name(it.arg)));
      return true;
    case Op::LoadGlobal: {
      const bool null_first = !code_.known_version_at_least(13);
      if (it.flag && null_first) push(ValueKind::kNull);
      push_expr(name_expr(name(it.arg)));
      if (it.flag && !null_first) push(ValueKind::kNull);
      result_.loaded_globals.insert(name(it.arg));
      // A body that is no function loads undeclared names by LOAD_NAME, save in a comprehension inlined into it.
      if (scope_.kind == CodeKind::kClass || scope_.kind == CodeKind::kModule) {
        bool inlined = false;
        for (const Value* value : stack_) inlined = inlined || value->kind == ValueKind::kSaved;
        if (!inlined) result_.globals.insert(name(it.arg));
      }
      return true;
    }
    case Op::LoadBuildClass: push(ValueKind::kBuildClass); return true;
    case Op::LoadAssertionError: {
      Expression* error = name_expr("AssertionError");
      result_.assertion_errors.insert(error);
      push_expr(error);
      return true;
    }
    default: return false;
  }
}

bool Evaluator::execute_operator(const LiftedInstruction& it) {
  const auto unary = [&](UnaryOperator op) {
    push_expr(make<UnaryOp>(op, operand()));
    return true;
  };
  const auto compare = [&](CompareOperator op) {
    Expression* right = operand();
    Expression* left = operand();
    push_expr(make<Compare>(left, std::vector<CompareOperator>{op}, Expressions{right}));
    return true;
  };
  switch (it.op) {
    case Op::UnaryPositive: return unary(UnaryOperator::UAdd);
    case Op::UnaryNegative: return unary(UnaryOperator::USub);
    case Op::UnaryNot: return unary(UnaryOperator::Not);
    case Op::ToBool: unary(UnaryOperator::Not); return unary(UnaryOperator::Not);
    case Op::UnaryInvert: return unary(UnaryOperator::Invert);
    case Op::Is: return compare(it.arg ? CompareOperator::IsNot : CompareOperator::Is);
    case Op::Contains: return compare(it.arg ? CompareOperator::NotIn : CompareOperator::In);
    case Op::Compare: {
      const auto op = compare_operator(it.arg);
      if (!op) fail(fmt::format("comparison {} does not exist", it.arg));
      return compare(op.value_or(CompareOperator::Eq));
    }
    case Op::Binary: {
      constexpr int kInPlace = 13;
      const auto op = binary_operator(it.arg % kInPlace);
      if (!op || it.arg >= 2 * kInPlace) fail(fmt::format("operator {} does not exist", it.arg));
      Expression* right = operand();
      Expression* left = operand();
      if (op == Operator::Mod && it.arg < kInPlace) left = unfolded_format(left, right);
      push_expr(make<BinOp>(left, op.value_or(Operator::Add), right));
      stack_.back()->in_place = it.arg >= kInPlace;
      return true;
    }
    default: return false;
  }
}

// The compiler turns `'%s' % (x,)` into an f-string. Where it has not, the format was an f-string without fields.
Expression* Evaluator::unfolded_format(Expression* left, Expression* right) {
  const suture::Constant* format = constant_of(left);
  if (!format || !format->is(suture::Constant::Kind::kStr) || !as<Tuple>(right)) return left;
  size_t fields = 0;
  for (size_t i = 0; i < format->text.size(); ++i) {
    if (format->text[i] != '%') continue;
    i = format->text.find_first_not_of("-0123456789.", i + 1);
    if (i == std::string::npos) return left;
    const char kind = format->text[i];
    if (kind == '%') continue;
    if (kind != 's' && kind != 'r' && kind != 'a') return left;
    ++fields;
  }
  if (fields != as<Tuple>(right)->elts.size()) return left;
  return make<JoinedStr>(Expressions{left});
}

bool Evaluator::execute_attribute(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::LoadAttr:
      push_expr(make<Attribute>(operand(), name(it.arg)));
      if (it.flag) push(ValueKind::kSelf);
      return true;
    case Op::LoadSuperAttr: load_super(); return true;
    case Op::LoadItem: {
      Expression* key = operand();
      push_expr(make<Subscript>(operand(), key));
      return true;
    }
    case Op::LoadSlice: slice(false); return true;
    case Op::BuildSlice: {
      const Expressions parts = operands(it.arg == 3 ? 3 : 2);
      if (failed()) return true;
      const auto bound = [&](Expression* part) {
        const suture::Constant* constant = constant_of(part);
        return constant && constant->is(suture::Constant::Kind::kNone) ? nullptr : part;
      };
      // `a[b:c:None]` builds the slice from three parts.
      push_expr(make<Slice>(bound(parts[0]), bound(parts[1]), parts.size() == 3 ? parts[2] : nullptr));
      return true;
    }
    default: return false;
  }
}

// super, class, self; bits: 1 a method follows, 2 super has arguments in the source
void Evaluator::load_super() {
  Expressions parts = operands(3);
  if (failed()) return;
  Expressions args;
  if (current_->flag & 2) args = {parts[1], parts[2]};
  push_expr(make<Attribute>(make<syntax::Call>(parts[0], std::move(args)), name(current_->arg)));
  if (current_->flag & 1) push(ValueKind::kSelf);
}

void Evaluator::slice(bool store_it) {
  const auto bound = [&](Expression* part) {
    const suture::Constant* constant = constant_of(part);
    return constant && constant->is(suture::Constant::Kind::kNone) ? nullptr : part;
  };
  Expressions parts = operands(3);
  if (failed()) return;
  Expression* item = make<Subscript>(parts[0], make<Slice>(bound(parts[1]), bound(parts[2])));
  if (store_it)
    store(item);
  else
    push_expr(item);
}

}  // namespace suture::toolbox
