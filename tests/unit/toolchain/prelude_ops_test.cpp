// Prelude operations: NumPy's results, bit for bit, at the places where C would differ, compiled by both
// toolchains.
#include <gmock/gmock.h>

#include <cfenv>
#include <cmath>
#include <limits>

#include "kernel_harness.h"
#include "ops/op_info.h"
#include "plan/kernel_abi.h"

namespace suture {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

class Prelude : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "clang" && !have_plugin()) GTEST_SKIP() << "built without LLVM";
    ToolchainOptions o;
    o.kind = GetParam();
    o.plugin_path = SUTURE_PLUGIN_PATH;
    toolchain_ = make_toolchain(o);
  }

  // One row per case: a, b, expected result, expected status bits. All cases also run together, so that the
  // vectorised body of the loop and its scalar rest are both seen.
  template <class R, class T>
  struct Case {
    T a, b;
    R result;
    uint32_t status = 0;
  };
  template <class R, class T>
  void expect(const std::string& expression, const std::vector<Case<R, T>>& cases) {
    Kernel kernel = compile_expression<R, T>(*toolchain_, expression);
    ASSERT_NE(kernel.function, nullptr);
    Array<T> a, b;
    Array<R> expected, out;
    uint32_t all = 0;
    for (int repeat = 0; repeat < 40; ++repeat)
      for (const auto& c : cases)
        a.push_back(c.a), b.push_back(c.b), expected.push_back(c.result), all |= c.status;
    EXPECT_EQ((run<R, T>(kernel, a, b, out)), all) << expression;
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_TRUE(same<R>(out[i], expected[i])) << text<T, R>(expression, a[i], b[i], out[i], expected[i]);
    for (const auto& c : cases) {
      EXPECT_EQ((run<R, T>(kernel, {c.a}, {c.b}, out)), c.status)
          << text<T, R>(expression, c.a, c.b, out[0], c.result);
      EXPECT_TRUE(same<R>(out[0], c.result)) << text<T, R>(expression, c.a, c.b, out[0], c.result);
    }
  }

  template <class V>
  static bool same(V x, V y) {
    if constexpr (std::is_floating_point_v<V>)
      return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
    else
      return x == y;
  }
  template <class T, class R>
  static std::string text(const std::string& e, T a, T b, R got, R want) {
    return e + " of " + testing::PrintToString(+a) + ", " + testing::PrintToString(+b) + " gave " +
           testing::PrintToString(+got) + ", NumPy gives " + testing::PrintToString(+want);
  }

  std::unique_ptr<Toolchain> toolchain_;
};
INSTANTIATE_TEST_SUITE_P(Toolchains, Prelude, testing::Values("clang", "subprocess"),
                         [](auto& i) { return i.param; });

TEST_P(Prelude, IntegersWrap) {
  expect<int8_t, int8_t>("op_add(a, b)", {{127, 1, -128}, {-128, -1, 127}});
  expect<uint8_t, uint8_t>("op_sub(a, b)", {{0, 1, 255}});
  expect<uint16_t, uint16_t>("op_mul(a, b)", {{65535, 65535, 1}});
  expect<int64_t, int64_t>("op_mul(a, b)", {{INT64_MAX, 2, -2}});
  expect<int32_t, int32_t>("op_neg(a)", {{INT32_MIN, 0, INT32_MIN}, {5, 0, -5}});
  expect<int64_t, int64_t>("op_abs(a)", {{INT64_MIN, 0, INT64_MIN}, {-5, 0, 5}});
}

TEST_P(Prelude, BoolsAddAsOrAndMultiplyAsAnd) {
  expect<bool, bool>("op_add(a, b)", {{true, true, 1}, {false, true, 1}, {false, false, 0}});
  expect<bool, bool>("op_mul(a, b)", {{true, true, 1}, {false, true, 0}});
  expect<bool, bool>("op_invert(a)", {{true, false, 0}, {false, false, 1}});
}

TEST_P(Prelude, SignGivesNanForNanAndPlainZeroForBothZeros) {
  expect<double, double>("op_sign(a)",
                         {{-3.5, 0, -1}, {2, 0, 1}, {-0.0, 0, 0.0}, {kNan, 0, kNan}, {-kInf, 0, -1}});
  expect<uint8_t, uint8_t>("op_sign(a)", {{200, 0, 1}, {0, 0, 0}});
}

TEST_P(Prelude, MaximumPropagatesNanAndTakesTheSecondOfEqualZeros) {
  expect<double, double>("op_maximum(a, b)",
                         {{1, 2, 2}, {kNan, 1, kNan}, {1, kNan, kNan}, {0.0, -0.0, -0.0}, {-0.0, 0.0, 0.0}});
  expect<double, double>("op_minimum(a, b)",
                         {{1, 2, 1}, {kNan, 1, kNan}, {1, kNan, kNan}, {0.0, -0.0, -0.0}, {-0.0, 0.0, 0.0}});
  expect<uint64_t, uint64_t>("op_maximum(a, b)", {{UINT64_MAX, 1, UINT64_MAX}});
}

TEST_P(Prelude, FmaxPrefersNumbersAndReportsZerosOfBothSigns) {
  expect<double, double>("op_fmax(a, b, status)",
                         {{1, 2, 2}, {kNan, 1, 1}, {1, kNan, 1}, {kNan, kNan, kNan}, {0.0, 0.0, 0.0}});
  expect<double, double>("op_fmin(a, b, status)",
                         {{1, 2, 1}, {kNan, 1, 1}, {1, kNan, 1}, {kNan, kNan, kNan}, {-0.0, -0.0, -0.0}});
  expect<float, float>("op_fmin(a, b, status)", {{0.0f, -0.0f, -0.0f, SUTURE_KERNEL_BUILD_DEPENDENT}});
  expect<double, double>("op_fmax(a, b, status)", {{-0.0, 0.0, 0.0, SUTURE_KERNEL_BUILD_DEPENDENT}});
}

TEST_P(Prelude, IntegerFloorDivisionRoundsDownAndReportsZeroAndOverflow) {
  expect<int32_t, int32_t>("op_floor_divide(a, b, status)",
                           {{7, 2, 3},
                            {-7, 2, -4},
                            {7, -2, -4},
                            {-7, -2, 3},
                            {6, -3, -2},
                            {INT32_MIN, 1, INT32_MIN},
                            {INT32_MAX, INT32_MIN, -1},
                            {1, 0, 0, SUTURE_KERNEL_INT_DIVIDE},
                            {INT32_MIN, -1, INT32_MIN, SUTURE_KERNEL_INT_DIVIDE}});
  expect<int64_t, int64_t>("op_floor_divide(a, b, status)",
                           {{-7, 2, -4},
                            {INT64_MAX, 3, 3074457345618258602},
                            {1, 0, 0, SUTURE_KERNEL_INT_DIVIDE},
                            {INT64_MIN, -1, INT64_MIN, SUTURE_KERNEL_INT_DIVIDE}});
  expect<uint32_t, uint32_t>("op_floor_divide(a, b, status)",
                             {{4294967295u, 2, 2147483647u}, {4294967294u, 4294967295u, 0}});
  expect<uint8_t, uint8_t>("op_floor_divide(a, b, status)",
                           {{255, 16, 15}, {1, 0, 0, SUTURE_KERNEL_INT_DIVIDE}});
}

TEST_P(Prelude, IntegerRemainderHasTheDivisorsSignAndFmodTheDividends) {
  expect<int16_t, int16_t>(
      "op_remainder(a, b, status)",
      {{7, 3, 1}, {-7, 3, 2}, {7, -3, -2}, {-7, -3, -1}, {-6, 3, 0}, {1, 0, 0, SUTURE_KERNEL_INT_DIVIDE}});
  expect<int64_t, int64_t>("op_fmod(a, b, status)",
                           {{-7, 3, -1}, {7, -3, 1}, {1, 0, 0, SUTURE_KERNEL_INT_DIVIDE}});
}

TEST_P(Prelude, FloatFloorDivisionAndRemainderFollowPythonsSigns) {
  expect<double, double>(
      "op_floor_divide(a, b)",
      {{7, 2, 3}, {-7, 2, -4}, {1, 0.1, 9}, {-0.0, 1, -0.0}, {1, 0.0, kInf}, {kInf, 1, kNan}});
  expect<double, double>("op_remainder(a, b)", {{7, 3, 1},
                                                {-7, 3, 2},
                                                {7, -3, -2},
                                                {-0.0, 1, 0.0},
                                                {0.0, -1, -0.0},
                                                {1, 0.0, kNan},
                                                {1, kInf, 1},
                                                {-1, kInf, kInf}});
  expect<float, float>("op_fmod(a, b)", {{-7, 3, -1}, {7, -3, 1}});
}

TEST_P(Prelude, IntegerPowerWrapsAndReportsNegativeExponents) {
  expect<int64_t, int64_t>(
      "op_pow(a, b, status)",
      {{3, 4, 81}, {2, 64, 0}, {-2, 3, -8}, {0, 0, 1}, {2, -1, 1, SUTURE_KERNEL_INT_POWER}});
  expect<uint8_t, uint8_t>("op_pow(a, b, status)", {{2, 9, 0}, {3, 5, 243}});
}

TEST_P(Prelude, ShiftsBeyondTheWidthLeaveZeroOrTheSign) {
  expect<int32_t, int32_t>("op_shl(a, b)", {{1, 31, INT32_MIN}, {1, 32, 0}, {1, -1, 0}, {-1, 4, -16}});
  expect<int32_t, int32_t>("op_shr(a, b)", {{-5, 1, -3}, {-5, 40, -1}, {5, 40, 0}, {-5, -1, -1}});
  expect<uint8_t, uint8_t>("op_shr(a, b)", {{200, 3, 25}, {200, 8, 0}});
}

TEST_P(Prelude, FloatToIntegerCastsWrapWhereNumPyWrapsAndReportTheRest) {
  constexpr uint32_t bad = SUTURE_KERNEL_BAD_CAST;
  expect<uint8_t, double>("op_cast<uint8_t>(a, status)",
                          {{300, 0, 44}, {-1, 0, 255}, {70000, 0, 112}, {3e9, 0, 0, bad}, {kNan, 0, 0, bad}});
  expect<int32_t, double>("op_cast<int32_t>(a, status)", {{-2147483648.9, 0, INT32_MIN},
                                                          {2147483647.9, 0, INT32_MAX},
                                                          {2147483648.0, 0, INT32_MIN, bad},
                                                          {kNan, 0, INT32_MIN, bad}});
  expect<int32_t, float>("op_cast<int32_t>(a, status)",
                         {{-2147483648.0f, 0, INT32_MIN}, {2147483648.0f, 0, INT32_MIN, bad}, {1.9f, 0, 1}});
  expect<uint32_t, double>(
      "op_cast<uint32_t>(a, status)",
      {{3e9, 0, 3000000000u}, {-1, 0, 4294967295u}, {4294967296.0, 0, 0}, {1e20, 0, 0, bad}});
  expect<int64_t, double>(
      "op_cast<int64_t>(a, status)",
      {{-9.9, 0, -9}, {9223372036854775808.0, 0, INT64_MIN, bad}, {-kInf, 0, INT64_MIN, bad}});
  expect<uint64_t, double>("op_cast<uint64_t>(a, status)",
                           {{-1, 0, UINT64_MAX},
                            {18446744073709549568.0, 0, 18446744073709549568u},
                            {9223372036854775808.0, 0, 9223372036854775808u},
                            {1e20, 0, 0, bad}});
  expect<bool, double>("op_cast<bool>(a)", {{kNan, 0, 1}, {-0.0, 0, 0}, {0.5, 0, 1}});
}

TEST_P(Prelude, OtherCastsConvertAsC) {
  expect<int8_t, int64_t>("op_cast<int8_t>(a)", {{300, 0, 44}, {-129, 0, 127}});
  expect<double, uint64_t>("op_cast<double>(a)", {{UINT64_MAX, 0, 18446744073709551616.0}});
  expect<float, double>("op_cast<float>(a)", {{0.1, 0, 0.1f}, {1e300, 0, float(kInf)}});
  expect<double, bool>("op_cast<double>(a)", {{true, false, 1}});
}

TEST_P(Prelude, AssignedScalarsFitOrRaise) {
  constexpr uint32_t raises = SUTURE_KERNEL_PY_ERROR;
  expect<int8_t, int64_t>("op_cast_assigned<int8_t>(a, status)",
                          {{127, 0, 127}, {-128, 0, -128}, {128, 0, 0, raises}, {INT64_MIN, 0, 0, raises}});
  expect<int64_t, uint64_t>("op_cast_assigned<int64_t>(a, status)",
                            {{INT64_MAX, 0, INT64_MAX}, {uint64_t(1) << 63, 0, 0, raises}});
  expect<int8_t, double>("op_cast_assigned<int8_t>(a, status)",
                         {{127.9, 0, 127}, {-128.9, 0, -128}, {128, 0, 0, raises}, {-129, 0, 0, raises}});
  expect<int32_t, float>(
      "op_cast_assigned<int32_t>(a, status)",
      {{-2147483648.0f, 0, INT32_MIN}, {2147483648.0f, 0, 0, raises}, {float(kNan), 0, 0, raises}});
  expect<int64_t, double>("op_cast_assigned<int64_t>(a, status)",
                          {{-9.9, 0, -9}, {9223372036854775808.0, 0, 0, raises}, {-kInf, 0, 0, raises}});
}

TEST_P(Prelude, CheckedScalarArithmeticReportsOverflow) {
  constexpr uint32_t over = SUTURE_KERNEL_INT_OVERFLOW;
  expect<int64_t, int64_t>("op_add_checked(a, b, status)", {{INT64_MAX, 1, INT64_MIN, over}, {1, 2, 3}});
  expect<int32_t, int32_t>("op_sub_checked(a, b, status)", {{INT32_MIN, 1, INT32_MAX, over}});
  expect<uint8_t, uint8_t>("op_mul_checked(a, b, status)", {{16, 16, 0, over}, {15, 17, 255}});
  expect<int64_t, int64_t>("op_neg_checked(a, status)", {{INT64_MIN, 0, INT64_MIN, over}});
  expect<int64_t, int64_t>("op_abs_checked(a, status)", {{INT64_MIN, 0, INT64_MIN, over}, {-3, 0, 3}});
  expect<int64_t, int64_t>(
      "op_pow_checked(a, b, status)",
      {{3, 40, -6289078614652622815, over}, {3, 39, 4052555153018976267}, {2, 62, int64_t{1} << 62}});
  expect<int64_t, int64_t>("op_shl_checked(a, b, status)",
                           {{1, 62, int64_t{1} << 62}, {1, 64, 0, over}, {3, 62, -(int64_t{1} << 62), over}});
}

TEST_P(Prelude, RoundingIsHalfToEvenAndKeepsSignedZeros) {
  expect<double, double>("op_rint(a)",
                         {{0.5, 0, 0.0}, {1.5, 0, 2}, {2.5, 0, 2}, {-0.5, 0, -0.0}, {kNan, 0, kNan}});
  expect<double, double>("op_floor(a)", {{-0.5, 0, -1}, {-0.0, 0, -0.0}, {1e300, 0, 1e300}});
  expect<float, float>("op_trunc(a)", {{-1.5f, 0, -1}, {1.5f, 0, 1}});
  expect<int32_t, int32_t>("op_ceil(a)", {{-7, 0, -7}});
}

TEST_P(Prelude, SymbolArithmeticIsPythons) {
  expect<int64_t, int64_t>("sym_floordiv(a, b)", {{7, 2, 3}, {-7, 2, -4}, {7, -2, -4}, {-8, 2, -4}});
  expect<int64_t, int64_t>("sym_mod(a, b)", {{7, 3, 1}, {-7, 3, 2}, {7, -3, -2}, {6, 3, 0}});
  expect<int64_t, int64_t>("sym_min(a, b) + sym_max(a, b)", {{7, 3, 10}});
}

TEST_P(Prelude, OpaqueConstantsStillRaiseTheirFlags) {
  Kernel kernel = compile_expression<double, double>(*toolchain_, "op_div(opaque(1.0), opaque(0.0))");
  ASSERT_NE(kernel.function, nullptr);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::vector<double> out;
  run<double, double>(kernel, {1}, {1}, out);
  EXPECT_TRUE(std::fetestexcept(FE_DIVBYZERO));
  EXPECT_EQ(out[0], kInf);
}

// The table says "overloaded for every dtype that can reach them": every spelling must compile for every such
// dtype.
TEST_P(Prelude, EveryExpressionOfTheOpTableCompiles) {
  std::string text;
  std::vector<std::string> symbols;
  auto add = [&](const OpInfo& op, const std::string& type) {
    std::string expression(op.cpp);
    for (int i = 0; i < 3; ++i)
      for (size_t at; (at = expression.find("$" + std::to_string(i))) != std::string::npos;)
        expression.replace(at, 2, i == 0 && op.id == OpId::kWhere ? "condition" : std::string(1, "abc"[i]));
    const bool integer = type.find("int") != std::string::npos, floating = !integer && type != "bool";
    const bool reports =
        (op.signals == OpSignals::Status && integer) || (op.signals == OpSignals::Build && floating);
    if (reports) expression.insert(expression.rfind(')'), ", status");
    symbols.push_back("k" + std::to_string(symbols.size()));
    text += "extern \"C\" uint32_t " + symbols.back() +
            "(void* const* p, const int64_t*) {\n  const bool condition = *(const bool*)p[3];\n  const " +
            type + " a = *(const " + type + "*)p[0], b = *(const " + type +
            "*)p[1], c = b;\n  uint32_t status = 0;\n  *(" + type + "*)p[2] = (" + type + ")(" + expression +
            ");  // " + std::string(op.name) + "\n  return status;\n}\n";
  };
  const std::vector<std::string> floats = {"float", "double"};
  const std::vector<std::string> integers = {"int8_t",  "uint8_t",  "int16_t", "uint16_t",
                                             "int32_t", "uint32_t", "int64_t", "uint64_t"};
  for (const OpInfo& op : all_ops()) {
    if (op.cpp.empty()) continue;
    const bool no_float = op.rule == TypeRule::Bitwise || op.rule == TypeRule::Shift;
    const bool no_integer = op.rule == TypeRule::FloatUnary || op.rule == TypeRule::FloatBinary ||
                            op.rule == TypeRule::TrueDivide || op.rule == TypeRule::SignBit;
    const bool with_bool = op.rule == TypeRule::Arith || op.rule == TypeRule::Compare ||
                           op.rule == TypeRule::Logical || op.rule == TypeRule::Bitwise ||
                           op.rule == TypeRule::Keep || op.rule == TypeRule::Where ||
                           op.rule == TypeRule::Predicate || op.rule == TypeRule::Rounding;
    for (const auto& t : floats)
      if (!no_float) add(op, t);
    for (const auto& t : integers)
      if (!no_integer) add(op, t);
    if (with_bool) add(op, "bool");
  }
  auto library = toolchain_->compile({"all_ops", text, symbols, false});
  EXPECT_TRUE(library.ok()) << library.error().message;
}

}  // namespace
}  // namespace suture
