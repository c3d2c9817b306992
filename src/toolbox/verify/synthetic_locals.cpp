#include "toolbox/verify/synthetic_locals.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/escaped_text.h"

namespace suture::toolbox {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Functions and attributes through which a program may see its locals by name.
std::string frame_reader(const InstructionGraph& graph) {
  constexpr std::string_view kReaders[] = {"locals", "vars",      "dir",          "eval",
                                           "exec",   "_getframe", "currentframe", "f_locals"};
  for (const Node& node : graph.nodes) {
    if (node.operand != Node::Operand::kName) continue;
    const std::string& name = graph.name(node);
    if (std::ranges::find(kReaders, name) != std::end(kReaders)) return name;
  }
  return "";
}

// Does code that may see the names as variables have them already?
bool uses_name(const CodeTree& tree, const std::vector<std::string>& names) {
  const auto in = [&](const std::vector<std::string>& all) {
    return std::ranges::find_first_of(all, names) != all.end();
  };
  std::vector<const CodeTree*> codes = {&tree};
  std::set<const CodeTree*> seen = {&tree};  // several may hold the same
  for (size_t next = 0; next < codes.size(); ++next) {
    if (in(codes[next]->view.names) || in(codes[next]->view.local_names)) return true;
    for (const Constant& constant : codes[next]->constants) {
      const CodeTree* nested = constant.code.get();
      if (nested && seen.insert(nested).second) codes.push_back(nested);
    }
  }
  return false;
}

// What sees the variables of a body that has no locals. Nothing in the code of a class says what its metaclass is, whose
// `__prepare__` makes the namespace.
std::string namespace_reader(const CodeTree& body) {
  const std::string anyone = "whoever looks at the namespace while it runs";
  if (body.view.name == "<module>") return anyone;
  return "its metaclass, whose namespace may refuse them (as that of enum.Enum does), and of " + anyone;
}

bool has_locals(const InstructionGraph& graph) { return (graph.tree->view.flags & kCodeOptimized) != 0; }

// Bodies of modules and classes.
Status check_open_names(const InstructionGraph& first, const InstructionGraph& second,
                        const std::vector<std::string>& names) {
  std::vector<std::string> here;  // functions that are nested in it have their own
  for (const std::string& name : second.tree->view.names)
    if (contains(names, name)) here.push_back(name);
  if (uses_name(*first.tree, here)) return Error::unsupported("verify", "the first uses a synthetic name");
  for (const Node& node : second.nodes) {
    const bool global = node.opcode == Opcode::LOAD_GLOBAL || node.opcode == Opcode::STORE_GLOBAL ||
                        node.opcode == Opcode::DELETE_GLOBAL;
    if (global && contains(names, second.name(node)))
      return Error::unsupported("verify",
                                fmt::format("{} is a global variable", escaped_line(second.name(node))));
  }
  return ok_status();
}

Status check_names(const InstructionGraph& first, const InstructionGraph& second,
                   const std::vector<std::string>& names) {
  const CodeView &a = first.tree->view, &b = second.tree->view;
  const auto refuse = [](std::string why) { return Error::unsupported("verify", std::move(why)); };
  for (const std::string& name : a.local_names)
    if (contains(names, name))
      return refuse(fmt::format("{} is also a local of the first", escaped_line(name)));
  for (size_t i = 0; i < b.local_names.size(); ++i) {
    if (!contains(names, b.local_names[i])) continue;
    const bool parameter = i < static_cast<size_t>(b.parameter_count());
    if (parameter || (b.local_kinds[i] & (kLocalCell | kLocalFree)) != 0)
      return refuse(fmt::format("the synthetic local {} is a {}", escaped_line(b.local_names[i]),
                                parameter ? "parameter" : "cell"));
  }
  return has_locals(second) ? ok_status() : check_open_names(first, second, names);
}

bool is_name_access(Opcode opcode) {
  return opcode == Opcode::LOAD_NAME || opcode == Opcode::STORE_NAME || opcode == Opcode::DELETE_NAME;
}

constexpr size_t kWordBits = 64;

class Liveness {
 public:
  Liveness(const InstructionGraph& graph, SyntheticLocals& locals) : graph_(graph), locals_(locals) {}

  void run() {
    const size_t count = graph_.nodes.size();
    locals_.live.assign(count, std::vector<uint64_t>(words()));
    std::vector<std::vector<int>> before(count);
    for (size_t i = 0; i < count; ++i)
      for (const int next : successors(graph_.nodes[i]))
        before[static_cast<size_t>(next)].push_back(static_cast<int>(i));
    // The last node comes first: what is live comes from behind.
    std::vector<int> work;
    std::vector<bool> waits(count, true);
    for (int i = 0; i < static_cast<int>(count); ++i) work.push_back(i);
    while (!work.empty()) {
      const int node = work.back();
      work.pop_back();
      waits[static_cast<size_t>(node)] = false;
      if (!update(node)) continue;
      for (const int earlier : before[static_cast<size_t>(node)]) {
        if (waits[static_cast<size_t>(earlier)]) continue;
        waits[static_cast<size_t>(earlier)] = true;
        work.push_back(earlier);
      }
    }
  }

 private:
  std::vector<int> successors(const Node& node) const {
    std::vector<int> out;
    const int handler = node.handler < 0 ? -1 : graph_.handlers[static_cast<size_t>(node.handler)].target;
    for (const int next : {node.next, node.taken, handler})
      if (next >= 0) out.push_back(next);
    return out;
  }

  bool update(int index) {
    const Node& node = graph_.node(index);
    std::vector<uint64_t> live(words());
    for (const int next : successors(node))
      for (size_t i = 0; i < live.size(); ++i) live[i] |= locals_.live[static_cast<size_t>(next)][i];
    const int number = locals_.number_of(node);
    const bool stores = node.opcode == Opcode::STORE_FAST || node.opcode == Opcode::STORE_NAME;
    if (number >= 0) {
      uint64_t& word = live[static_cast<size_t>(number) / kWordBits];
      const uint64_t bit = uint64_t{1} << (static_cast<size_t>(number) % kWordBits);
      word = stores ? word & ~bit : word | bit;
    }
    std::vector<uint64_t>& known = locals_.live[static_cast<size_t>(index)];
    if (known == live) return false;
    known = std::move(live);
    return true;
  }

  size_t words() const { return (static_cast<size_t>(locals_.count) + kWordBits - 1) / kWordBits; }

  const InstructionGraph& graph_;
  SyntheticLocals& locals_;
};

}  // namespace

int SyntheticLocals::number_of(const Node& node) const {
  const auto index = static_cast<size_t>(node.index);
  if (node.operand == Node::Operand::kLocal) return number_of_local[index];
  if (node.operand == Node::Operand::kName && is_name_access(node.opcode) && !number_of_name.empty())
    return number_of_name[index];
  return -1;
}

void SyntheticLocals::forget_dead(int node, std::vector<AbstractValue>& values) const {
  const std::vector<uint64_t>& live_here = live[static_cast<size_t>(node)];
  for (size_t i = 0; i < values.size(); ++i)
    if (((live_here[i / kWordBits] >> (i % kWordBits)) & 1) == 0) values[i] = {};
}

Result<SyntheticLocals> find_synthetic_locals(const InstructionGraph& first, const InstructionGraph& second,
                                              const std::vector<std::string>& names, bool may_show) {
  SUTURE_TRY_VOID(check_names(first, second, names));
  SyntheticLocals locals;
  for (const std::string& name : second.tree->view.local_names)
    locals.number_of_local.push_back(contains(names, name) ? locals.count++ : -1);
  locals.seen_by = frame_reader(first);
  if (!has_locals(second)) {
    locals.seen_by = namespace_reader(*first.tree);
    for (const std::string& name : second.tree->view.names)
      locals.number_of_name.push_back(contains(names, name) ? locals.count++ : -1);
  }
  if (!may_show && !locals.seen_by.empty())
    return Error::unsupported("verify", fmt::format("{} would show the synthetic locals", locals.seen_by));
  Liveness(second, locals).run();
  return locals;
}

}  // namespace suture::toolbox
