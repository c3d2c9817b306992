// StorageFacts: which memory leaves the graph and which memory is written, followed through views.
//
// Passes that make two nodes share memory, or drop a copy, ask here whether anyone could tell the difference.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace suture {

class StorageFacts {
 public:
  explicit StorageFacts(const Graph& graph);

  NodeId root(NodeId id) const { return root_[static_cast<size_t>(id)]; }
  bool is_output(NodeId id) const { return output_[static_cast<size_t>(id)]; }  // this very node is returned
  bool escapes(NodeId id) const {
    return escapes_[static_cast<size_t>(root(id))];
  }  // its memory is returned or a caller's
  // Some store may write into its memory. A store into one placeholder counts for all: callers may pass
  // overlapping arrays.
  bool written(NodeId id) const { return written_[static_cast<size_t>(root(id))]; }
  // Every node that reads `id` computes element by element, so the order of its elements in memory is
  // nobody's concern.
  bool only_elementwise_users(NodeId id) const { return elementwise_users_[static_cast<size_t>(id)]; }
  // A fresh buffer `copy` that holds the same values as `original` may be replaced by `original` itself.
  bool may_share(const Graph& graph, NodeId copy, NodeId original) const;

 private:
  std::vector<NodeId> root_;
  std::vector<bool> output_, escapes_, written_, elementwise_users_;
};

}  // namespace suture
