// The order in which NumPy adds the elements of a floating-point reduction. Floating-point addition is not
// associative, so a kernel gives NumPy's bits only when it adds in NumPy's order. Found by experiment against
// NumPy 2.3 and 2.4 and confirmed on thousands of random layouts (tests/python/test_sum_order.py repeats
// that).
//
// How NumPy works
//   1. Axes of the OPERAND are sorted by decreasing absolute stride (ties and zero strides keep C order);
//      strides are not negated, so reversed views are added in view order. The layout of the result does not
//      matter.
//   2. Neighbouring axes merge when both are kept or both are reduced and they are contiguous with each
//      other.
//   3. Innermost axis kept: rows are added elementwise, result[kept] += x[...], outer axes in order
//      ("row adds").
//      Innermost axis reduced: the run along it is summed pairwise and its sum is added to result[kept]:
//        n < 8     left to right from -0.0
//        n <= 128  eight interleaved accumulators r0..r7, then ((r0+r1)+(r2+r3))+((r4+r5)+(r6+r7)), then
//                  the rest
//        n > 128   halves; the left half is n/2 rounded down to a multiple of 8
//      result[kept] starts at 0 (so the sum of -0.0 is 0.0).
//   4. The run is the merged innermost axis as a whole, whatever its length, except:
//      - the operand is converted first (sum(dtype=...)): it is buffered, so a run is cut into chunks of 8192
//        elements;
//      - several reduced axes lie innermost but do not merge (a strided view): NumPy may gather them into its
//        buffer; the run then spans these axes and is cut at the largest multiple of the inner axes that fits
//        8192 elements.
//   5. Products are added up left to right in the same element order; no pairwise tree.
//   NumPy before 2.3 also cuts rule 4's unconverted runs into chunks of 8192; the gathered case is not
//   modelled there.
//
// Invariants: the answer depends only on facts that are static or provable from the symbols' ranges;
// otherwise it is empty and the reduction is left to NumPy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sym/sym_int.h"

namespace suture {

// In which order the elements of a reduction are visited; `outer` then `run` is a loop order, outermost first. Binding for
// floating-point sums and products and for argmax/argmin, a preference for all others.
struct ReduceOrder {
  std::vector<int> outer;  // axes outside the run (all kept axes among them)
  std::vector<int>
      run;  // reduced axes whose elements form one run; empty: the innermost axis is kept (row adds)
  int64_t chunk = 0;  // > 0: a run is added in pieces of this many elements
  friend bool operator==(const ReduceOrder&, const ReduceOrder&) = default;
};

struct SumOrderQuery {
  std::span<const SymInt> shape;     // of the operand
  std::span<const SymInt> strides;   // of the operand, elements; 0 where an axis has extent 1
  const std::vector<bool>& reduced;  // per axis
  bool converted = false;            // the operand is cast to the accumulator's dtype by the reduction itself
  int numpy_minor = 3;
};

struct SumOrder {
  std::optional<ReduceOrder> order;
  std::string why_not;  // when order is empty
};
SumOrder numpy_sum_order(const SumOrderQuery& query, const ShapeEnv& env);

// Axes sorted as in rule 1, outermost first; empty when strides cannot be compared.
std::optional<std::vector<int>> axes_by_stride(std::span<const SymInt> shape, std::span<const SymInt> strides,
                                               const ShapeEnv& env);

}  // namespace suture
