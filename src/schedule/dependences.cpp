#include "schedule/dependences.h"

#include <algorithm>
#include <iterator>

namespace suture {
namespace {

void sort_unique(std::vector<BufferId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

bool intersect(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](BufferId id) { return std::binary_search(b.begin(), b.end(), id); });
}

}  // namespace

Touched touched_storage(const Statement& statement, const std::vector<Buffer>& buffers) {
  Touched touched;
  if (const Nest* nest = std::get_if<Nest>(&statement)) {
    for (const Expr& expr : nest->exprs)
      if (expr.kind == Expr::Kind::kLoad) touched.reads.push_back(root_buffer(buffers, expr.access.buffer));
    for (const Store& store : nest->stores)
      touched.writes.push_back(root_buffer(buffers, store.access.buffer));
  } else {
    const NumpyCall& call = std::get<NumpyCall>(statement);
    for (BufferId operand : call.operands) touched.reads.push_back(root_buffer(buffers, operand));
    touched.writes.push_back(root_buffer(buffers, call.result));
  }
  sort_unique(touched.reads);
  sort_unique(touched.writes);
  return touched;
}

bool must_keep_order(const Touched& first, const Touched& second) {
  return intersect(first.writes, second.reads) || intersect(first.reads, second.writes) ||
         intersect(first.writes, second.writes);
}

std::vector<BufferId> shared_storage(const Touched& a, const Touched& b) {
  std::vector<BufferId> all_a = a.reads, all_b = b.reads, shared;
  all_a.insert(all_a.end(), a.writes.begin(), a.writes.end());
  all_b.insert(all_b.end(), b.writes.begin(), b.writes.end());
  sort_unique(all_a);
  sort_unique(all_b);
  std::set_intersection(all_a.begin(), all_a.end(), all_b.begin(), all_b.end(), std::back_inserter(shared));
  return shared;
}

}  // namespace suture
