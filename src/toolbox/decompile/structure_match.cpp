// Match statements: a chain of cases that share their subject.
#include <set>

#include "toolbox/decompile/expressions.h"
#include "toolbox/decompile/structurer.h"

namespace suture::toolbox {

using namespace syntax;

bool Structurer::is_next_case(int node, const Value* subject) const {
  if (node < 0) return false;
  const FlowNode& it = graph_.at(node);
  return it.end == End::kCase && it.statements.empty() && it.test == subject;
}

// The guard of a case: a test that leads to the next case when it fails. `body` becomes where it leads otherwise.
Expression* Structurer::guard_of(int node, int& body, int& otherwise) {
  const FlowNode& it = graph_.at(node);
  const int first = it.yes.to;
  body = first;
  otherwise = it.no.to;
  if (it.guarded_by_true) return nullptr;
  const FlowNode& guard = graph_.at(first);
  if (guard.end != End::kBranch || !guard.statements.empty() || flow_.forward_ways(first) != 1 ||
      flow_.is_loop(first) || guard.context != it.context)
    return nullptr;
  for (const bool fails_when_true : {false, true}) {
    const int failed_to = fails_when_true ? guard.yes.to : guard.no.to;
    // A case that matches everything has no other way on: the one to another case says where the guard fails.
    const int succeeded_to = fails_when_true ? guard.no.to : guard.yes.to;
    const bool other_way =
        !is_next_case(failed_to, it.test) && (fails_when_true || is_next_case(succeeded_to, it.test));
    if (it.no.to >= 0 ? failed_to != it.no.to : other_way) continue;
    Expression* test = fails_when_true ? make_not(builder_.tree, guard.test->expr) : guard.test->expr;
    if (!test) continue;
    written_[static_cast<size_t>(first)] = true;
    body = fails_when_true ? guard.no.to : guard.yes.to;
    otherwise = failed_to;
    return test;
  }
  return nullptr;
}

void Structurer::emit_match(int node, const Frame& frame, Statements& out, int& next) {
  const Value* subject = graph_.at(node).test;
  struct Case {
    int node, body;
    Expression* guard;
  };
  std::vector<Case> cases;
  std::set<int> heads;  // nodes that decide, not those of bodies
  int otherwise = -1;
  for (int at = node;; at = otherwise) {
    Case made{.node = at, .body = -1, .guard = nullptr};
    made.guard = guard_of(at, made.body, otherwise);
    heads.insert(at);
    if (made.guard) heads.insert(graph_.at(at).yes.to);
    if (graph_.at(at).guarded_by_true) made.guard = make<syntax::Constant>(suture::Constant::boolean(true));
    written_[static_cast<size_t>(at)] = true;
    cases.push_back(made);
    if (!is_next_case(otherwise, subject)) break;
  }
  int merge = -1;
  for (const int head : heads)
    for (const int child : flow_.children(head)) {
      if (flow_.forward_ways(child) < 2 || heads.contains(child) || child == frame.follow ||
          is_jump_target(child, frame))
        continue;
      if (!graph_.at(child).context->inside(frame.context)) continue;
      bool from_heads = true;
      for (const auto& [from, no_edge] : graph_.at(child).in)
        from_heads = from_heads && heads.contains(from) && (child == otherwise);
      if (!from_heads && (merge < 0 || graph_.at(child).place > graph_.at(merge).place)) merge = child;
    }
  Frame inside = frame;
  if (merge >= 0) inside.follow = merge;
  bool falls = false;
  std::vector<MatchCase> made;
  for (const Case& it : cases) {
    MatchCase clause{.pattern = graph_.at(it.node).pattern, .guard = it.guard};
    falls = emit(it.body, inside, clause.body) || falls;
    fill(clause.body);
    made.push_back(std::move(clause));
  }
  if (graph_.at(cases.back().node).guarded_by_true)
    made.push_back({.pattern = make<MatchSingleton>(suture::Constant::none()), .body = {make<Pass>()}});
  next = merge;
  if (otherwise >= 0 && otherwise != inside.follow) {
    if (!falls && merge < 0) {
      next = otherwise;
    } else {
      MatchCase clause{.pattern = make<MatchAs>(nullptr, std::string())};
      emit(otherwise, inside, clause.body);
      fill(clause.body);
      made.push_back(std::move(clause));
    }
  }
  if (next < 0) next = inside.follow;
  out.push_back(make<Match>(subject->expr, std::move(made)));
}

}  // namespace suture::toolbox
