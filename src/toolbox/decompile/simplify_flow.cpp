// simplify_flow: what structuring should not have to know about how the compiler lays out code.
//
//   - returns that the compiler adds at the end of a function, once per way there, become one node;
//   - branches that decide together become one test;
//   - the compiler tests a while loop before the loop and again at its end: both become one test at the head;
//   - nodes that do nothing are passed.
#include <algorithm>
#include <map>

#include "toolbox/decompile/conditions.h"
#include "toolbox/decompile/expressions.h"
#include "toolbox/decompile/structure_statements.h"

namespace suture::toolbox {

namespace {

class Simplifier {
 public:
  Simplifier(Builder& builder, Evaluated& code)
      : builder_(builder), code_(code), graph_(code.graph), folder_(code.graph, builder.tree, code.values) {}

  void run() {
    merge_dropped_values();
    pass_empty_nodes();
    merge_implicit_returns();
    merge_handler_ends();
    // Twice: the parts of a loop's test are joined before the copy of it is.
    for (int round = 0; round < 2; ++round)
      folder_.fold_branches([this](const FlowNode& a, const FlowNode& b) { return decide_together(a, b); });
    merge_loop_tests();
    pass_empty_nodes();
  }

 private:
  // `a and f()` as a statement, where the compiler repeats the end of the code behind it: one way drops a, the other one what f gives.
  void merge_dropped_values() {
    for (int i = graph_.size() - 1; i >= 0; --i)
      while (merge_dropped_value(i)) {
      }
  }

  bool merge_dropped_value(int branch) {
    FlowNode& it = graph_.at(branch);
    if (it.dead || it.end != End::kBranch) return false;
    for (const bool no_edge : {false, true}) {
      const int drops = (no_edge ? it.no : it.yes).to, computes = (no_edge ? it.yes : it.no).to;
      if (drops < 0 || computes < 0 || drops == computes) continue;
      const FlowNode& dropping = graph_.at(drops);
      FlowNode& computing = graph_.at(computes);
      const auto* value =
          computing.statements.size() == 1 ? syntax::as<syntax::Expr>(computing.statements.front()) : nullptr;
      if (dropping.dropped_test != it.test || !dropping.has_no_statements() || !value ||
          !same_end(dropping, computing) || dropping.in.size() != 1 || computing.in.size() != 1)
        continue;
      syntax::Expression* test = it.test->expr;
      it.statements.push_back(
          builder_.tree.make<syntax::Expr>(no_edge ? make_and(builder_.tree, test, value->value)
                                                   : make_or(builder_.tree, test, value->value)));
      computing.statements.clear();
      redirect(branch, no_edge, computes);
      unlink(drops);
      it.end = End::kGoto;
      it.test = nullptr;
      it.yes = {computes, {}, false};
      it.no = {};
      computing.in = {{branch, false}};
      return true;
    }
    return false;
  }

  static bool same_end(const FlowNode& a, const FlowNode& b) {
    if (a.end != b.end || a.context != b.context) return false;
    return a.end == End::kReraise || (a.end == End::kReturn && a.implicit_return && b.implicit_return) ||
           (a.end == End::kGoto && a.yes.to == b.yes.to);
  }

  void redirect(int from, bool no_edge, int to) {
    Edge& edge = no_edge ? graph_.at(from).no : graph_.at(from).yes;
    auto& in = graph_.at(edge.to).in;
    std::erase(in, std::pair<int, bool>{from, no_edge});
    edge.to = to;
    graph_.at(to).in.emplace_back(from, no_edge);
  }

  // Past nodes that do nothing; a cycle of them stays.
  int past_empty(int node) const {
    int at = node;
    for (int steps = 0; at >= 0 && graph_.at(at).does_nothing(); ++steps) {
      if (steps > graph_.size()) return node;
      at = graph_.at(at).yes.to;
    }
    return at;
  }

  void pass_empty_nodes() {
    for (int i = 0; i < graph_.size(); ++i) {
      if (graph_.at(i).dead) continue;
      for (const bool no_edge : {false, true}) {
        const int to = (no_edge ? graph_.at(i).no : graph_.at(i).yes).to;
        if (to < 0) continue;
        const int past = past_empty(to);
        // A handler with an empty body keeps its node: it says that there is a handler.
        const End end = graph_.at(i).end;
        if (end == End::kTypeTest || (end == End::kTry && no_edge)) continue;
        if (past != to && past >= 0) redirect(i, no_edge, past);
      }
    }
    graph_.entry = past_empty(graph_.entry);
    for (int i = 0; i < graph_.size(); ++i) {
      FlowNode& node = graph_.at(i);
      if (i != graph_.entry && node.in.empty() && node.does_nothing() && past_empty(i) != i) unlink(i);
    }
  }

  void unlink(int node) {
    graph_.at(node).dead = true;
    for (const bool no_edge : {false, true}) {
      Edge& edge = no_edge ? graph_.at(node).no : graph_.at(node).yes;
      if (edge.to >= 0) std::erase(graph_.at(edge.to).in, std::pair<int, bool>{node, no_edge});
    }
  }

  // The end of a node gets a node of its own, to which the statements go on.
  int split_end(int node) {
    const int fresh = graph_.size();
    graph_.nodes.emplace_back();
    FlowNode& from = graph_.at(node);
    FlowNode& end = graph_.at(fresh);
    end.end = from.end;
    end.test = from.test;
    end.yes = from.yes;
    end.no = from.no;
    end.context = from.context;
    end.place = from.place;
    end.line = from.line;
    end.implicit_return = from.implicit_return;
    end.sequence = from.sequence;
    end.in = {{node, false}};
    for (const bool no_edge : {false, true}) {
      const int next = (no_edge ? end.no : end.yes).to;
      if (next < 0) continue;
      for (auto& in : graph_.at(next).in)
        if (in == std::pair<int, bool>{node, no_edge}) in.first = fresh;
    }
    from.end = End::kGoto;
    from.test = nullptr;
    from.yes = {fresh, {}, false};
    from.no = {};
    from.implicit_return = false;
    return fresh;
  }

  void merge_implicit_returns() {
    int kept = -1;
    for (int i = 0; i < graph_.size(); ++i) {
      FlowNode& node = graph_.at(i);
      if (node.dead || node.end != End::kReturn || !node.implicit_return) continue;
      if (!node.statements.empty()) {
        split_end(i);
      } else if (kept < 0) {
        kept = i;
      } else {
        const auto in = node.in;
        for (const auto& [from, no_edge] : in) redirect(from, no_edge, kept);
        if (graph_.entry != i) node.dead = true;
      }
    }
  }

  // A finally body with several ends in its handler has one.
  void merge_handler_ends() {
    std::map<const Context*, int> kept;
    for (int i = 0; i < graph_.size(); ++i) {
      if (graph_.at(i).dead || graph_.at(i).end != End::kReraise) continue;
      if (!graph_.at(i).statements.empty()) split_end(i);
      const FlowNode& node = graph_.at(i);
      if (!node.statements.empty()) continue;
      const auto [known, fresh] = kept.try_emplace(node.context, i);
      if (fresh || graph_.entry == i) continue;
      const auto in = node.in;
      for (const auto& [from, no_edge] : in) redirect(from, no_edge, known->second);
      graph_.at(i).dead = true;
    }
  }

  // Another branch with the same test that leads to the same place: the other copy of a loop's test.
  const FlowNode* copy_of(const FlowNode& node) {
    for (const int to : {node.yes.to, node.no.to}) {
      if (to < 0 || graph_.at(to).in.size() < 2) continue;
      for (const auto& [from, no_edge] : graph_.at(to).in) {
        if (--comparisons_left_ < 0) return nullptr;
        const FlowNode& other = graph_.at(from);
        if (&other != &node && other.end == End::kBranch &&
            same_expression(other.test->expr, node.test->expr))
          return &other;
      }
    }
    return nullptr;
  }

  // `if a: continue` and what follows: between the parts of one test, control falls from one to the next.
  bool continues_alone(const FlowNode& a, const FlowNode& b) const {
    const bool by_no = a.no.to >= 0 && &graph_.at(a.no.to) == &b;
    const Edge &to_b = by_no ? a.no : a.yes, &away = by_no ? a.yes : a.no;
    if (to_b.falls || !away.falls || away.to < 0 || (away.to != b.yes.to && away.to != b.no.to)) return false;
    return graph_.at(away.to).is_header || graph_.at(away.to).end == End::kFor;
  }

  // Would the source have both in one test? The test of a loop belongs to the loop, and its copy has the same parts.
  bool decide_together(const FlowNode& a, const FlowNode& b) {
    if (b.line > 0 && a.line > 0 && b.line < a.line) return false;
    if (continues_alone(a, b)) return false;
    const FlowNode* copy = copy_of(b);
    if (!copy) return true;
    if (copy->in.size() != 1) return false;
    const FlowNode& before = graph_.at(copy->in.front().first);
    return before.end == End::kBranch && same_expression(before.test->expr, a.test->expr);
  }

  void merge_loop_tests() {
    const int count = graph_.size();
    for (int i = 0; i < count; ++i) {
      if (graph_.at(i).dead || graph_.at(i).end != End::kBranch) continue;
      for (const bool no_edge : {false, true}) {
        const int head = (no_edge ? graph_.at(i).no : graph_.at(i).yes).to;
        const int first = head >= 0 ? first_test(i, no_edge, head) : -1;
        if (first < 0) continue;
        become(i, first);
        break;
      }
    }
  }

  // The branch before the loop that this one at its end repeats.
  int first_test(int latch, bool no_edge, int head) const {
    const FlowNode& last = graph_.at(latch);
    if (graph_.at(head).sequence > last.sequence) return -1;
    for (const auto& [from, from_no] : graph_.at(head).in) {
      const FlowNode& first = graph_.at(from);
      if (from == latch || from_no != no_edge || first.end != End::kBranch || first.sequence >= last.sequence)
        continue;
      const int a = (no_edge ? first.yes : first.no).to, b = (no_edge ? last.yes : last.no).to;
      if (same_place(a, b) && first.context == last.context &&
          same_expression(first.test->expr, last.test->expr))
        return from;
    }
    return -1;
  }

  bool same_place(int a, int b) const {
    if (a == b) return true;
    const FlowNode &x = graph_.at(a), &y = graph_.at(b);
    return x.end == End::kReturn && y.end == End::kReturn && x.statements.empty() && y.statements.empty() &&
           same_expression(x.test->expr, y.test->expr);
  }

  // `latch` goes to the test of `first`, which gets a node of its own.
  void become(int latch, int first) {
    const bool alone = graph_.at(first).statements.empty() && graph_.at(first).clause_name.empty();
    const int test = alone ? first : split_end(first);
    unlink(latch);
    FlowNode& last = graph_.at(latch);
    last.dead = false;
    last.end = End::kGoto;
    last.test = nullptr;
    last.yes = {test, {}, false};
    last.no = {};
    graph_.at(test).in.emplace_back(latch, false);
    graph_.at(test).is_header = true;
    graph_.at(test).loop_end = std::max(graph_.at(test).loop_end, last.place);
  }

  Builder& builder_;
  Evaluated& code_;
  FlowGraph& graph_;
  ConditionFolder folder_;
  int comparisons_left_ = 5'000'000;  // of tests, in looking for copies
};

}  // namespace

void simplify_flow(Builder& builder, Evaluated& code) { Simplifier(builder, code).run(); }

}  // namespace suture::toolbox
