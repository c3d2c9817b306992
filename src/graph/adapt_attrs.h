// Attributes of a node whose operands, or whose sizes, have changed: what the call would have said about the new ones.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

// Extents that inputs had, and what they became; the first pair of an extent counts.
struct ExtentChange {
  SymInt from, to;
};

// `node` is as it was, `before` and `after` are the types of its operands. Slices keep their distance from both ends of an
// axis; lists of sizes take over changed extents; one size of a reshape follows from the others. kUnsupported when the
// attributes make no sense for operands like these.
Result<Attrs> adapt_attrs(const Node& node, std::span<const TensorType> before,
                          std::span<const TensorType> after, std::span<const ExtentChange> changes);

}  // namespace suture
