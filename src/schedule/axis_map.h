// AxisMap: how the axes of one nest (the guest) run along the axes of another (the host), derived from the
// wish that an access of the guest and an access of the host touch the same elements.
//
//   guest [3, 4] writes t[4*i0 + i1]      host [4, 3] reads t[i0 + 4*i1]       axes are swapped
//   guest [12]   writes t[i0]             host [3, 4] reads t[4*i0 + i1]       i0 = 4*i0' + i1' ("linear")
//
// Invariant: a map covers every guest axis with extent > 1; host axes it does not use are repetitions of the
// guest.
#pragma once

#include <optional>
#include <vector>

#include "loop/loop_program.h"

namespace suture {

struct AxisMap {
  std::vector<int> target;      // per guest axis: host axis, or -1 for extent 1
  std::vector<bool> flipped;    // per guest axis: runs backwards along the host axis
  std::vector<SymInt> extents;  // of the guest
  bool linear = false;          // the guest is one flat axis, spread over several host axes
  int flat_axis = -1;           // linear: guest axis with the smallest step
  std::vector<SymInt> weights;  // linear: flat index = sum(weights[h] * host index h)
  size_t host_rank = 0;

  Access apply(const Access& guest) const;
  bool plain() const;  // neither linear nor flipped
  std::vector<bool> used_axes() const;
};

AxisMap identity_map(const std::vector<SymInt>& extents);
// Axes of the host that may be used are marked in `allowed`.
std::optional<AxisMap> derive_map(const Nest& guest, const Access& guest_access, const Nest& host,
                                  const Access& host_access, const std::vector<bool>& allowed,
                                  const ShapeEnv& env);

// Accesses of one nest that touch the same element in every iteration.
bool same_elements(const Access& a, const Access& b);
// Every access of a nest: loads and stores.
std::vector<const Access*> all_accesses(const Nest& nest);
bool uses_axis_index(const Nest& nest);

}  // namespace suture
