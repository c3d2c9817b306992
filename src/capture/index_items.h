// Basic indices: x[1:, None, ..., -1] turned into IndexItems that cover every axis.
#pragma once

#include "capture/array_arguments.h"

namespace suture::numpy {

struct BasicIndex {
  std::vector<IndexItem> items;
  bool ellipsis = false;  // written with `...`
  bool all_ints = false;  // every axis is dropped and none is inserted: an element
};
// A Break for everything that is not a basic index (SB305) or is out of bounds (SB306).
Captured<BasicIndex> basic_index(const Call& call, const TensorType& type, const ValueRef& index);

// The bounds of start:stop:step over `extent` elements, clamped as Python clamps them.
Captured<IndexItem> slice_item(const Call& call, const SymInt& extent, const SliceValue& slice);
// start:stop covering everything.
IndexItem whole_axis(const SymInt& extent);

}  // namespace suture::numpy
