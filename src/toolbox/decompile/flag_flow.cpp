#include "toolbox/decompile/flag_flow.h"

#include <algorithm>

#include "toolbox/decompile/flag_cleanup.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

namespace {

constexpr int kMaxDepth = 800;  // of statements and of what stands behind them
constexpr int kFirstTry = -2;   // vertices of try contexts go down from here

bool encloses(const Context* outer, const Context* inner) {
  while (inner && inner->level > outer->level) inner = inner->parent;
  return inner == outer;
}

}  // namespace

FlagFlow::FlagFlow(Machine& machine) : m_(machine) {
  for (Context& context : m_.contexts_) {
    if (context.kind != Context::Kind::kTry) continue;
    try_vertices_[&context] = kFirstTry - static_cast<int>(tries_.size());
    tries_.push_back(&context);
  }
}

Statements FlagFlow::run(Context* root, int entry) {
  Statements body = attempt(root, entry);
  if (!failed() && confined_) {
    threads_ = false;
    body = attempt(root, entry);
  }
  if (failed()) return {};
  const auto is_flag = [&](const Expression* expr) {
    const auto* name = as<Name>(expr);
    return name && name->id == m_.pc_name_;
  };
  FlagUse use;
  use.sets = [&](const Statement* statement) {
    const auto* assign = as<Assign>(statement);
    return assign && assign->targets.size() == 1 && is_flag(assign->targets[0]);
  };
  use.reads = [&](const Expression* expr) {
    if (const auto* either = as<BoolOp>(expr)) return std::ranges::any_of(either->values, use.reads);
    const auto* compare = as<Compare>(expr);
    return compare && (is_flag(compare->left) || std::ranges::any_of(compare->comparators, is_flag));
  };
  if (drop_unread_flags(body, use)) m_.synthetic_.insert(m_.pc_name_);
  make_plain(body, m_.synthetic_, m_.tree_);
  return body;
}

Statements FlagFlow::attempt(Context* root, int entry) {
  targets_.clear();
  exits_.clear();
  entries_.clear();
  graphs_.clear();
  placed_.clear();
  find_ways();
  const int first = threads_ ? threaded(entry, root) : entry;
  if (first == m_.end_) return {m_.make<Pass>()};
  for (const Context* at = node(first).context; at->kind == Context::Kind::kTry; at = at->parent)
    entries_[at].insert(first);
  Statements body;
  Loop scope;
  Places ends;
  if (is_confined(root, first)) {
    fail("its control flow has loops that are entered in several places");
    return body;
  }
  inside(root, first, {.scope = &scope, .falls = &ends, .follow = m_.end_}, body);
  ends.erase(m_.end_);
  if (!ends.empty()) fail("a way that no statement goes on with");
  return body;
}

// ---- the graph

// How many with statements a way leaves.
int FlagFlow::withs_left(const Context* from, int target) const {
  int count = 0;
  for (const Context* at = from; at && !encloses(at, node(target).context); at = at->parent)
    count += at->kind == Context::Kind::kWith ? 1 : 0;
  return count;
}

// Past nodes that do nothing but go on. Between two with statements that are left, the flag has to say so: what the exit of the
// inner one raises, the outer one may swallow.
int FlagFlow::threaded(int index, const Context* from) const {
  for (size_t steps = 0; steps < m_.nodes_.size(); ++steps) {
    const DispatchNode& it = node(index);
    const auto* assign = it.body.empty() || it.inside ? nullptr : as<Assign>(it.body.front());
    const auto next = assign ? jumps_.find(as<syntax::Constant>(assign->value)) : jumps_.end();
    if (next == jumps_.end()) return index;
    const int left = withs_left(from, next->second);
    if (left > 1 && left != withs_left(from, index)) return index;
    index = next->second;
  }
  return index;
}

void FlagFlow::thread(const Statements& body, const Context* from) {
  for (const Statement* statement : body) {
    if (const auto* assign = as<Assign>(statement)) {
      const auto jump = jumps_.find(as<syntax::Constant>(assign->value));
      if (jump != jumps_.end()) targets_[jump->first] = threaded(jump->second, from);
    } else if (const auto* branch = as<If>(statement)) {
      thread(branch->body, from);
      thread(branch->orelse, from);
    } else if (const auto* match = as<Match>(statement)) {
      for (const MatchCase& each : match->cases) thread(each.body, from);
    }
  }
}

void FlagFlow::add_ways(const Statements& body, const Context* from) {
  std::vector<int> targets;
  add_targets(body, targets);
  for (const int target : targets) add_way(target, from);
}

void FlagFlow::add_way(int target, const Context* from) {
  const Context* inside = node(target).context;
  for (const Context* at = inside; at->kind == Context::Kind::kTry; at = at->parent) {
    if (!encloses(at, from)) entries_[at].insert(target);
  }
  for (const Context* at = from; at && !encloses(at, inside); at = at->parent) exits_[at].insert(target);
}

void FlagFlow::find_ways() {
  jumps_.clear();
  for (const auto& [constant, target] : m_.pc_values_) jumps_[constant] = target;
  targets_ = jumps_;
  for (const DispatchNode& each : m_.nodes_) {
    if (threads_) thread(each.body, each.context);
    // What was swallowed comes where the body comes.
    if (threads_) thread(each.otherwise, each.tail == Tail::kWith ? each.inside : each.context);
    add_ways(each.body, each.context);
    add_ways(each.otherwise, each.context);
    if (each.inside) add_way(each.inside_node, each.context);
  }
  for (const auto& [context, clauses] : m_.clauses_) {
    for (const Clause& clause : clauses) add_way(clause.node, context->parent);
  }
  for (const auto& [context, body] : m_.behind_star_) {
    if (threads_) thread(body, context->parent);
    add_ways(body, context->parent);
  }
}

int FlagFlow::target_of(const Statement* statement) const {
  const auto* assign = as<Assign>(statement);
  const auto found = assign ? targets_.find(as<syntax::Constant>(assign->value)) : targets_.end();
  return found == targets_.end() ? -1 : found->second;
}

void FlagFlow::add_targets(const Statements& body, std::vector<int>& out) const {
  for (const Statement* statement : body) {
    if (const int target = target_of(statement); target >= 0) out.push_back(target);
    if (const auto* branch = as<If>(statement)) {
      add_targets(branch->body, out);
      add_targets(branch->orelse, out);
    }
    if (const auto* match = as<Match>(statement)) {
      for (const MatchCase& each : match->cases) add_targets(each.body, out);
    }
  }
}

int FlagFlow::vertex_of_try(const Context* context) const { return try_vertices_.at(context); }
Context* FlagFlow::try_of(int vertex) const {
  return vertex > kFirstTry ? nullptr : tries_[static_cast<size_t>(kFirstTry - vertex)];
}

int FlagFlow::vertex_of(int index, const Context* context) const {
  if (index == m_.end_) return -1;
  const Context* at = node(index).context;
  if (at == context) return index;
  while (at && at->parent != context) at = at->parent;
  return at && at->kind == Context::Kind::kTry ? vertex_of_try(at) : -1;
}

// The vertices of a context that one of them leads to.
std::vector<int> FlagFlow::leads_to(int vertex, const Context* context) const {
  std::vector<int> targets, result;
  const auto add = [&](const Context* inner) {
    const auto known = exits_.find(inner);
    if (known != exits_.end()) targets.insert(targets.end(), known->second.begin(), known->second.end());
  };
  if (const Context* tried = try_of(vertex)) {
    add(tried);
    for (const Clause& clause : m_.clauses_.at(const_cast<Context*>(tried))) add(clause.context);
    const auto star = m_.behind_star_.find(const_cast<Context*>(tried));
    if (star != m_.behind_star_.end()) add_targets(star->second, targets);
  } else {
    add_targets(node(vertex).body, targets);
    add_targets(node(vertex).otherwise, targets);
    if (node(vertex).inside) add(node(vertex).inside);
    if (node(vertex).tail == Tail::kFor) std::erase(targets, vertex);
  }
  for (const int target : targets) {
    if (const int inner = vertex_of(target, context); inner != -1) result.push_back(inner);
  }
  return result;
}

const ContextGraph& FlagFlow::graph_of(Context* context, int entry) {
  const auto known = graphs_.find({context, entry});
  if (known != graphs_.end()) return known->second;
  std::map<int, std::vector<int>> successors;
  const int first = vertex_of(entry, context);
  std::vector<int> work = {first};
  while (!work.empty()) {
    const int at = work.back();
    work.pop_back();
    if (successors.contains(at)) continue;
    std::vector<int>& next = successors[at] = leads_to(at, context);
    // In the order of the bytecode.
    std::ranges::sort(next, {}, [&](int vertex) {
      const Context* tried = try_of(vertex);
      return tried ? tried->first : node(vertex).number;
    });
    work.insert(work.end(), next.begin(), next.end());
  }
  return graphs_.emplace(std::pair{context, entry}, ContextGraph(first, successors)).first->second;
}

bool FlagFlow::is_confined(Context* context, int entry) {
  const auto entries = entries_.find(context);
  const bool one = entries == entries_.end() || entries->second.size() <= 1;
  if (one && graph_of(context, entry).reducible()) return false;
  return confined_ = true;
}

// ---- where ways go

bool FlagFlow::is_at(int index, int vertex, const Frame& frame) const {
  if (index == vertex) return true;
  for (const Context* at = node(index).context; at->kind == Context::Kind::kTry; at = at->parent) {
    if (encloses(at, frame.context)) return false;
    if (vertex_of_try(at) == vertex) return true;
  }
  return false;
}

bool FlagFlow::is_waiting(int index, const Frame& frame) const {
  const Places& waiting = frame.scope->waiting;
  return std::ranges::any_of(waiting, [&](int vertex) { return is_at(index, vertex, frame); });
}

bool FlagFlow::stands_inside(int index, const Frame& frame) const {
  const int vertex = vertex_of(index, frame.context);
  return vertex != -1 && frame.graph && frame.graph->reaches(vertex) && !placed_.contains(vertex);
}

FlagFlow::Way FlagFlow::way_to(int index, const Frame& frame) const {
  if (frame.follow != -1 && is_at(index, frame.follow, frame)) return Way::kFalls;
  if (stands_inside(index, frame)) return Way::kInside;
  if (!frame.loop) return Way::kFalls;
  if (is_at(index, frame.loop->header, frame)) return Way::kContinues;
  return is_waiting(index, frame) ? Way::kFalls : Way::kBreaks;
}

Statement* FlagFlow::set_flag(int index) {
  auto* flag = m_.make<Assign>(Expressions{m_.pc()}, m_.integer(node(index).number));
  flags_[flag] = index;
  return flag;
}

Expression* FlagFlow::test_of(int vertex) {
  const Context* tried = try_of(vertex);
  if (!tried) return m_.pc_test(node(vertex).number, node(vertex).number + 1);
  const Places& entries = entries_.at(tried);
  return entries.size() == 1 ? test_of(*entries.begin()) : m_.pc_test(tried->first, tried->last);
}

// A value that is at hand is returned where that is known, whatever statements are left by it.
bool FlagFlow::returns_at_once(int vertex, const Frame& frame) const {
  if (!frame.returns || try_of(vertex)) return false;
  const Statements& body = node(vertex).body;
  const auto* result = body.size() == 1 ? as<Return>(body.front()) : nullptr;
  if (!result || !result->value) return false;
  const auto* name = as<Name>(result->value);
  return as<syntax::Constant>(result->value) || (name && m_.synthetic_.contains(name->id));
}

void FlagFlow::go(int index, const Frame& frame, Statements& out) {
  if (returns_at_once(index, frame)) {
    out.push_back(m_.make<Return>(as<Return>(node(index).body.front())->value));
    return;
  }
  const Way way = way_to(index, frame);
  if (way != Way::kInside || try_of(vertex_of(index, frame.context))) out.push_back(set_flag(index));
  switch (way) {
    case Way::kFalls: frame.falls->insert(index); return;
    case Way::kInside: return emit(vertex_of(index, frame.context), frame, out);
    case Way::kContinues: out.push_back(m_.make<Continue>()); return;
    case Way::kBreaks:
      frame.loop->left.insert(index);
      out.push_back(m_.make<syntax::Break>());
      return;
  }
}

// ---- statements

void FlagFlow::inside(Context* context, int entry, Frame frame, Statements& out) {
  frame.context = context;
  if (!is_confined(context, entry)) {
    frame.graph = &graph_of(context, entry);
    emit(vertex_of(entry, context), frame, out);
    return;
  }
  frame.graph = nullptr;
  const auto entries = entries_.find(context);
  if (entries == entries_.end() || entries->second.size() <= 1) out.push_back(set_flag(entry));
  for (Statement* each : m_.dispatch(context)) out.push_back(each);
  emit_arrivals({}, exits(context), frame, out);
}

void FlagFlow::emit(int vertex, const Frame& frame, Statements& out) {
  if (failed()) return;
  if (++depth_ > kMaxDepth) fail("it has too many statements inside or behind each other");
  placed_.insert(vertex);
  if (!frame.graph->is_loop(vertex)) {
    emit_vertex(vertex, frame, out);
  } else {
    std::vector<int> behind;
    for (const int each : frame.graph->behind_loop(vertex)) {
      const bool ends = frame.graph->ways(each) == 1 && !try_of(each) && node(each).tail == Tail::kNone &&
                        leads_to(each, frame.context).empty();
      if (!ends && !returns_at_once(each, frame)) behind.push_back(each);
    }
    wait_for(behind, frame);
    Loop loop{.header = vertex};
    Places again;
    Frame in = frame;
    in.loop = in.scope = &loop;
    in.falls = &again;
    in.follow = vertex;
    auto* whole = m_.make<While>(m_.make<syntax::Constant>(suture::Constant::boolean(true)));
    emit_vertex(vertex, in, whole->body);
    out.push_back(whole);
    emit_arrivals(behind, loop.left, frame, out);
  }
  --depth_;
}

// A vertex and what stands behind it.
void FlagFlow::emit_vertex(int vertex, const Frame& frame, Statements& out) {
  const bool compound = try_of(vertex) || node(vertex).tail != Tail::kNone;
  std::vector<int> behind;
  for (const int each : frame.graph->behind(vertex)) {
    if (returns_at_once(each, frame)) continue;
    if (compound || frame.graph->ways(each) > 1) behind.push_back(each);
  }
  if (behind.empty()) return emit_alone(vertex, frame, out);
  wait_for(behind, frame);
  Places arrived;
  Frame in = frame;
  in.falls = &arrived;
  in.follow = behind.front();
  emit_alone(vertex, in, out);
  emit_arrivals(behind, std::move(arrived), frame, out);
}

void FlagFlow::wait_for(const std::vector<int>& vertices, const Frame& frame) {
  placed_.insert(vertices.begin(), vertices.end());
  frame.scope->waiting.insert(vertices.begin(), vertices.end());
}

void FlagFlow::emit_alone(int vertex, const Frame& frame, Statements& out) {
  if (Context* tried = try_of(vertex)) return emit_try(tried, frame, out);
  copy(node(vertex).body, frame, out);
  if (node(vertex).tail == Tail::kFor) emit_for(vertex, frame, out);
  if (node(vertex).tail == Tail::kWith) emit_with(node(vertex), frame, out);
}

// Ways that go to several places have come here: some go on at vertices that stand here, the others leave.
void FlagFlow::emit_arrivals(const std::vector<int>& vertices, Places arrived, const Frame& frame,
                             Statements& out) {
  const auto stands_here = [&](int index) {
    return std::ranges::any_of(vertices, [&](int vertex) { return is_at(index, vertex, frame); });
  };
  const Places all = arrived;
  for (const int each : all) {
    const bool falls = !returns_at_once(each, frame) && way_to(each, frame) == Way::kFalls;
    if (failed() || stands_here(each) || falls) continue;
    Expression* test = arrived.size() > 1 ? test_of(each) : nullptr;
    Statements leaving;
    go(each, frame, leaving);
    const auto flag = leaving.empty() ? flags_.end() : flags_.find(leaving.front());
    if (flag != flags_.end() && flag->second == each) leaving.erase(leaving.begin());  // it says so already
    arrived.erase(each);
    if (test) leaving = {m_.make<If>(test, std::move(leaving))};
    out.insert(out.end(), leaving.begin(), leaving.end());
  }
  for (size_t i = 0; i < vertices.size() && !failed(); ++i) {
    frame.scope->waiting.erase(vertices[i]);
    const bool last = i + 1 == vertices.size();
    const size_t coming = std::erase_if(arrived, [&](int index) { return is_at(index, vertices[i], frame); });
    if (coming == 0) continue;
    Places next;
    Frame in = frame;
    if (!last) in.follow = vertices[i + 1];
    if (!last || !arrived.empty()) in.falls = &next;
    Statements body;
    emit(vertices[i], in, body);
    if (!arrived.empty()) body = {m_.make<If>(test_of(vertices[i]), std::move(body))};
    out.insert(out.end(), body.begin(), body.end());
    arrived.insert(next.begin(), next.end());
  }
  frame.falls->insert(arrived.begin(), arrived.end());
}

void FlagFlow::copy(const Statements& body, const Frame& frame, Statements& out) {
  for (Statement* statement : body) {
    if (const int target = target_of(statement); target >= 0) return go(target, frame, out);
    if (const auto* branch = as<If>(statement)) {
      auto* fresh = m_.make<If>(branch->test);
      copy(branch->body, frame, fresh->body);
      copy(branch->orelse, frame, fresh->orelse);
      statement = fresh;
    } else if (const auto* match = as<Match>(statement)) {
      auto* fresh = m_.make<Match>(match->subject);
      for (const MatchCase& each : match->cases) {
        fresh->cases.push_back({each.pattern, each.guard, {}});
        copy(each.body, frame, fresh->cases.back().body);
      }
      statement = fresh;
    }
    out.push_back(statement);
  }
}

void FlagFlow::emit_for(int index, const Frame& frame, Statements& out) {
  const DispatchNode& head = node(index);
  Loop loop{.header = index};
  Places again, arrived;
  Frame in = frame, exhausted = frame;
  in.loop = in.scope = &loop;
  in.falls = &again;
  in.follow = index;
  exhausted.falls = &arrived;
  Statements body, otherwise;
  inside(head.inside, head.inside_node, in, body);
  copy(head.otherwise, exhausted, otherwise);
  Statements behind;
  if (loop.left.empty()) behind.swap(otherwise);
  out.push_back(head.is_async
                    ? static_cast<Statement*>(m_.make<AsyncFor>(head.target, head.subject, body, otherwise))
                    : m_.make<For>(head.target, head.subject, body, otherwise));
  out.insert(out.end(), behind.begin(), behind.end());
  arrived.insert(loop.left.begin(), loop.left.end());
  emit_arrivals({}, std::move(arrived), frame, out);
}

void FlagFlow::emit_with(const DispatchNode& head, const Frame& frame, Statements& out) {
  Places arrived, swallowed;
  Frame in = frame, behind = frame;
  in.falls = &arrived;
  behind.falls = &swallowed;
  Statements body, otherwise;
  inside(head.inside, head.inside_node, in, body);
  copy(head.otherwise, behind, otherwise);
  const bool asks = head.can_swallow && !arrived.empty() && (arrived != swallowed || otherwise.size() != 1);
  if (asks) out.push_back(set_flag(head.inside_node));  // an assignment to the target may raise, too
  std::vector<WithItem> items = {{head.subject, head.target}};
  out.push_back(head.is_async ? static_cast<Statement*>(m_.make<AsyncWith>(items, body))
                              : m_.make<With>(items, body));
  if (asks) otherwise = {m_.make<If>(m_.pc_test(head.inside->first, head.inside->last), otherwise)};
  out.insert(out.end(), otherwise.begin(), otherwise.end());
  arrived.insert(swallowed.begin(), swallowed.end());
  emit_arrivals({}, std::move(arrived), frame, out);
}

void FlagFlow::emit_try(Context* context, const Frame& frame, Statements& out) {
  const bool star = m_.regions_.at(context->id).kind == RegionKind::kExceptStar;
  const int entry = *entries_.at(context).begin();
  Places arrived;
  Frame in = frame;
  in.falls = &arrived;
  Statements body;
  if (star) body.push_back(set_flag(entry));
  inside(context, entry, in, body);
  if (star) in.loop = nullptr, in.returns = false;  // no jump may leave a clause of `except*`
  std::vector<ExceptHandler> handlers;
  for (const Clause& clause : m_.clauses_[context]) {
    ExceptHandler handler{clause.type, clause.name, {}};
    if (star) handler.body.push_back(set_flag(clause.node));
    inside(clause.context, clause.node, in, handler.body);
    handlers.push_back(std::move(handler));
  }
  if (handlers.empty()) {  // every exception goes on as it came
    out.insert(out.end(), body.begin(), body.end());
  } else if (star) {
    out.push_back(m_.make<TryStar>(std::move(body), std::move(handlers)));
    auto* behind = as<If>(m_.go_on_behind_star(context));
    Frame after = frame;
    after.falls = &arrived;
    auto* fresh = m_.make<If>(behind->test);
    copy(behind->body, after, fresh->body);
    out.push_back(fresh);
  } else {
    out.push_back(m_.make<Try>(std::move(body), std::move(handlers)));
  }
  emit_arrivals({}, std::move(arrived), frame, out);
}

}  // namespace suture::toolbox::dispatch
