#include "toolbox/verify/graph_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace suture::toolbox {
namespace {

bool same_constant_or_code(const Constant& a, const Constant& b) {
  if (a.is(Constant::Kind::kCode) && b.is(Constant::Kind::kCode))
    return a.code->view.name == b.code->view.name;
  return same_constant(a, b);
}

bool same_local(const CodeView& a, int i, const CodeView& b, int j) {
  const size_t x = static_cast<size_t>(i), y = static_cast<size_t>(j);
  return a.local_kinds[x] == b.local_kinds[y] && a.local_names[x] == b.local_names[y];
}

// JUMP_BACKWARD nodes that come to another node some time.
std::vector<bool> jumps_that_arrive(const InstructionGraph& graph) {
  std::vector<bool> arrives(graph.nodes.size(), false);
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<int> chain;
  for (size_t start = 0; start < graph.nodes.size(); ++start) {
    int node = static_cast<int>(start);
    chain.clear();
    while (graph.node(node).opcode == Opcode::JUMP_BACKWARD && !seen[static_cast<size_t>(node)]) {
      seen[static_cast<size_t>(node)] = true;
      chain.push_back(node);
      node = graph.node(node).next;
    }
    const bool good = graph.node(node).opcode != Opcode::JUMP_BACKWARD || arrives[static_cast<size_t>(node)];
    for (const int each : chain) arrives[static_cast<size_t>(each)] = good;
  }
  return arrives;
}

// JUMP_BACKWARD nodes in loops whose other nodes cannot raise. (Tarjan's strongly connected components, over
// the nodes that cannot.)
class BareLoops {
 public:
  explicit BareLoops(const InstructionGraph& graph)
      : graph_(graph),
        order_(graph.nodes.size(), -1),
        low_(graph.nodes.size()),
        result_(graph.nodes.size()) {}

  std::vector<bool> find() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[i].opcode == Opcode::JUMP_BACKWARD && order_[i] < 0) search(static_cast<int>(i));
    return std::move(result_);
  }

 private:
  struct Frame {
    int node;
    int edge = 0;
  };
  bool is_bare(int node) const {
    return node >= 0 && (!graph_.node(node).raises || graph_.node(node).opcode == Opcode::JUMP_BACKWARD);
  }
  int& order(int node) { return order_[static_cast<size_t>(node)]; }
  int& low(int node) { return low_[static_cast<size_t>(node)]; }

  void enter(int node) {
    order(node) = low(node) = count_++;
    path_.push_back({node});
    component_.push_back(node);
  }
  void search(int start) {
    enter(start);
    while (!path_.empty()) {
      Frame& top = path_.back();
      const int node = top.node;
      if (top.edge < 2) {
        const int next = top.edge++ == 0 ? graph_.node(node).next : graph_.node(node).taken;
        if (!is_bare(next)) continue;
        if (order(next) < 0)
          enter(next);
        else if (order(next) != kDone)
          low(node) = std::min(low(node), order(next));
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low(path_.back().node) = std::min(low(path_.back().node), low(node));
      if (low(node) == order(node)) close(node);
    }
  }
  void close(int root) {
    const bool alone = component_.back() == root;
    const Node& node = graph_.node(root);
    const bool is_loop = !alone || node.next == root || node.taken == root;
    for (int member = -1; member != root;) {
      member = component_.back();
      component_.pop_back();
      order(member) = kDone;
      result_[static_cast<size_t>(member)] = is_loop;
    }
  }

  static constexpr int kDone = 1 << 30;
  const InstructionGraph& graph_;
  std::vector<int> order_, low_;
  std::vector<bool> result_;
  std::vector<Frame> path_;
  std::vector<int> component_;
  int count_ = 0;
};

class Walk {
 public:
  Walk(const InstructionGraph& first, const InstructionGraph& second, int step_limit)
      : first_(first),
        second_(second),
        steps_left_(step_limit),
        partner_(first.nodes.size(), -1),
        first_arrives_(jumps_that_arrive(first)),
        second_arrives_(jumps_that_arrive(second)),
        first_bare_(BareLoops(first).find()),
        second_bare_(BareLoops(second).find()) {}

  GraphComparison run();

 private:
  void visit(int a, int b);
  void compare(int a, int b);
  void step_first(int a, int b);
  void step_second(int a, int b);
  void compare_handlers(int a, int b);
  void fail(int a, int b, std::string why);
  bool failed() const { return !result_.difference.empty(); }

  const InstructionGraph& first_;
  const InstructionGraph& second_;
  int steps_left_;
  std::vector<int> partner_;                 // the first partner of each node; nearly all have one only
  std::unordered_set<uint64_t> more_pairs_;  // all others
  std::vector<std::pair<int, int>> work_;
  std::vector<bool> first_arrives_, second_arrives_;
  std::vector<bool> first_bare_, second_bare_;
  GraphComparison result_;
};

void Walk::fail(int a, int b, std::string why) {
  result_.difference = std::move(why);
  result_.first_node = a;
  result_.second_node = b;
}

void Walk::visit(int a, int b) {
  if (a < 0 || b < 0) {
    if (a != b) fail(-1, -1, "control ends in one, not in the other");
    return;
  }
  int& partner = partner_[static_cast<size_t>(a)];
  if (partner == b) return;
  if (partner < 0)
    partner = b;
  else if (!more_pairs_.insert(static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b)).second)
    return;
  work_.emplace_back(a, b);
}

// The handlers of two nodes: none, or both with the same effect on the stack.
void Walk::compare_handlers(int a, int b) {
  const int x = first_.node(a).handler, y = second_.node(b).handler;
  if (x < 0 && y < 0) return;
  if (x < 0 || y < 0)
    return fail(a, b, fmt::format("only the {} has an exception handler there", x < 0 ? "second" : "first"));
  const Handler& one = first_.handlers[static_cast<size_t>(x)];
  const Handler& other = second_.handlers[static_cast<size_t>(y)];
  if (one.depth != other.depth || one.push_last_instruction != other.push_last_instruction)
    return fail(a, b, "their exception handlers restore different stacks");
  visit(one.target, other.target);
}

void Walk::step_first(int a, int b) {
  if (!first_arrives_[static_cast<size_t>(a)]) return fail(a, b, "the first runs for ever there");
  if (first_bare_[static_cast<size_t>(a)]) compare_handlers(a, b);
  if (!failed()) visit(first_.node(a).next, b);
}

void Walk::step_second(int a, int b) {
  if (!second_arrives_[static_cast<size_t>(b)]) return fail(a, b, "the second runs for ever there");
  if (second_bare_[static_cast<size_t>(b)]) compare_handlers(a, b);
  if (!failed()) visit(a, second_.node(b).next);
}

void Walk::compare(int a, int b) {
  const Node& x = first_.node(a);
  const Node& y = second_.node(b);
  const bool first_jumps = x.opcode == Opcode::JUMP_BACKWARD,
             second_jumps = y.opcode == Opcode::JUMP_BACKWARD;
  if (first_jumps && !second_jumps) return step_first(a, b);
  if (second_jumps && !first_jumps) return step_second(a, b);
  if (!same_operation(first_, x, second_, y)) return fail(a, b, "they differ");
  if (x.operand == Node::Operand::kConstant && first_.constant(x).is(Constant::Kind::kCode))
    result_.nested.emplace_back(first_.constant(x).code, second_.constant(y).code);
  const bool handlers_count =
      first_jumps ? first_bare_[static_cast<size_t>(a)] || second_bare_[static_cast<size_t>(b)]
                  : x.raises && y.raises;
  if (handlers_count) compare_handlers(a, b);
  if (!failed()) visit(x.next, y.next);
  if (!failed()) visit(x.taken, y.taken);
}

GraphComparison Walk::run() {
  visit(first_.entry, second_.entry);
  while (!work_.empty() && !failed()) {
    const auto [a, b] = work_.back();
    work_.pop_back();
    if (--steps_left_ < 0) {
      fail(a, b, "they are too large to compare");
      break;
    }
    compare(a, b);
  }
  result_.partners = std::move(partner_);
  return std::move(result_);
}

}  // namespace

bool same_operation(const InstructionGraph& first, const Node& a, const InstructionGraph& second,
                    const Node& b) {
  if (a.opcode != b.opcode || a.operand != b.operand || a.number != b.number) return false;
  switch (a.operand) {
    case Node::Operand::kNone:
    case Node::Operand::kNumber:
    case Node::Operand::kIgnored: return true;
    case Node::Operand::kConstant: return same_constant_or_code(first.constant(a), second.constant(b));
    case Node::Operand::kConstantItems:
      return same_constant({.kind = Constant::Kind::kFrozenset, .items = first.constant(a).items},
                           {.kind = Constant::Kind::kFrozenset, .items = second.constant(b).items});
    case Node::Operand::kName: return first.name(a) == second.name(b);
    case Node::Operand::kLocal: return same_local(first.tree->view, a.index, second.tree->view, b.index);
  }
  return false;
}

GraphComparison compare_graphs(const InstructionGraph& first, const InstructionGraph& second,
                               int step_limit) {
  return Walk(first, second, step_limit).run();
}

}  // namespace suture::toolbox
