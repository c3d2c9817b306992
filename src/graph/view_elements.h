// Walking over strided views, for the reference interpreter.
#pragma once

#include "graph/interpret.h"

namespace suture {

// Visits all indices of `shape` in C order.
template <class Visit>
void for_each_index(const std::vector<int64_t>& shape, Visit visit) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t left = count; left > 0; --left) {
    visit(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// Address of the element at `index`; axes that the view lacks or has with extent 1 are broadcast.
inline std::byte* at(const BufferView& view, const std::vector<int64_t>& index) {
  auto* address = static_cast<std::byte*>(view.data);
  const size_t skip = index.size() - view.shape.size();
  for (size_t axis = 0; axis < view.shape.size(); ++axis)
    if (view.shape[axis] != 1) address += index[axis + skip] * view.strides[axis];
  return address;
}

}  // namespace suture
