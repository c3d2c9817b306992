// The C library's elementary functions: slow paths of the vector math.
#define SUTURE_C1(name) extern "C" double name(double) noexcept __attribute__((const));
#define SUTURE_C2(name) extern "C" double name(double, double) noexcept __attribute__((const));
SUTURE_C1(sin)
SUTURE_C1(cos)
SUTURE_C1(tan)
SUTURE_C1(asin)
SUTURE_C1(acos)
SUTURE_C1(atan)
SUTURE_C1(sinh)
SUTURE_C1(cosh)
SUTURE_C1(tanh)
SUTURE_C1(asinh)
SUTURE_C1(acosh)
SUTURE_C1(atanh)
SUTURE_C1(exp)
SUTURE_C1(exp2)
SUTURE_C1(expm1)
SUTURE_C1(log)
SUTURE_C1(log2)
SUTURE_C1(log10)
SUTURE_C1(log1p)
SUTURE_C1(cbrt)
SUTURE_C2(atan2)
SUTURE_C2(hypot)
SUTURE_C2(pow)
#undef SUTURE_C1
#undef SUTURE_C2
