// The reference interpreter: slow, obvious, kept for ever. Runs a lowered graph over plain buffers, element
// by element, with NumPy's summation order. Backend `lowered_eager`, and the oracle for passes and kernels.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

// A strided view of memory owned elsewhere. Strides in BYTES.
struct BufferView {
  void* data = nullptr;
  DType dtype = DType::kFloat64;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

struct InterpretedOutput {
  BufferView view;
  std::vector<std::byte> storage;  // owns view.data unless the output aliases an input
  int aliases_placeholder = -1;    // index into Graph::placeholders when the output is (a view of) an input
};

// Computes the matrix product of the first two into the third. BLAS rounds differently from row times column in order, so whoever
// has NumPy at hand passes its product.
using MatrixProduct = std::function<Status(const BufferView&, const BufferView&, const BufferView&)>;

// Inputs in placeholder order; scalars are rank-0 views of their dtype. symbol_values indexed by SymbolId. product: none = row times
// column, in order.
Result<std::vector<InterpretedOutput>> interpret(const Graph& lowered, std::span<const BufferView> inputs,
                                                 std::span<const int64_t> symbol_values,
                                                 const MatrixProduct& product = {});

}  // namespace suture
