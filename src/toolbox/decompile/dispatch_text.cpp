// The text of a dispatch loop: numbers of nodes, loops that choose among them, and the statements between contexts.
#include <algorithm>

#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/scope.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

// Numbers follow the nesting, so that what is inside a context is a range; in it, the order of the bytecode.
void Machine::number_nodes(Context* context, int& next) {
  struct Part {
    int start = 0;
    int node = -1;
    Context* inside = nullptr;
  };
  const auto start_of = [&](const Context* one) {
    int start = lifted_.size();
    for (int node : one->nodes) start = std::min(start, nodes_[static_cast<size_t>(node)].start);
    return start;
  };
  std::vector<Part> parts;
  for (int node : context->nodes) parts.push_back({nodes_[static_cast<size_t>(node)].start, node, nullptr});
  for (Context* child : context->children) parts.push_back({start_of(child), -1, child});
  std::ranges::stable_sort(parts, {}, &Part::start);
  context->first = next;
  for (const Part& part : parts) {
    if (part.inside) {
      number_nodes(part.inside, next);
    } else {
      nodes_[static_cast<size_t>(part.node)].number = next++;
    }
  }
  context->last = next;
}

// `_pc == 3`, or `3 <= _pc < 5`.
Expression* Machine::pc_test(int first, int last) {
  if (last == first + 1)
    return make<Compare>(pc(), std::vector{CompareOperator::Eq}, Expressions{integer(first)});
  return make<Compare>(integer(first), std::vector{CompareOperator::LtE, CompareOperator::Lt},
                       Expressions{pc(), integer(last)});
}

// The loop that runs the nodes of a context until control leaves it.
Statements Machine::dispatch(Context* context) {
  std::vector<Arm> arms;
  for (int index : context->nodes) {
    const DispatchNode& node = nodes_[static_cast<size_t>(index)];
    arms.push_back({node.number, node.number + 1, arm(node)});
  }
  for (Context* child : context->children) {
    if (child->kind == Context::Kind::kTry && child->last > child->first) {
      arms.push_back({child->first, child->last, try_statement(child)});
    }
  }
  std::ranges::sort(arms, {}, &Arm::first);
  auto* loop = make<While>(make<syntax::Constant>(suture::Constant::boolean(true)));
  loop->body = choose(arms, 0, arms.size());
  return {loop};
}

// Few arms are asked for one by one, many by halves.
Statements Machine::choose(std::vector<Arm>& arms, size_t begin, size_t end) {
  constexpr size_t kInARow = 6;
  if (end - begin > kInARow) {
    const size_t middle = begin + (end - begin) / 2;
    Expression* below =
        make<Compare>(pc(), std::vector{CompareOperator::Lt}, Expressions{integer(arms[middle].first)});
    return {make<If>(below, choose(arms, begin, middle), choose(arms, middle, end))};
  }
  Statements rest;
  for (size_t i = end; i-- > begin;) {
    rest = {make<If>(pc_test(arms[i].first, arms[i].last), std::move(arms[i].body), std::move(rest))};
  }
  return rest;
}

Statements Machine::arm(const DispatchNode& node) {
  Statements body = node.body;
  if (node.tail == Tail::kNone) return body;
  Statements inner = {
      make<Assign>(Expressions{pc()}, integer(nodes_[static_cast<size_t>(node.inside_node)].number))};
  const Statements loop = dispatch(node.inside);
  inner.insert(inner.end(), loop.begin(), loop.end());
  if (node.tail == Tail::kWith) {
    std::vector<WithItem> items = {{node.subject, node.target}};
    body.push_back(node.is_async ? static_cast<Statement*>(make<AsyncWith>(items, inner))
                                 : make<With>(items, inner));
    if (node.can_swallow)
      body.push_back(make<If>(pc_test(node.inside->first, node.inside->last), node.otherwise));
    leave_after(node.inside, node.context, body);
    return body;
  }
  // The inner loop ends with `_pc` on the header (go on) or on what lies outside (leave).
  if (std::ranges::any_of(node.inside->exits, [&](int exit) {
        return nodes_[static_cast<size_t>(exit)].number != node.number;
      })) {
    Expression* other =
        make<Compare>(pc(), std::vector{CompareOperator::NotEq}, Expressions{integer(node.number)});
    inner.push_back(make<If>(other, Statements{make<syntax::Break>()}));
  }
  body.push_back(node.is_async ? static_cast<Statement*>(
                                     make<AsyncFor>(node.target, node.subject, inner, node.otherwise))
                               : make<For>(node.target, node.subject, inner, node.otherwise));
  leave_after(node.inside, node.context, body);
  return body;
}

Statements Machine::try_statement(Context* context) {
  std::vector<ExceptHandler> handlers;
  std::set<int> exits = context->exits;
  for (const Clause& clause : clauses_[context]) {
    ExceptHandler handler{clause.type, clause.name, {}};
    handler.body.push_back(
        make<Assign>(Expressions{pc()}, integer(nodes_[static_cast<size_t>(clause.node)].number)));
    for (Statement* each : dispatch(clause.context)) handler.body.push_back(each);
    exits.insert(clause.context->exits.begin(), clause.context->exits.end());
    handlers.push_back(std::move(handler));
  }
  Statements body = dispatch(context);
  // Without handlers, every exception goes on as it came.
  if (regions_.at(context->id).kind == RegionKind::kExceptStar) {
    body = {make<TryStar>(std::move(body), std::move(handlers)), go_on_behind_star(context)};
  } else if (!handlers.empty()) {
    body = {make<Try>(std::move(body), std::move(handlers))};
  }
  leave_after(exits, context->parent, body);
  return body;
}

// Clauses of `except*` run one after another, and what one raises is kept until the last has run: `_pc` may still say where in the
// statement that happened.
Statement* Machine::go_on_behind_star(Context* context) {
  Expressions inside = {pc_test(context->first, context->last)};
  for (const Clause& clause : clauses_[context])
    inside.push_back(pc_test(clause.context->first, clause.context->last));
  Expression* test = inside.size() == 1 ? inside[0] : make<BoolOp>(BoolOperator::Or, inside);
  return make<If>(test, behind_star_[context]);
}

void Machine::leave_after(Context* inner, Context* around, Statements& out) {
  leave_after(inner->exits, around, out);
}

// Behind a statement whose inside may have gone to places outside of `around`, or on to its next turn: leaves the loop that
// chooses in `around`, too.
void Machine::leave_after(const std::set<int>& exits, Context* around, Statements& out) {
  Expressions outside;
  size_t leaving = 0;
  for (int exit : exits) {
    const bool goes_on = around->kind == Context::Kind::kFor && around->id == exit;
    if (!around->exits.contains(exit) && !goes_on) continue;
    ++leaving;
    outside.push_back(integer(nodes_[static_cast<size_t>(exit)].number));
  }
  if (leaving == 0) return;
  Expression* test =
      outside.size() == 1
          ? make<Compare>(pc(), std::vector{CompareOperator::Eq}, Expressions{outside[0]})
          : make<Compare>(pc(), std::vector{CompareOperator::In}, Expressions{make<Tuple>(outside)});
  out.push_back(make<If>(test, Statements{make<syntax::Break>()}));
}

// A free variable that no instruction uses is in the code because the source declares it.
void Machine::add_unused_free_variables() {
  const CodeView& view = code_.view;
  std::set<int> used;
  for (const LiftedInstruction& it : lifted_.instructions) {
    const bool cell = it.op == Op::LoadDeref || it.op == Op::StoreDeref || it.op == Op::DeleteDeref ||
                      it.op == Op::LoadClosure || it.op == Op::LoadFromDictOrDeref;
    if (cell || it.op == Op::LoadFast) used.insert(it.arg);
  }
  for (size_t i = 0; i < view.local_names.size() && i < view.local_kinds.size(); ++i) {
    const std::string& one = view.local_names[i];
    if (!(view.local_kinds[i] & kLocalFree) || used.contains(static_cast<int>(i))) continue;
    if (one != "__class__" && one != "__classdict__" && is_identifier(one)) nonlocals_.insert(one);
  }
}

// Functions and classes that are among the constants although nothing makes them.
Statements Machine::unmade_definitions() {
  std::set<const CodeTree*> made;
  for (const LiftedInstruction& it : lifted_.instructions)
    if (const suture::Constant* constant = it.op == Op::LoadConst ? code_.constant(it.arg) : nullptr)
      made.insert(constant->code.get());
  Statements all;
  for (const suture::Constant& constant : code_.constants) {
    if (!constant.is(suture::Constant::Kind::kCode) || made.contains(constant.code.get())) continue;
    const CodeKind kind = kind_of_code(*constant.code, nullptr);
    if (kind == CodeKind::kTypeParameters || kind == CodeKind::kComprehension) continue;
    if (auto nested = nested_({constant.code, NestedCode::Use::kDefinition, {}}, tree_))
      all.insert(all.end(), nested->begin(), nested->end());
  }
  Expressions cells = uncaptured_cells();
  if (cells.empty()) return all;
  Expression* value = cells.size() == 1 ? cells.front() : make<Tuple>(std::move(cells));
  all.push_back(make<syntax::Expr>(make<Lambda>(Arguments{}, value)));
  return all;
}

// Variables that are in cells although no code object here takes them: one took them that can never be made.
Expressions Machine::uncaptured_cells() {
  std::set<std::string> captured;
  const auto add_free = [&](const CodeView& view) {
    for (size_t i = 0; i < view.local_names.size() && i < view.local_kinds.size(); ++i)
      if (view.local_kinds[i] & kLocalFree) captured.insert(view.local_names[i]);
  };
  const CodeView& view = code_.view;
  add_free(view);  // an inlined comprehension may have a cell of that name
  for (const suture::Constant& constant : code_.constants)
    if (constant.is(suture::Constant::Kind::kCode)) add_free(constant.code->view);
  Expressions cells;
  for (size_t i = 0; is_function() && i < view.local_names.size() && i < view.local_kinds.size(); ++i) {
    const std::string& id = view.local_names[i];
    if ((view.local_kinds[i] & kLocalCell) && !captured.contains(id) && is_identifier(id))
      cells.push_back(make<Name>(unmangled(class_name_, id)));
  }
  return cells;
}

// `global` and `nonlocal`; and, where it never runs, what makes the compiler see locals and a generator that nothing in the
// text shows.
void Machine::add_declarations(Statements& body) {
  Statements before;
  if (const std::string* docstring = is_function() ? code_.docstring() : nullptr) {
    before.push_back(make<syntax::Expr>(make<syntax::Constant>(suture::Constant::str(*docstring))));
  }
  if (!globals_.empty())
    before.push_back(make<Global>(std::vector<std::string>(globals_.begin(), globals_.end())));
  add_unused_free_variables();
  if (!nonlocals_.empty())
    before.push_back(make<Nonlocal>(std::vector<std::string>(nonlocals_.begin(), nonlocals_.end())));
  if (Statements unmade = unmade_definitions(); !unmade.empty())
    before.push_back(make<If>(make<syntax::Constant>(suture::Constant::boolean(false)), std::move(unmade)));
  const auto begin = body.begin() + static_cast<std::ptrdiff_t>(first_statements_.size());
  body.insert(begin, before.begin(), before.end());
  if (!is_function()) return;
  Statements behind;
  const CodeView& view = code_.view;
  for (size_t i = static_cast<size_t>(view.parameter_count()); i < view.local_names.size(); ++i) {
    if (i < view.local_kinds.size() && (view.local_kinds[i] & kLocalFree)) continue;
    if (globals_.contains(view.local_names[i])) continue;
    if (hidden_.contains(view.local_names[i]) && !used_.contains(view.local_names[i])) continue;
    if (form_ == LoopForm::kFlags && stored_.contains(view.local_names[i])) continue;
    behind.push_back(make<Assign>(Expressions{make<Name>(unmangled(class_name_, view.local_names[i]))},
                                  make<syntax::Constant>(suture::Constant::none())));
  }
  if ((view.flags & (kCodeGenerator | kCodeAsyncGenerator)) && !(form_ == LoopForm::kFlags && yields_)) {
    behind.push_back(make<syntax::Expr>(make<Yield>(nullptr)));
  }
  if (form_ == LoopForm::kFlags && !behind.empty())  // control may get behind the text's last statement
    behind = {make<If>(make<syntax::Constant>(suture::Constant::boolean(false)), std::move(behind))};
  body.insert(body.end(), behind.begin(), behind.end());
}

}  // namespace suture::toolbox::dispatch
