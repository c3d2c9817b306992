#include "toolbox/decompile/unreached_code.h"

#include <algorithm>
#include <set>

#include "toolbox/decompile/operand_numbers.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {

using namespace syntax;

namespace {

// Is a yield left in a generator? An asynchronous one wraps what it yields, and its awaits look like yields otherwise.
bool yields(const LiftedCode& lifted, bool asynchronous) {
  return std::ranges::any_of(lifted.instructions, [&](const LiftedInstruction& it) {
    if (!asynchronous) return it.op == Op::Yield || it.op == Op::YieldFrom;
    return it.op == Op::AsyncGenWrap || (it.op == Op::Intrinsic1 && it.arg == kAsyncGenWrap);
  });
}

class UnreachedCode {
 public:
  UnreachedCode(Builder& builder, const Scope& scope, const UnreachedFacts& facts)
      : builder_(builder), scope_(scope), facts_(facts), view_(scope.view()) {}

  void add_to(Statements& body) {
    if (scope_.kind == CodeKind::kLambda) return;
    keep_generator();
    keep_definitions();
    if (scope_.kind == CodeKind::kFunction)
      keep_variables();
    else
      keep_annotations();
    if (never_.empty()) return;
    SyntaxTree& tree = builder_.tree;
    // The compiler drops unused constants from the end, so that code objects stay only before what is used.
    body.insert(defined_.empty() ? body.end() : std::find_if_not(body.begin(), body.end(), comes_first),
                tree.make<If>(tree.make<syntax::Constant>(suture::Constant::boolean(false)),
                              std::move(never_), Statements{}));
  }

 private:
  void keep_generator() {
    if ((view_.flags & (kCodeGenerator | kCodeAsyncGenerator)) == 0) return;
    if (!yields(facts_.lifted, (view_.flags & kCodeAsyncGenerator) != 0))
      never_.push_back(builder_.tree.make<Expr>(builder_.tree.make<Yield>(nullptr)));
  }

  // The docstring of a module or class, and what must stand before everything else in a module.
  static bool comes_first(const Statement* statement) {
    const Name* name = assigned_name(statement);
    const ImportFrom* import = as<ImportFrom>(statement);
    return (name && name->id == "__doc__") || (import && import->module == "__future__");
  }

  void keep_annotations() {
    if (!facts_.only_sets_up_annotations) return;
    SyntaxTree& tree = builder_.tree;
    never_.push_back(tree.make<AnnAssign>(
        tree.make<Name>("_"), tree.make<syntax::Constant>(suture::Constant::none()), nullptr, true));
  }

  // Functions and classes that are among the constants although nothing makes them.
  void keep_definitions() {
    std::set<const CodeTree*> made;
    for (const LiftedInstruction& it : facts_.lifted.instructions)
      if (const suture::Constant* constant = it.op == Op::LoadConst ? scope_.code->constant(it.arg) : nullptr)
        made.insert(constant->code.get());
    for (const suture::Constant& constant : scope_.code->constants) {
      if (!constant.is(suture::Constant::Kind::kCode) || made.contains(constant.code.get())) continue;
      const CodeTree& code = *constant.code;
      const CodeKind kind = kind_of_code(code, &scope_);
      if (kind == CodeKind::kFunction) {
        Result<Statement*> function = make_function(builder_, scope_, {.code = &code}, {});
        if (function.ok()) never_.push_back(*function);
      } else if (kind == CodeKind::kLambda) {
        Result<Expression*> lambda = make_lambda(builder_, scope_, {.code = &code});
        if (lambda.ok()) never_.push_back(builder_.tree.make<Expr>(*lambda));
      } else if (kind == CodeKind::kClass) {
        Result<Statement*> made_class =
            make_class(builder_, scope_, {.code = &code, .name = code.view.name}, {});
        if (made_class.ok()) never_.push_back(*made_class);
      } else {
        continue;
      }
      defined_.insert(code.view.name);
    }
  }

  void keep_variables() {
    SyntaxTree& tree = builder_.tree;
    const std::set<std::string> captured = captured_names(), free = free_names(view_);
    const auto parameters = static_cast<size_t>(view_.parameter_count());
    Expressions cells;
    for (size_t i = 0; i < view_.local_names.size() && i < view_.local_kinds.size(); ++i) {
      const bool cell = view_.local_kinds[i] & kLocalCell;
      if (free.contains(view_.local_names[i]) || !is_identifier(view_.local_names[i])) continue;
      const std::string name = unmangled(scope_, view_.local_names[i]);
      const bool bound =
          i < parameters || facts_.variables.bound[i] || defined_.contains(view_.local_names[i]);
      if (!bound && (cell || facts_.variables.loaded[i]))
        never_.push_back(tree.make<Assign>(Expressions{tree.make<Name>(name)},
                                           tree.make<syntax::Constant>(suture::Constant::none())));
      if (cell && !captured.contains(view_.local_names[i])) cells.push_back(tree.make<Name>(name));
    }
    if (cells.empty()) return;
    Expression* value = cells.size() == 1 ? cells.front() : tree.make<Tuple>(std::move(cells));
    never_.push_back(tree.make<Expr>(tree.make<Lambda>(Arguments{}, value)));
  }

  // The free variables of the code objects in this one.
  std::set<std::string> captured_names() const {
    std::set<std::string> result;
    for (const suture::Constant& constant : scope_.code->constants) {
      if (!constant.is(suture::Constant::Kind::kCode)) continue;
      result.merge(free_names(constant.code->view));
    }
    return result;
  }

  // A comprehension that is inlined may have a cell with the name of one of them.
  static std::set<std::string> free_names(const CodeView& view) {
    std::set<std::string> result;
    for (size_t i = 0; i < view.local_names.size() && i < view.local_kinds.size(); ++i)
      if (view.local_kinds[i] & kLocalFree) result.insert(view.local_names[i]);
    return result;
  }

  Builder& builder_;
  const Scope& scope_;
  const UnreachedFacts& facts_;
  const CodeView& view_;
  Statements never_;
  std::set<std::string> defined_;
};

}  // namespace

const Name* assigned_name(const Statement* statement) {
  const Assign* it = as<Assign>(statement);
  return it && it->targets.size() == 1 ? as<Name>(it->targets.front()) : nullptr;
}

UsedVariables used_variables(const LiftedCode& code) {
  UsedVariables result;
  const size_t count = code.tree->view.local_names.size();
  result.bound.assign(count, false);
  result.loaded.assign(count, false);
  std::set<size_t> hidden;
  for (const LiftedInstruction& it : code.instructions) {
    if (it.arg < 0 || static_cast<size_t>(it.arg) >= count) continue;
    const size_t variable = static_cast<size_t>(it.arg);
    switch (it.op) {
      case Op::StoreFast:
      case Op::StoreDeref:
      case Op::DeleteFast:
      case Op::DeleteDeref: result.bound[variable] = true; break;
      case Op::LoadFast: result.loaded[variable] = true; break;
      case Op::LoadFastAndClear: hidden.insert(variable); break;
      default: break;
    }
  }
  for (const size_t variable : hidden) result.bound[variable] = result.loaded[variable] = false;
  return result;
}

void add_unreached_code(Builder& builder, const Scope& scope, const UnreachedFacts& facts, Statements& body) {
  UnreachedCode(builder, scope, facts).add_to(body);
}

}  // namespace suture::toolbox
