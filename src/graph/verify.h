// The laws of a graph, as data. Each has a name, a sentence, and a test that breaks it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

struct GraphLaw {
  std::string_view name;
  std::string_view sentence;
  // Empty when the law holds; otherwise what breaks it.
  std::string (*check)(const Graph&);
};
std::span<const GraphLaw> graph_laws();
// Something says where it comes from: a user line, or, where the user's code has no line table, its file and function.
bool has_origin(const UserSpan& where);
Status verify(const Graph& graph);

}  // namespace suture
