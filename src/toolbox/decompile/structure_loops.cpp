// Loops.
#include <algorithm>

#include "toolbox/decompile/expressions.h"
#include "toolbox/decompile/structurer.h"

namespace suture::toolbox {

using namespace syntax;

const Context* Structurer::inner(const FlowNode& node, Context::Kind kind, int id) const {
  for (const Context& context : code_.contexts)
    if (context.kind == kind && context.id == id && context.parent == node.context) return &context;
  return nullptr;
}

void Structurer::emit_for(int node, const Frame& frame, Statements& out, int& next) {
  FlowNode& it = graph_.at(node);
  if (!it.context->inside(frame.context))
    return fail(node, "a loop outside of the statement that leads to it");
  if (!it.target) return fail(node, "a loop without a target");
  if (written_[static_cast<size_t>(node)] && ++repeated_ > 400)
    return fail(node, "too much code would have to be repeated");
  written_[static_cast<size_t>(node)] = true;
  const int exhausted = it.no.to;
  const Context* body_context = inner(it, Context::Kind::kFor, node);
  std::set<int> exits = body_context ? flow_.exits(body_context) : std::set<int>{};
  exits.erase(node);
  int follow = exhausted;
  if (!exits.contains(exhausted)) {
    std::erase_if(exits,
                  [&](int exit) { return can_return_early(exit) || graph_.at(exit).end == End::kStop; });
    if (exits.size() > 1) return fail(node, "a loop that is left to several places");
    if (!exits.empty()) follow = *exits.begin();
  }
  Statements body, otherwise;
  Frame inside{.context = body_context ? body_context : frame.context,
               .follow = node,
               .break_to = follow,
               .continue_to = node};
  emit(it.yes.to, inside, body);
  bool falls = true;
  if (follow != exhausted) {
    Frame outside = frame;
    outside.follow = follow;
    falls = emit(exhausted, outside, otherwise);
  }
  fill(body);
  if (it.is_async)
    out.push_back(make<AsyncFor>(it.target, it.iter, std::move(body), std::move(otherwise)));
  else
    out.push_back(make<For>(it.target, it.iter, std::move(body), std::move(otherwise)));
  static_cast<void>(falls);
  next = follow;
}

// Where control goes from a loop: directly, or through code that stands inside the loop in the source although it never comes
// back (`if x: f(); break`). Such code lies before the loop's end in the bytecode. Since 3.12 what only runs after an exception lies
// behind everything else.
std::set<int> Structurer::ways_out(int header, bool tested, int exhausted, const Frame& frame) const {
  const std::set<int>& loop = flow_.loop(header);
  int last = 0, last_usual = 0;
  const Context* context = graph_.at(header).context;
  for (const int node : loop) {
    bool handler = false;
    for (const Context* at = graph_.at(node).context; at && at != context; at = at->parent)
      handler = handler || at->kind == Context::Kind::kHandler;
    if (handler) continue;
    const int place = std::max(graph_.at(node).place, graph_.at(node).loop_end);
    last = std::max(last, place);
    if (!flow_.needs_exception(node)) last_usual = std::max(last_usual, place);
  }
  std::set<int> result, seen;
  std::vector<int> work;
  for (const int node : loop)
    for (const int to : FlowAnalysis::successors(graph_.at(node)))
      if (!loop.contains(to) && !(tested && node == header && to == exhausted)) work.push_back(to);
  while (!work.empty()) {
    const int at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    // What is inside of a statement of the loop (a handler, the rest of another loop) belongs to it.
    const bool deeper = !context->inside(graph_.at(at).context) && flow_.dominates(header, at);
    const bool named = at == frame.follow || is_jump_target(at, frame) || at == exhausted;
    const bool behind = graph_.at(at).place > (flow_.needs_exception(at) ? last : last_usual);
    if (!deeper && (named || behind || !flow_.dominates(header, at))) {
      result.insert(at);
      continue;
    }
    if (!loop.contains(at))
      for (const int to : FlowAnalysis::successors(graph_.at(at))) work.push_back(to);
  }
  return result;
}

int Structurer::follow_of_while(int header, bool tested, int exhausted, const Frame& frame,
                                int& otherwise) const {
  std::set<int> ways = ways_out(header, tested, exhausted, frame);
  otherwise = -1;
  if (tested && ways.contains(exhausted)) return exhausted;
  std::erase_if(ways, [&](int way) {
    return way != frame.follow && !is_jump_target(way, frame) &&
           (can_return_early(way) || graph_.at(way).end == End::kStop ||
            (FlowAnalysis::successors(graph_.at(way)).empty() && flow_.forward_ways(way) == 1 &&
             ways.size() > 1));
  });
  if (ways.empty()) return tested ? exhausted : -1;
  int follow = *ways.begin();
  for (const int way : ways) {
    if (way == frame.follow || is_jump_target(way, frame)) {
      follow = way;
      break;
    }
    if (graph_.at(way).place < graph_.at(follow).place) follow = way;
  }
  if (tested) otherwise = exhausted;
  return follow;
}

void Structurer::emit_while(int node, const Frame& frame, Statements& out, int& next) {
  FlowNode& it = graph_.at(node);
  if (!it.context->inside(frame.context))
    return fail(node, "a loop outside of the statement that leads to it");
  if (repeated_ > 400) return fail(node, "too much code would have to be repeated");
  const std::set<int>& loop = flow_.loop(node);
  const bool yes_inside = it.end == End::kBranch && loop.contains(it.yes.to);
  const bool no_inside = it.end == End::kBranch && loop.contains(it.no.to);
  bool tested = it.end == End::kBranch && it.statements.empty() && yes_inside != no_inside;
  Expression* test = nullptr;
  if (tested) {
    test = yes_inside ? it.test->expr : make_not(builder_.tree, it.test->expr);
    tested = test != nullptr;
  }
  const int exhausted = tested ? (yes_inside ? it.no.to : it.yes.to) : -1;
  int otherwise_from = -1;
  const int follow = follow_of_while(node, tested, exhausted, frame, otherwise_from);
  Frame inside{.context = frame.context, .follow = node, .break_to = follow, .continue_to = node};
  Statements body, otherwise;
  if (tested) {
    if (written_[static_cast<size_t>(node)]) ++repeated_;
    written_[static_cast<size_t>(node)] = true;
    emit(yes_inside ? it.yes.to : it.no.to, inside, body);
  } else {
    test = make<syntax::Constant>(suture::Constant::boolean(true));
    emit_from_header(node, inside, body);
  }
  if (otherwise_from >= 0) {
    Frame outside = frame;
    outside.follow = follow;
    emit(otherwise_from, outside, otherwise);
  }
  fill(body);
  out.push_back(make<While>(plainest_test(builder_.tree, test), std::move(body), std::move(otherwise)));
  next = follow;
}

}  // namespace suture::toolbox
