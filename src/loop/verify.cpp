// The laws of a loop nest. One function per law; the table below is the list a reader wants.
#include "loop/verify.h"

#include <fmt/format.h>

#include "graph/verify.h"

namespace suture {
namespace {

bool is_node(NodeId id, const Graph& graph) {
  return id >= 0 && static_cast<size_t>(id) < graph.nodes.size();
}

std::string operands_come_first(const Nest& nest, const Graph&) {
  for (size_t id = 0; id < nest.exprs.size(); ++id)
    for (ExprId operand : nest.exprs[id].operands)
      if (operand < 0 || static_cast<size_t>(operand) >= id)
        return fmt::format("expression {}: operand {} is not an earlier expression", id, operand);
  return "";
}

std::string parts_name_their_node(const Nest& nest, const Graph& graph) {
  for (size_t id = 0; id < nest.exprs.size(); ++id)
    if (!is_node(nest.exprs[id].node, graph)) return fmt::format("expression {} computes no node", id);
  for (size_t r = 0; r < nest.reductions.size(); ++r)
    if (!is_node(nest.reductions[r].node, graph)) return fmt::format("reduction {} computes no node", r);
  for (size_t s = 0; s < nest.stores.size(); ++s)
    if (!is_node(nest.stores[s].node, graph)) return fmt::format("store {} belongs to no node", s);
  for (NodeId id : nest.nodes)
    if (!is_node(id, graph)) return fmt::format("node {} does not exist", id);
  return "";
}

std::string expressions_have_an_origin(const Nest& nest, const Graph&) {
  for (size_t id = 0; id < nest.exprs.size(); ++id)
    if (!has_origin(nest.exprs[id].where))
      return fmt::format("expression {}: made by no line of the user's program", id);
  return "";
}

constexpr NestLaw kLaws[] = {
    {"operands_come_first", "Operands are earlier expressions.", operands_come_first},
    {"parts_name_their_node", "Expressions, reductions and stores name the graph node they are of.",
     parts_name_their_node},
    {"expressions_have_an_origin", "Every expression carries the place in the user's source that made it.",
     expressions_have_an_origin},
};

}  // namespace

std::span<const NestLaw> nest_laws() { return kLaws; }

Status verify(const Nest& nest, const Graph& graph) {
  for (const NestLaw& law : kLaws) {
    const std::string broken = law.check(nest, graph);
    if (!broken.empty())
      return Error::internal("verify", fmt::format("law {} of loop nests broken by {}", law.name, broken));
  }
  return ok_status();
}

Status verify(const LoopProgram& program, const Graph& graph) {
  for (const auto& statement : program.statements)
    if (const Nest* nest = std::get_if<Nest>(&statement)) SUTURE_TRY_VOID(verify(*nest, graph));
  return ok_status();
}

}  // namespace suture
