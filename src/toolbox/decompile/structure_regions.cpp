// Try and with statements.
#include <algorithm>

#include "toolbox/decompile/structurer.h"

namespace suture::toolbox {

using namespace syntax;

// The place behind a region: where control goes that neither jumps nor returns.
int Structurer::pick_exit(const Context* context, const Frame& frame) const {
  if (!context) return -1;
  std::set<int> exits = flow_.exits(context);
  std::erase_if(exits, [&](int exit) { return graph_.at(exit).end == End::kStop; });
  std::set<int> places = exits;
  std::erase_if(places, [&](int exit) {
    return exit == frame.follow || is_jump_target(exit, frame) || can_return_early(exit);
  });
  if (!places.empty()) return *places.begin();
  if (exits.contains(frame.follow)) return frame.follow;
  // A return of a constant may stand behind the region as well as inside.
  for (const int exit : exits)
    if (is_short_return(exit) && graph_.at(exit).test->expr->kind == ExpressionKind::Constant &&
        graph_.at(exit).context == context->parent && !is_jump_target(exit, frame))
      return exit;
  for (const int exit : exits)
    if (is_jump_target(exit, frame)) return exit;
  return -1;
}

bool Structurer::is_handler_end(int node) const {
  const FlowNode& it = graph_.at(node);
  return !it.dead && it.end == End::kReraise && it.statements.empty() && flow_.reached(node);
}

namespace {

bool all_leave(const std::vector<ExceptHandler>& handlers) {
  return !handlers.empty() && std::ranges::all_of(handlers, [](const ExceptHandler& clause) {
    const Statement* last = clause.body.empty() ? nullptr : clause.body.back();
    return as<Return>(last) || as<syntax::Raise>(last) || as<Continue>(last) || as<Break>(last);
  });
}

}  // namespace

void Structurer::emit_try(int node, const Frame& frame, Statements& out, int& next) {
  const Region& region = regions_.at(graph_.at(node).region);
  if (region.kind == RegionKind::kFinally)
    emit_finally(node, frame, out, next);
  else
    emit_except(node, frame, out, next);
}

void Structurer::emit_finally(int node, const Frame& frame, Statements& out, int& next) {
  const FlowNode& it = graph_.at(node);
  const Context* region = inner(it, Context::Kind::kRegion, it.region);
  const Context* handler = inner(it, Context::Kind::kHandler, it.region);
  if (!handler) return fail(node, "a try statement without its handler");
  Frame inside = frame, after = frame;
  inside.context = region ? region : frame.context;
  inside.follow = pick_exit(region, frame);
  after.context = handler;
  after.follow = -1;
  for (int i = 0; i < graph_.size(); ++i)
    if (is_handler_end(i) && graph_.at(i).context == handler) after.follow = i;
  Statements body, last;
  emit(it.yes.to, inside, body);
  emit(it.no.to, after, last);
  fill(body);
  fill(last);
  next = inside.follow;
  // Behind clauses that all leave, what follows the statement is its `else`.
  if (Try* first = body.size() > 1 ? as<Try>(body.front()) : nullptr;
      first && first->orelse.empty() && first->finalbody.empty() && all_leave(first->handlers)) {
    first->orelse.assign(body.begin() + 1, body.end());
    body.resize(1);
  }
  const auto joined = [&](auto* nested) {
    if (!nested || !nested->finalbody.empty()) return false;
    nested->finalbody = std::move(last);
    out.push_back(nested);
    return true;
  };
  if (body.size() == 1 && (joined(as<Try>(body.front())) || joined(as<TryStar>(body.front())))) return;
  out.push_back(make<Try>(std::move(body), std::vector<ExceptHandler>{}, Statements{}, std::move(last)));
}

void Structurer::emit_except(int node, const Frame& frame, Statements& out, int& next) {
  const FlowNode& it = graph_.at(node);
  const Context* region = inner(it, Context::Kind::kRegion, it.region);
  const Context* handler = inner(it, Context::Kind::kHandler, it.region);
  if (!handler) return fail(node, "a try statement without its handler");
  const int behind_body = pick_exit(region, frame), behind_handlers = pick_exit(handler, frame);
  int follow = behind_body < 0 ? behind_handlers : behind_body;
  bool has_else = behind_body >= 0 && behind_handlers >= 0 && behind_body != behind_handlers;
  const bool star = regions_.at(it.region).kind == RegionKind::kExceptStar;
  if (has_else && !star && is_jump_target(behind_handlers, frame))
    has_else = false;  // handlers jump themselves
  if (has_else) follow = behind_handlers;
  Frame inside = frame, handling = frame;
  inside.context = region ? region : frame.context;
  inside.follow = behind_body;
  handling.context = handler;
  handling.follow = follow;
  Statements body, otherwise;
  emit(it.yes.to, inside, body);
  std::vector<ExceptHandler> handlers = emit_handlers(it.no.to, handling, star);
  if (has_else) {
    Frame outside = frame;
    outside.follow = follow;
    emit(behind_body, outside, otherwise);
  }
  fill(body);
  if (star)
    out.push_back(make<TryStar>(std::move(body), std::move(handlers), std::move(otherwise), Statements{}));
  else
    out.push_back(make<Try>(std::move(body), std::move(handlers), std::move(otherwise), Statements{}));
  next = follow;
}

// Through nodes that do nothing.
int Structurer::past_empty(int node) const {
  for (int steps = 0; graph_.at(node).does_nothing() && steps <= graph_.size(); ++steps)
    node = graph_.at(node).yes.to;
  return node;
}

// Control goes on behind the clause that has run; with `except*`, at the next one.
std::vector<ExceptHandler> Structurer::emit_handlers(int handler, Frame frame, bool star) {
  std::vector<ExceptHandler> result;
  for (int at = handler; at >= 0 && !failed();) {
    const FlowNode& it = graph_.at(at);
    if (it.end == End::kReraise && it.statements.empty()) break;
    ExceptHandler clause;
    if (it.end == End::kTypeTest) {
      if (!it.statements.empty()) {
        fail(at, "statements between the clauses of a try statement");
        break;
      }
      clause.type = it.test->expr;
      clause.name = graph_.at(it.yes.to).clause_name;
      at = it.no.to;
      if (star) {
        at = frame.follow = past_empty(it.no.to);
        if (at >= 0 && graph_.at(at).end != End::kTypeTest) at = -1;
      }
      emit(it.yes.to, frame, clause.body);
    } else {
      emit(at, frame, clause.body);
      at = -1;
    }
    fill(clause.body);
    result.push_back(std::move(clause));
  }
  return result;
}

void Structurer::emit_with(int node, const Frame& frame, Statements& out, int& next) {
  const FlowNode& it = graph_.at(node);
  const Context* region = inner(it, Context::Kind::kRegion, it.region);
  Frame inside = frame;
  if (region) inside.context = region;
  int follow = it.no.to;
  if (follow < 0 || graph_.at(follow).end == End::kStop) follow = pick_exit(region, frame);
  inside.follow = follow;
  Statements body;
  emit(it.yes.to, inside, body);
  fill(body);
  const WithParts& parts = graph_.withs[it.region];
  std::vector<WithItem> items = {{parts.context_expr, parts.optional_vars}};
  if (parts.is_async)
    out.push_back(make<AsyncWith>(std::move(items), std::move(body)));
  else
    out.push_back(make<With>(std::move(items), std::move(body)));
  next = follow;
}

}  // namespace suture::toolbox
