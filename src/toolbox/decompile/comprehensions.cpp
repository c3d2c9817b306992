#include "toolbox/decompile/comprehensions.h"

#include <algorithm>
#include <set>

#include "toolbox/decompile/conditions.h"
#include "toolbox/decompile/expressions.h"

namespace suture::toolbox {

using namespace syntax;

namespace {

class FillingReader {
 public:
  FillingReader(SyntaxTree& tree, FlowGraph& graph, std::deque<Value>& values, bool yields)
      : tree_(tree), graph_(graph), folder_(graph, tree, values), yields_(yields) {}

  Filling run(int header) {
    fold_conditions(header);
    int at = enter(header);
    for (int steps = 0; steps <= 4 * graph_.size() && result_.problem.empty(); ++steps) {
      if (at < 0) return problem("a comprehension that control leaves");
      if (yields_ && leads_back(at)) return never();
      folder_.fold_branch(at);
      FlowNode& node = graph_.at(at);
      node.dead = true;
      if (!read_statements(node)) return problem("a comprehension with statements in it");
      if (result_.element) {
        if (node.end != End::kGoto || !back(node.yes.to))
          problem("a comprehension that does more than its element");
        return std::move(result_);
      }
      if (node.end == End::kFor) {
        at = enter(at);
      } else if (node.end == End::kGoto) {
        at = node.yes.to;
      } else if (node.end == End::kBranch) {
        at = read_condition(node);
      } else {
        return problem("a comprehension that control leaves");
      }
    }
    return problem("a comprehension that never ends");
  }

 private:
  Filling problem(const char* what) {
    if (result_.problem.empty()) result_.problem = what;
    return result_;
  }

  // A condition that the compiler knows to be false: nothing is left of it and of the element.
  Filling never() {
    result_.generators.back().ifs.push_back(tree_.make<syntax::Constant>(suture::Constant::boolean(false)));
    result_.element = tree_.make<syntax::Constant>(suture::Constant::none());
    return std::move(result_);
  }

  // The conditions of the whole loop, last ones first.
  void fold_conditions(int header) {
    std::set<int> seen = {header, graph_.at(header).no.to, -1};
    std::vector<int> work = {graph_.at(header).yes.to}, branches;
    while (!work.empty()) {
      const int at = work.back();
      work.pop_back();
      if (!seen.insert(at).second) continue;
      if (graph_.at(at).end == End::kBranch) branches.push_back(at);
      work.push_back(graph_.at(at).yes.to);
      work.push_back(graph_.at(at).no.to);
    }
    std::sort(branches.begin(), branches.end(),
              [&](int a, int b) { return graph_.at(a).sequence > graph_.at(b).sequence; });
    for (const int branch : branches) folder_.fold_branch(branch);
  }

  int enter(int header) {
    const FlowNode& node = graph_.at(header);
    if (!node.target || !node.iter) {
      problem("a comprehension without a target");
      return header;
    }
    graph_.at(header).dead = true;
    header_ = header;
    result_.generators.push_back(
        {.target = node.target, .iter = node.iter, .ifs = {}, .is_async = node.is_async});
    return node.yes.to;
  }

  bool back(int to) const {
    return folder_.destination(to, graph_.at(header_).context) == header_ || to == header_ || leads_back(to);
  }
  // Empty nodes inside the loop that go to its head.
  bool leads_back(int to) const {
    if (to < 0) return false;
    for (int steps = 0; steps < 64 && to >= 0; ++steps) {
      if (to == header_) return true;
      const FlowNode& node = graph_.at(to);
      if (node.end != End::kGoto || !node.has_no_statements()) return false;
      to = node.yes.to;
    }
    return false;
  }

  // Both ways go on: `test or True`, as far as the compiler leaves it.
  bool decides_nothing(const FlowNode& node) const {
    return !back(node.yes.to) &&
           folder_.destination(node.yes.to, node.context) == folder_.destination(node.no.to, node.context);
  }

  int read_condition(const FlowNode& node) {
    Expression* test = node.test->expr;
    int next = node.yes.to;
    if (decides_nothing(node)) {
      test = make_or(tree_, test, tree_.make<syntax::Constant>(suture::Constant::boolean(true)));
    } else if (back(node.yes.to)) {
      test = make_not(tree_, test);
      next = node.no.to;
    } else if (!back(node.no.to)) {
      problem("a comprehension whose condition leads elsewhere");
      return header_;
    }
    if (!test) {
      problem("a condition whose opposite is another instruction");
      return header_;
    }
    result_.generators.back().ifs.push_back(test);
    return next;
  }

  // `for target in [value]` is compiled as an assignment. Only the yield of a generator may come behind.
  bool read_statements(const FlowNode& node) {
    for (Statement* statement : node.statements) {
      if (result_.element) return false;
      const Assign* assignment = as<Assign>(statement);
      if (!assignment && yields_) {
        result_.element = yielded(as<Expr>(statement));
      } else if (assignment && assignment->targets.size() == 1) {
        result_.generators.push_back({.target = assignment->targets.front(),
                                      .iter = tree_.make<List>(Expressions{assignment->value}),
                                      .ifs = {},
                                      .is_async = false});
        continue;
      }
      if (!result_.element) return false;
    }
    if (node.element) {
      result_.element = node.element;
      result_.key = node.element_key;
    }
    return true;
  }

  Expression* yielded(const Expr* statement) const {
    const Yield* yield = statement ? as<Yield>(statement->value) : nullptr;
    if (!yield) return nullptr;
    return yield->value ? yield->value : tree_.make<syntax::Constant>(suture::Constant::none());
  }

  SyntaxTree& tree_;
  FlowGraph& graph_;
  ConditionFolder folder_;
  const bool yields_;
  int header_ = -1;
  Filling result_;
};

Expression* make_filled(SyntaxTree& tree, const Expression* display, Filling filling) {
  if (as<List>(display)) return tree.make<ListComp>(filling.element, std::move(filling.generators));
  if (as<Set>(display)) return tree.make<SetComp>(filling.element, std::move(filling.generators));
  return tree.make<DictComp>(filling.key, filling.element, std::move(filling.generators));
}

}  // namespace

Filling read_filling_loop(SyntaxTree& tree, FlowGraph& graph, std::deque<Value>& values, int header,
                          bool yields) {
  return FillingReader(tree, graph, values, yields).run(header);
}

std::string fold_filling_loop(SyntaxTree& tree, FlowGraph& graph, std::deque<Value>& values, int header,
                              int exit) {
  FlowNode& loop = graph.at(header);
  Stack stack = loop.no.stack;
  if (stack.empty() || !stack.back()->filled) return "";
  int before = -1;
  for (const auto& [from, no_edge] : loop.in)
    if (graph.at(from).sequence < loop.sequence && !no_edge) before = before < 0 ? from : -2;
  if (before < 0 || graph.at(before).end != End::kGoto) return "a comprehension that several ways lead to";
  const Expression* display = stack.back()->expr;
  Filling filling = read_filling_loop(tree, graph, values, header, false);
  if (!filling.problem.empty()) return filling.problem;
  Value comprehension;
  comprehension.expr = make_filled(tree, display, std::move(filling));
  comprehension.order = stack.back()->order;
  values.push_back(std::move(comprehension));
  stack.back() = &values.back();
  graph.at(before).yes = {exit, std::move(stack), false};
  graph.at(exit).in = {{before, false}};
  return "";
}

}  // namespace suture::toolbox
