// Reductions over blocks. A kernel evaluates the reduced expression for a block of elements into a small
// array (a plain loop that vectorises) and hands the block to one of these; a sum of contiguous memory passes
// the memory itself.
//
// Sums of floats follow NumPy's pairwise order exactly (src/graph/sum_order.h): the eight accumulators of a
// block are the lanes of one vector, and PairwiseTree walks the blocks of the recursion from left to right.
// Nothing is reassociated.

typedef double f64x8 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
template <class T>
struct eight_lanes;
template <>
struct eight_lanes<double> {
  using type = f64x8;
};
template <>
struct eight_lanes<float> {
  using type = f32x8;
};

// Identities of max and min.
template <class T>
SUTURE_INLINE T lowest_value() {
  if constexpr (is_float<T>)
    return T(-__builtin_inf());
  else
    return lowest_int<T>;
}
template <class T>
SUTURE_INLINE T highest_value() {
  if constexpr (is_float<T>)
    return T(__builtin_inf());
  else if constexpr (is_bool<T>)
    return true;
  else
    return T(~lowest_int<T>);
}

// NumPy's pairwise recursion over n elements, cut off at nodes of at most `Leaf` elements: next() is the
// length of the next node from the left (0 at the end), add() takes its sum. A node is split at half its size
// rounded down to a multiple of 8. Kernels evaluate nodes of up to 1024 elements at once, long enough for
// vector loops; pairwise_sum goes on inside a node.
template <class T, int64_t Leaf = 1024>
struct PairwiseTree {
  struct Level {
    int64_t right;  // elements of the right half, while the left one is being summed
    T left;         // its sum, once known
    bool has_left;
  };
  Level levels[64];
  int depth = 0;
  int64_t pending;
  T total = T(-0.0);

  __attribute__((always_inline)) explicit PairwiseTree(int64_t n) : pending(n) {}
  __attribute__((always_inline)) int64_t next() {
    int64_t size = pending;
    while (size > Leaf) {
      int64_t half = size / 2;
      half -= half % 8;
      levels[depth++] = {size - half, T(0), false};
      size = half;
    }
    return size;
  }
  __attribute__((always_inline)) void add(T block) {
    pending = 0;
    while (depth > 0) {
      Level& level = levels[depth - 1];
      if (!level.has_left) {
        level.left = block;
        level.has_left = true;
        pending = level.right;
        return;
      }
      block = level.left + block;
      --depth;
    }
    total = block;
  }
  __attribute__((always_inline)) T sum() const { return total; }
};

// At most 128 elements, as one leaf of the recursion.
template <class T>
SUTURE_INLINE T sum_block(const T* x, int64_t n) {
  if (n < 8) {
    T total = T(-0.0);
    for (int64_t k = 0; k < n; ++k) total = total + x[k];
    return total;
  }
  using Lanes = typename eight_lanes<T>::type;
  Lanes r, v;
  __builtin_memcpy(&r, x, sizeof r);
  int64_t k = 8;
  for (; k + 8 <= n; k += 8) {
    __builtin_memcpy(&v, x + k, sizeof v);
    r = r + v;
  }
  T total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; k < n; ++k) total = total + x[k];
  return total;
}

// Any number of contiguous elements.
template <class T>
SUTURE_INLINE T pairwise_sum(const T* x, int64_t n) {
  if (n <= 128) return sum_block(x, n);
  PairwiseTree<T, 128> tree(n);
  for (int64_t first = 0, length; (length = tree.next()) != 0; first += length)
    tree.add(sum_block(x + first, length));
  return tree.sum();
}

// Integer and bool sums wrap, so their order does not matter. Products of floats are taken left to right.
template <class T>
SUTURE_INLINE T reduce_sum(T total, const T* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) total = op_add(total, x[k]);
  return total;
}
template <class T>
SUTURE_INLINE T reduce_prod(T total, const T* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) total = op_mul(total, x[k]);
  return total;
}

// The larger, or the smaller, of two. NaN wins: a lane that holds one never changes again.
template <bool kLarger, class T>
SUTURE_INLINE T extreme(T a, T b) {
  return kLarger ? op_maximum(a, b) : op_minimum(a, b);
}
template <bool kLarger, class T>
SUTURE_INLINE T reduce_extreme(T best, const T* x, int64_t n) {
  int64_t k = 0;
  if constexpr (is_float<T>) {
    if (n >= 16) {
      using Lanes = typename eight_lanes<T>::type;
      Lanes r, v;
      __builtin_memcpy(&r, x, sizeof r);
      for (k = 8; k + 8 <= n; k += 8) {
        __builtin_memcpy(&v, x + k, sizeof v);
        r = ((kLarger ? r >= v : r <= v) | (r != r)) ? r : v;
      }
      for (int lane = 0; lane < 8; ++lane) best = extreme<kLarger>(best, T(r[lane]));
    }
  }
  for (; k < n; ++k) best = extreme<kLarger>(best, x[k]);
  return best;
}
// Which of several zeros wins depends on how NumPy was built, as for op_fmax. `zeros` collects the signs of those that
// can win: bit 0 for 0.0, bit 1 for -0.0.
template <class T>
SUTURE_INLINE uint32_t zero_sign(T x) {
  return x == 0 ? (op_signbit(x) ? 2 : 1) : 0;
}
template <class T>
SUTURE_INLINE T note_zeros(T before, T best, const T* x, int64_t n, uint32_t& zeros) {
  if (best == 0) {
    uint32_t seen = zero_sign(before);
    for (int64_t k = 0; k < n; ++k) seen |= zero_sign(x[k]);
    zeros |= seen;
  }
  return best;
}
template <class T>
SUTURE_INLINE T reduce_max(T best, const T* x, int64_t n, uint32_t& zeros) {
  return note_zeros(best, reduce_extreme<true>(best, x, n), x, n, zeros);
}
template <class T>
SUTURE_INLINE T reduce_min(T best, const T* x, int64_t n, uint32_t& zeros) {
  return note_zeros(best, reduce_extreme<false>(best, x, n), x, n, zeros);
}
template <class T>
SUTURE_INLINE uint32_t zeros_status(T best, uint32_t zeros) {
  return best == 0 && zeros == 3 ? kStatusBuildDependent : 0;
}
template <class T>
SUTURE_INLINE T reduce_max(T best, const T* x, int64_t n) {
  return reduce_extreme<true>(best, x, n);
}
template <class T>
SUTURE_INLINE T reduce_min(T best, const T* x, int64_t n) {
  return reduce_extreme<false>(best, x, n);
}
template <class T>
SUTURE_INLINE bool reduce_any(bool found, const T* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) found = found | op_truth(x[k]);
  return found;
}
template <class T>
SUTURE_INLINE bool reduce_all(bool holds, const T* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) holds = holds & op_truth(x[k]);
  return holds;
}

// First occurrence; the first NaN wins and stays. `begin` is the index of x[0]. The block is searched only
// when it improves on the best so far.
template <bool kLarger, class T>
SUTURE_INLINE void locate_extreme(T& best, int64_t& index, const T* x, int64_t n, int64_t begin) {
  if (best != best) return;
  const T found = reduce_extreme<kLarger>(best, x, n);
  if (found == best) return;
  int64_t k = 0;
  while (!(x[k] == found || (found != found && x[k] != x[k]))) ++k;
  best = found;
  index = begin + k;
}
template <class T>
SUTURE_INLINE void reduce_argmax(T& best, int64_t& index, const T* x, int64_t n, int64_t begin) {
  locate_extreme<true>(best, index, x, n, begin);
}
template <class T>
SUTURE_INLINE void reduce_argmin(T& best, int64_t& index, const T* x, int64_t n, int64_t begin) {
  locate_extreme<false>(best, index, x, n, begin);
}
