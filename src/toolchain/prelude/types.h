// Prelude of generated kernels: types, status bits and the vocabulary the other parts are written in.
//
// Rules for everything in this directory
//   - No #include: the text is header-free, and compilers provide what is needed as macros and builtins.
//   - Functions are branch-free where they can be, so that loops over them vectorise.
//   - Kernels are compiled without contraction and without any fast-math flag; the prelude relies on that.
//   - A function may raise a floating-point flag or a status bit too many (the graph is then replayed under
//     NumPy, which costs time), never one too few.

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

#define SUTURE_INLINE static inline __attribute__((always_inline))

// The bits of plan/kernel_abi.h; a test compares the two.
enum : uint32_t {
  kStatusIntDivide = 1,
  kStatusIntOverflow = 2,
  kStatusIntPower = 4,
  kStatusBadCast = 8,
  kStatusPyError = 16,
  kStatusBuildDependent = 32
};

template <bool B, class T, class F>
struct select_type {
  using type = T;
};
template <class T, class F>
struct select_type<false, T, F> {
  using type = F;
};

template <class T>
struct type_info;
#define SUTURE_TYPE(T, U, isfloat, issigned, nbits)                                                        \
  template <>                                                                                              \
  struct type_info<T> {                                                                                    \
    using unsigned_type = U;                                                                               \
    /* Unsigned arithmetic wraps; narrower types would be promoted to int, whose overflow is undefined. */ \
    using wrap_type = select_type<(nbits > 32), uint64_t, uint32_t>::type;                                 \
    static constexpr bool is_float = isfloat;                                                              \
    static constexpr bool is_signed = issigned;                                                            \
    static constexpr bool is_integer = !isfloat && nbits > 1;                                              \
    static constexpr int bits = nbits;                                                                     \
  };
SUTURE_TYPE(bool, uint8_t, false, false, 1)
SUTURE_TYPE(int8_t, uint8_t, false, true, 8)
SUTURE_TYPE(uint8_t, uint8_t, false, false, 8)
SUTURE_TYPE(int16_t, uint16_t, false, true, 16)
SUTURE_TYPE(uint16_t, uint16_t, false, false, 16)
SUTURE_TYPE(int32_t, uint32_t, false, true, 32)
SUTURE_TYPE(uint32_t, uint32_t, false, false, 32)
SUTURE_TYPE(int64_t, uint64_t, false, true, 64)
SUTURE_TYPE(uint64_t, uint64_t, false, false, 64)
SUTURE_TYPE(float, uint32_t, true, true, 32)
SUTURE_TYPE(double, uint64_t, true, true, 64)
#undef SUTURE_TYPE

template <class T>
constexpr bool is_float = type_info<T>::is_float;
template <class T>
constexpr bool is_integer = type_info<T>::is_integer;
template <class T>
constexpr bool is_signed = type_info<T>::is_signed;
template <class T>
constexpr bool is_bool = type_info<T>::bits == 1;
template <class T>
using wrap_t = typename type_info<T>::wrap_type;
template <class T>
constexpr T lowest_int = is_signed<T> ? T(wrap_t<T>(1) << (type_info<T>::bits - 1)) : T(0);

// Operations whose floating-point flags count although their value does not (src/codegen/conditions.h).
// The value, about which the compiler knows nothing any more. No loop with it inside vectorises.
SUTURE_INLINE uint64_t opaque(uint64_t x) {
  asm("" : "+r"(x));
  return x;
}
SUTURE_INLINE double opaque(double x) {
  asm("" : "+x"(x));
  return x;
}
SUTURE_INLINE uint64_t op_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
SUTURE_INLINE uint32_t op_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
// The value itself, since `nothing` is opaque(0); loops with it vectorise.
SUTURE_INLINE double op_hide(double x, uint64_t nothing) {
  return __builtin_bit_cast(double, op_bits(x) | nothing);
}
SUTURE_INLINE float op_hide(float x, uint64_t nothing) {
  return __builtin_bit_cast(float, op_bits(x) | uint32_t(nothing));
}
// Everything that `bits` was made of is computed.
SUTURE_INLINE void op_use(uint64_t bits) { asm volatile("" : : "r"(bits)); }
