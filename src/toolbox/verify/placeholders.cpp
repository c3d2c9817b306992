#include "toolbox/verify/placeholders.h"

#include <algorithm>
#include <set>

namespace suture::toolbox {
namespace {

constexpr const char* kTable = "_K";

std::vector<const CodeTree*> with_nested(const CodeTree& tree) {
  std::vector<const CodeTree*> codes = {&tree};
  std::set<const CodeTree*> seen = {&tree};
  for (size_t next = 0; next < codes.size(); ++next)
    for (const Constant& constant : codes[next]->constants)
      if (constant.is(Constant::Kind::kCode) && seen.insert(constant.code.get()).second)
        codes.push_back(constant.code.get());
  return codes;
}

class Folder {
 public:
  explicit Folder(InstructionGraph& graph)
      : graph_(graph), ways_(graph.nodes.size()), before_(graph.nodes.size(), -1) {
    const auto come = [&](int to, int from) {
      if (to < 0) return;
      ++ways_[static_cast<size_t>(to)];
      before_[static_cast<size_t>(to)] = from;
    };
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      come(graph.nodes[i].next, static_cast<int>(i));
      come(graph.nodes[i].taken, static_cast<int>(i));
    }
    for (const Handler& handler : graph.handlers) come(handler.target, -1);
    come(graph.entry, -1);
  }

  int fold() {
    int found = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) found += fold_item(static_cast<int>(i)) ? 1 : 0;
    if (found > 0)
      for (size_t i = 0; i < graph_.nodes.size(); ++i) fold_tuple(static_cast<int>(i));
    return found;
  }

 private:
  Node& at(int index) { return graph_.nodes[static_cast<size_t>(index)]; }
  // The node that runs behind another one and that nothing else leads to, or -1.
  int only_next(int index) {
    const int next = at(index).next;
    return next >= 0 && at(index).taken < 0 && ways_[static_cast<size_t>(next)] == 1 ? next : -1;
  }
  bool is_constant(int index) {
    return index >= 0 && at(index).opcode == Opcode::LOAD_CONST &&
           at(index).operand == Node::Operand::kConstant;
  }

  void replace(int first, int last, Constant constant) {
    Node& node = at(first);
    node.opcode = Opcode::LOAD_CONST;
    node.operand = Node::Operand::kConstant;
    node.index = graph_.add_constant(std::move(constant));
    node.number = 0;
    node.raises = false;
    node.next = at(last).next;
    if (node.next >= 0 && before_[static_cast<size_t>(node.next)] == last)
      before_[static_cast<size_t>(node.next)] = first;
  }

  bool fold_item(int index) {
    const Node& load = at(index);
    const bool table = (load.opcode == Opcode::LOAD_GLOBAL || load.opcode == Opcode::LOAD_NAME) &&
                       load.operand == Node::Operand::kName && graph_.name(load) == kTable;
    const int number = table ? only_next(index) : -1;
    if (!is_constant(number)) return false;
    const Constant constant = graph_.constant(at(number));
    const int item = only_next(number);
    if (item < 0 || at(item).opcode != Opcode::BINARY_SUBSCR || !constant.is(Constant::Kind::kInt))
      return false;
    replace(index, item, {.kind = Constant::Kind::kPlaceholder, .integer = constant.integer});
    return true;
  }

  void fold_tuple(int index) {
    if (at(index).opcode != Opcode::BUILD_TUPLE || at(index).number == 0) return;
    Constant::Items items;
    int first = index;
    for (int left = at(index).number; left > 0; --left) {
      const int load = ways_[static_cast<size_t>(first)] == 1 ? before_[static_cast<size_t>(first)] : -1;
      if (!is_constant(load) || at(load).next != first) return;
      items.insert(items.begin(), graph_.constant(at(load)));
      first = load;
    }
    if (std::ranges::any_of(items, is_placeholder)) replace(first, index, Constant::tuple(std::move(items)));
  }

  InstructionGraph& graph_;
  std::vector<int> ways_;    // that lead to a node
  std::vector<int> before_;  // a node that leads here
};

}  // namespace

int fold_placeholders(InstructionGraph& graph) { return Folder(graph).fold(); }

bool is_placeholder(const Constant& constant) {
  if (constant.is(Constant::Kind::kPlaceholder)) return true;
  const bool group = constant.is(Constant::Kind::kTuple) || constant.is(Constant::Kind::kFrozenset);
  return group && std::ranges::any_of(*constant.items, is_placeholder);
}

bool has_own_table(const CodeTree& tree) {
  return std::ranges::any_of(with_nested(tree), [](const CodeTree* code) {
    const auto has = [](const std::vector<std::string>& names) {
      return std::ranges::find(names, kTable) != names.end();
    };
    return has(code->view.names) || has(code->view.local_names);
  });
}

bool has_placeholders(const CodeTree& tree) {
  const bool found = std::ranges::any_of(with_nested(tree), [](const CodeTree* code) {
    return std::ranges::any_of(code->constants, is_placeholder);
  });
  return found && !has_own_table(tree);
}

}  // namespace suture::toolbox
