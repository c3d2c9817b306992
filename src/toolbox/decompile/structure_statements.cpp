// The structurer's core: sequences, branches, assertions.
#include "toolbox/decompile/structure_statements.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolbox/decompile/expressions.h"
#include "toolbox/decompile/structurer.h"

namespace suture::toolbox {

using namespace syntax;

namespace {

constexpr int kMaxRepeatedNodes = 400;

bool is_constant(const Expression* expr) { return expr && expr->kind == ExpressionKind::Constant; }

}  // namespace

Structurer::Structurer(Builder& builder, Evaluated& code, const LiftedCode& lifted, const Regions& regions)
    : builder_(builder),
      code_(code),
      graph_(code.graph),
      lifted_(lifted),
      regions_(regions),
      flow_(code.graph),
      written_(static_cast<size_t>(code.graph.size()), false) {}

Result<Statements> Structurer::run() {
  Statements body;
  Frame frame{.context = graph_.at(graph_.entry).context};
  for (int i = 0; i < graph_.size(); ++i)
    if (!graph_.at(i).dead && graph_.at(i).implicit_return && flow_.reached(i)) frame.follow = i;
  while (frame.context && frame.context->parent) frame.context = frame.context->parent;
  emit(graph_.entry, frame, body);
  if (failed()) return Error::unsupported("decompile", error_);
  return body;
}

void Structurer::fail(int node, const std::string& what) {
  if (failed()) return;
  const LiftedInstruction& it = lifted_.at(std::max(graph_.at(node).place, 0));
  error_ = fmt::format("offset {} (line {}): {}", it.offset, it.line, what);
}

void Structurer::fill(Statements& body) {
  if (body.empty()) body.push_back(make<Pass>());
}

bool Structurer::is_short_return(int node) const {
  return graph_.at(node).end == End::kReturn && graph_.at(node).statements.empty();
}

// A return whose value was computed where control comes from, or is a constant, may stand there.
bool Structurer::can_return_early(int node) const {
  if (!is_short_return(node)) return false;
  const FlowNode& it = graph_.at(node);
  return is_constant(it.test->expr) || std::find(it.entry.begin(), it.entry.end(), it.test) != it.entry.end();
}

bool Structurer::leave(int node, const Frame& frame, Statements& out, bool& falls) {
  falls = false;
  if (node == frame.follow) {
    falls = true;
  } else if (node == frame.continue_to) {
    out.push_back(make<Continue>());
  } else if (node == frame.break_to) {
    out.push_back(make<Break>());
  } else {
    return false;
  }
  return true;
}

bool Structurer::emit(int node, const Frame& frame, Statements& out) {
  if (++depth_ > kMaxStatementDepth) {
    fail(node, fmt::format("more than {} nested statements", kMaxStatementDepth));
    --depth_;
    return false;
  }
  bool falls = false;
  while (node >= 0 && !failed()) {
    if (leave(node, frame, out, falls)) break;
    if (graph_.at(node).end == End::kStop && graph_.at(node).statements.empty()) break;  // never reached
    int next = -1;
    if (graph_.at(node).end == End::kFor)
      emit_for(node, frame, out, next);
    else if (flow_.is_loop(node))
      emit_while(node, frame, out, next);
    else if (emit_node(node, frame, out, next))
      falls = true;
    node = next;
  }
  --depth_;
  return falls;
}

bool Structurer::emit_from_header(int header, const Frame& frame, Statements& out) {
  int next = -1;
  bool falls = emit_node(header, frame, out, next);
  if (next >= 0 && !failed()) falls = emit(next, frame, out);
  return falls;
}

bool Structurer::emit_node(int node, const Frame& frame, Statements& out, int& next) {
  FlowNode& it = graph_.at(node);
  next = -1;
  if (it.end == End::kStop) {  // perhaps a `return` that a finally body without an end takes over
    out.insert(out.end(), it.statements.begin(), it.statements.end());
    return false;
  }
  if (!it.context->inside(frame.context)) {
    if (can_return_early(node))
      out.push_back(make<Return>(it.test->expr));
    else
      fail(node, "control leaves a statement to a place that no jump leads to");
    return false;
  }
  if (written_[static_cast<size_t>(node)] && ++repeated_ > kMaxRepeatedNodes) {
    fail(node, "too much code would have to be repeated");
    return false;
  }
  written_[static_cast<size_t>(node)] = true;
  out.insert(out.end(), it.statements.begin(), it.statements.end());
  switch (it.end) {
    case End::kGoto: next = it.yes.to; return false;
    case End::kReturn: out.push_back(make<Return>(it.test->expr)); return false;
    case End::kRaise:
      if (const syntax::Raise* raise = assertion(node)) {  // `assert False` has no test left
        const auto* called = as<syntax::Call>(raise->exc);
        out.back() = make<Assert>(make<syntax::Constant>(suture::Constant::boolean(false)),
                                  called ? called->args.front() : nullptr);
      }
      return false;
    case End::kReraise:
    case End::kStop: return false;
    case End::kBranch: return emit_branch(node, frame, out, next);
    case End::kTry: emit_try(node, frame, out, next); return false;
    case End::kWith: emit_with(node, frame, out, next); return false;
    case End::kCase: emit_match(node, frame, out, next); return false;
    default: fail(node, "a statement of unknown kind"); return false;
  }
}

// The node that control reaches on several ways from this one, and from nowhere else.
int Structurer::pick_merge(int node, const Frame& frame) const {
  int found = -1;
  for (const int child : flow_.children(node)) {
    if (flow_.forward_ways(child) < 2 || child == frame.follow || is_jump_target(child, frame)) continue;
    if (!graph_.at(child).context->inside(frame.context)) continue;
    if (found < 0 || graph_.at(child).place > graph_.at(found).place) found = child;
  }
  return found;
}

const syntax::Raise* Structurer::assertion(int node) const {
  const FlowNode& it = graph_.at(node);
  if (it.end != End::kRaise || it.statements.empty()) return nullptr;
  const auto* raise = as<syntax::Raise>(it.statements.back());
  if (!raise || raise->cause) return nullptr;
  const auto* called = as<syntax::Call>(raise->exc);
  const Expression* error =
      called && called->args.size() == 1 && called->keywords.empty() ? called->func : raise->exc;
  return code_.assertion_errors.contains(error) ? raise : nullptr;
}

bool Structurer::emit_assert(int node, Statements& out, int& next) {
  const FlowNode& it = graph_.at(node);
  for (const bool raises_when_true : {false, true}) {
    const int raising = raises_when_true ? it.yes.to : it.no.to;
    const syntax::Raise* raise = assertion(raising);
    if (!raise || graph_.at(raising).statements.size() != 1) continue;
    Expression* test = raises_when_true ? make_not(builder_.tree, it.test->expr) : it.test->expr;
    if (!test) continue;
    const auto* called = as<syntax::Call>(raise->exc);
    out.push_back(make<Assert>(plainest_test(builder_.tree, test), called ? called->args.front() : nullptr));
    next = raises_when_true ? it.no.to : it.yes.to;
    return true;
  }
  return false;
}

// At the end of a loop, `if a: continue` and `if not a:` around the rest are the same jumps the other way round: where only one way
// jumps, the compiler has put the other one inside.
bool Structurer::emit_continue(int node, const Frame& frame, Statements& out, int& next) {
  const FlowNode& it = graph_.at(node);
  if (frame.continue_to < 0 || frame.follow != frame.continue_to || it.yes.to == it.no.to) return false;
  for (const bool no_edge : {false, true}) {
    const Edge &inside = no_edge ? it.no : it.yes, &rest = no_edge ? it.yes : it.no;
    if (!inside.falls || inside.to != frame.continue_to) continue;
    Expression* test = no_edge ? make_not(builder_.tree, it.test->expr) : it.test->expr;
    if (!test) continue;
    out.push_back(make<If>(plainest_test(builder_.tree, test), Statements{make<Continue>()}, Statements{}));
    next = rest.to;
    return true;
  }
  return false;
}

bool Structurer::emit_branch(int node, const Frame& frame, Statements& out, int& next) {
  const FlowNode& it = graph_.at(node);
  if (emit_assert(node, out, next)) return false;
  const int merge = pick_merge(node, frame);
  if (merge < 0 && emit_continue(node, frame, out, next)) return false;
  Frame inside = frame;
  if (merge >= 0) inside.follow = merge;
  // The way without a jump is the body of the `if`.
  const int yes = it.yes.to, no = it.no.to;
  Expression* test = it.test->expr;
  bool swapped = no != inside.follow && (it.no.falls || yes == inside.follow);
  Expression* opposite = swapped ? make_not(builder_.tree, test) : nullptr;
  if (swapped && !opposite) swapped = false;
  if (swapped) test = opposite;
  Statements body, otherwise;
  const bool body_falls = emit(swapped ? no : yes, inside, body);
  if (failed()) return false;
  const int second = swapped ? yes : no;
  const bool second_is_follow = second == inside.follow;
  if (!body_falls && !second_is_follow && !body.empty()) {  // what follows needs no else
    out.push_back(make<If>(plainest_test(builder_.tree, test), std::move(body), Statements{}));
    if (merge < 0) {
      next = second;
      return false;
    }
    const bool falls = emit(second, inside, out);
    if (falls) next = merge;
    return false;
  }
  const bool other_falls = emit(second, inside, otherwise);
  if (body.empty() && !otherwise.empty()) {
    if (Expression* negated = make_not(builder_.tree, test)) {
      test = negated;
      std::swap(body, otherwise);
    }
  }
  fill(body);
  out.push_back(make<If>(plainest_test(builder_.tree, test), std::move(body), std::move(otherwise)));
  if (merge >= 0 && (body_falls || other_falls)) {
    next = merge;
    return false;
  }
  return body_falls || other_falls;
}

Result<Statements> structure_statements(Builder& builder, Evaluated& code, const LiftedCode& lifted,
                                        const Regions& regions) {
  return Structurer(builder, code, lifted, regions).run();
}

}  // namespace suture::toolbox
