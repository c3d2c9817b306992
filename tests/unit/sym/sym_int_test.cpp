// SymInt: canonical form, evaluation, text. The property tests build random expressions and compare with
// direct evaluation.
#include "sym/sym_int.h"

#include <gtest/gtest.h>

#include <random>

namespace suture {
namespace {

const SymInt s0 = SymInt::symbol(0), s1 = SymInt::symbol(1), s2 = SymInt::symbol(2);

TEST(SymInt, equal_polynomials_are_equal_however_they_were_built) {
  EXPECT_EQ((s0 + s1) * (s0 - s1), s0 * s0 - s1 * s1);
  EXPECT_EQ(s0 + s0, 2 * s0);
  EXPECT_EQ(s0 * 0, SymInt(0));
  EXPECT_EQ(s0 - s0, SymInt(0));
  EXPECT_EQ(s0 * s1 * 3, 3 * s1 * s0);
  EXPECT_FALSE(s0 + 1 == s0);
}

TEST(SymInt, exact_divisions_disappear) {
  EXPECT_EQ(floordiv(4 * s0 + 8, 4), s0 + 2);
  EXPECT_EQ(floordiv(4 * s0 + 9, 4), s0 + 2);
  EXPECT_EQ(floordiv(6 * s0 * s1, 2 * s1), 3 * s0);
  EXPECT_EQ(mod(6 * s0 + 7, 6), SymInt(1));
  EXPECT_EQ(mod(s0 * s1, s1), SymInt(0));
  EXPECT_EQ(floordiv(floordiv(s0, 2), 3), floordiv(s0, 6));
  EXPECT_EQ(floordiv(2 * s0 + 2, 4), floordiv(s0 + 1, 2));
}

TEST(SymInt, floor_semantics_are_pythons) {
  EXPECT_EQ(floordiv(-7, 2), SymInt(-4));
  EXPECT_EQ(mod(-7, 2), SymInt(1));
  EXPECT_EQ(floordiv(7, -2), SymInt(-4));
  EXPECT_EQ(mod(7, -2), SymInt(-1));
}

TEST(SymInt, min_and_max_forget_arguments_that_cannot_win) {
  EXPECT_EQ(sym_min(s0 + 1, s0), s0);
  EXPECT_EQ(sym_max(s0 + 1, s0), s0 + 1);
  EXPECT_EQ(sym_min(sym_min(s0, 8), 5), sym_min(s0, 5));
  EXPECT_EQ(sym_max(s1, s0), sym_max(s0, s1));
}

TEST(SymInt, text_is_python_and_cpp_calls_the_prelude) {
  SymInt e = 2 * s0 * s1 - s2 + 1;
  EXPECT_EQ(e.str(), "2*s0*s1 - s2 + 1");
  EXPECT_EQ((-s0).str(), "-s0");
  EXPECT_EQ(floordiv(s0 + 1, 2).str(), "(s0 + 1) // 2");
  EXPECT_EQ((floordiv(s0, 2) + 1).str(), "(s0 // 2) + 1");
  EXPECT_EQ((-mod(s0, 2)).str(), "-(s0 % 2)");
  EXPECT_EQ(sym_min(sym_min(s0, s1), 8).str(), "min(s0, s1, 8)");
  std::vector<std::string> names{"n", "m", "k"};
  EXPECT_EQ((floordiv(s0, 2) * 3).cpp(names), "3*sym_floordiv(n, 2)");
  EXPECT_EQ(sym_max(sym_max(s0, s1), 8).cpp(names), "sym_max(n, sym_max(m, 8))");
}

TEST(SymInt, overflow_and_division_by_zero_are_undefined_and_stay_so) {
  SymInt big = SymInt(INT64_MAX) * s0;
  EXPECT_TRUE(big.defined());
  EXPECT_FALSE((big * 2).defined());
  EXPECT_FALSE((SymInt(INT64_MAX) + 1).defined());
  EXPECT_FALSE(floordiv(s0, 0).defined());
  EXPECT_FALSE(((big * 2) * 0).defined());
  EXPECT_FALSE(SymInt::undefined() == SymInt::undefined());
}

TEST(SymInt, evaluation_is_exact_or_has_no_value) {
  const int64_t n = int64_t{1} << 40;
  const std::vector<int64_t> values{n, 3};
  EXPECT_EQ((s0 * s1).evaluate(values), 3 * n);
  EXPECT_EQ((s0 * s0).evaluate(values), std::nullopt);
  EXPECT_EQ((s0 * s0 - s0 * s0 + s0).evaluate(values), n);
  EXPECT_EQ((s0 * s0 * s1 - SymInt(3 * n) * s0 + 1).evaluate(values), 1);  // sums have 128 bits in between
  EXPECT_EQ(floordiv(s0 * s0, s1).evaluate(values), std::nullopt) << "operands of calls have 64";
  EXPECT_EQ(floordiv(s0, s1 - 3).evaluate(values), std::nullopt);
  EXPECT_EQ(mod(s0, s1 - 4).evaluate(values), 0);
  EXPECT_EQ((-s0).evaluate(std::vector<int64_t>{INT64_MIN}), std::nullopt);
  EXPECT_EQ(floordiv(s0, s1).evaluate(std::vector<int64_t>{INT64_MIN, -1}), std::nullopt);
  EXPECT_EQ((s0 * s0 * s0 * s0).evaluate(values), std::nullopt);
}

TEST(SymInt, atoms_are_counted_in_arguments_too) {
  EXPECT_EQ(SymInt(4).atom_count(), 0u);
  EXPECT_EQ((s0 * s0 + s1).atom_count(), 3u);
  EXPECT_EQ(floordiv(s0 + s1, 7).atom_count(), 3u);
}

TEST(SymInt, substitution_simplifies) {
  std::vector<SymInt> values{4, s0};
  EXPECT_EQ(floordiv(s0 * s1 + 1, 4).substitute(values), s0);
}

// Random expressions, evaluated beside their construction.
struct Sample {
  SymInt e;
  std::vector<int64_t> values;  // at each of kPoints
};
constexpr int kPoints = 6;

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

class RandomExpressions : public ::testing::Test {
 protected:
  std::mt19937_64 rng{20240611};
  std::vector<std::vector<int64_t>> points;
  int64_t pick(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(rng); }
  void SetUp() override {
    for (int p = 0; p < kPoints; ++p) points.push_back({pick(2, 9), pick(2, 50), pick(-9, 9)});
  }
  Sample random_expression(int depth) {
    if (depth == 0 || pick(0, 5) == 0) {
      int which = static_cast<int>(pick(0, 3));
      Sample leaf{which == 3 ? SymInt(pick(-4, 4)) : SymInt::symbol(which), {}};
      for (const auto& point : points)
        leaf.values.push_back(which == 3 ? *leaf.e.constant() : point[static_cast<size_t>(which)]);
      return leaf;
    }
    Sample a = random_expression(depth - 1), b = random_expression(depth - 1), out;
    int op = static_cast<int>(pick(0, 7));
    if (op >= 6) {  // divisors that are never zero
      b = pick(0, 1) ? Sample{s0 + 1, {}}
                     : Sample{pick(0, 1) ? SymInt(pick(1, 5)) : SymInt(pick(-5, -1)), {}};
      for (const auto& point : points) b.values.push_back(b.e.evaluate(point).value());
    }
    switch (op) {
      case 0:
      case 1: out.e = a.e + b.e; break;
      case 2: out.e = a.e - b.e; break;
      case 3: out.e = a.e * b.e; break;
      case 4: out.e = sym_min(a.e, b.e); break;
      case 5: out.e = sym_max(a.e, b.e); break;
      case 6: out.e = floordiv(a.e, b.e); break;
      default: out.e = mod(a.e, b.e); break;
    }
    for (int p = 0; p < kPoints; ++p) {
      int64_t x = a.values[p], y = b.values[p];
      int64_t r[] = {x + y, x + y, x - y, x * y, std::min(x, y), std::max(x, y), 0, 0};
      if (op >= 6) r[6] = floor_div(x, y), r[7] = x - floor_div(x, y) * y;
      out.values.push_back(r[op]);
    }
    return out;
  }
};

TEST_F(RandomExpressions, evaluate_gives_the_value_of_the_construction) {
  for (int i = 0; i < 4000; ++i) {
    Sample sample = random_expression(4);
    ASSERT_TRUE(sample.e.defined());
    for (int p = 0; p < kPoints; ++p)
      ASSERT_EQ(sample.e.evaluate(points[p]), sample.values[p]) << sample.e.str();
  }
}

TEST_F(RandomExpressions, sums_do_not_depend_on_the_order_of_construction) {
  for (int i = 0; i < 1000; ++i) {
    SymInt a = random_expression(2).e, b = random_expression(2).e, c = random_expression(2).e;
    ASSERT_EQ((a + b) + c, c + (b + a));
    ASSERT_EQ(a * (b + c), c * a + a * b);
    ASSERT_EQ(((a + b) + c).str(), (c + (b + a)).str());
    ASSERT_EQ(((a + b) + c).hash(), (c + (b + a)).hash());
  }
}

TEST_F(RandomExpressions, proofs_are_never_wrong) {
  ShapeEnv env;
  env.create_symbol("a", points[0][0], 2, INT64_MAX, true);
  env.create_symbol("b", points[0][1], 2, 50, true);
  env.create_symbol("c", points[0][2], -9, 9, false);
  int proven = 0;
  for (int i = 0; i < 4000; ++i) {
    Sample a = random_expression(3), b = random_expression(2);
    for (Relation relation : {Relation::kEq, Relation::kNe, Relation::kLt, Relation::kLe}) {
      std::optional<bool> answer = env.proves(relation, a.e, b.e);
      if (!answer) continue;
      ++proven;
      for (const auto& point : points) {
        ASSERT_EQ(ShapeFact({relation, a.e, b.e, {}}).holds(point), *answer)
            << a.e.str() << " ? " << b.e.str();
      }
    }
    SymInt simple = env.simplify(a.e);
    for (const auto& point : points) ASSERT_EQ(simple.evaluate(point), a.e.evaluate(point)) << a.e.str();
  }
  EXPECT_GT(proven, 1000);
}

TEST(ShapeEnv, relations_of_contiguous_strides_are_proven_without_facts) {
  ShapeEnv env;
  SymInt a = env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  SymInt b = env.create_symbol("x.shape[1]", 48, 2, INT64_MAX, true);
  SymInt c = env.create_symbol("x.shape[2]", 8, 2, INT64_MAX, true);
  EXPECT_EQ(env.proves(Relation::kLe, c, b * c), true);
  EXPECT_EQ(env.proves(Relation::kLt, b * c, c), false);
  EXPECT_EQ(env.proves(Relation::kLt, 1, a), true);
  EXPECT_EQ(env.proves(Relation::kLe, c, a * b * c), true);
  EXPECT_EQ(env.proves(Relation::kEq, a, b), std::nullopt);
  EXPECT_EQ(env.proves(Relation::kEq, 2 * a, 2 * b + 1), false);
}

TEST(ShapeEnv, an_unprovable_question_is_answered_by_the_hint_and_recorded_once) {
  ShapeEnv env;
  SymInt a = env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  SymInt b = env.create_symbol("y.shape[0]", 32, 2, INT64_MAX, true);
  EXPECT_TRUE(env.eq(a, b));
  EXPECT_TRUE(env.eq(b, a));
  EXPECT_TRUE(env.eq(a + 1, b + 1));
  EXPECT_TRUE(env.le(2 * a, 2 * b));
  ASSERT_EQ(env.facts().size(), 1u);
  EXPECT_EQ(env.facts()[0].str(), "s0 == s1");
  EXPECT_FALSE(env.lt(a, 20));
  EXPECT_FALSE(env.lt(b, 20));
  EXPECT_FALSE(env.lt(a, 7));
  EXPECT_FALSE(env.eq(a, 3));
  ASSERT_EQ(env.facts().size(), 2u);
  EXPECT_EQ(env.facts()[1].str(), "20 <= s0");
}

TEST(ShapeEnv, ints_that_may_leave_64_bits_are_facts) {
  ShapeEnv env;
  SymInt n = env.create_symbol("n", 5, INT64_MIN, INT64_MAX, false);
  SymInt size = env.create_symbol("x.shape[0]", 32, 2, kLargestSize, true);
  EXPECT_TRUE(env.fits(n));
  EXPECT_TRUE(env.fits(1000 * size + 7));
  EXPECT_TRUE(env.fits(floordiv(size, 3)));
  EXPECT_TRUE(env.facts().empty()) << "proven";
  EXPECT_TRUE(env.fits(n * n));
  EXPECT_TRUE(env.fits(n * n));
  ASSERT_EQ(env.facts().size(), 1u);
  EXPECT_EQ(env.facts()[0].str(), "s0*s0 fits int64");
  EXPECT_TRUE(env.facts()[0].holds(std::vector<int64_t>{3000000000, 2}));
  EXPECT_FALSE(env.facts()[0].holds(std::vector<int64_t>{int64_t{1} << 32, 2}));
}

TEST(ShapeEnv, a_chain_of_products_leaves_one_fact) {
  ShapeEnv env;
  SymInt n = env.create_symbol("n", 5, INT64_MIN, INT64_MAX, false);
  EXPECT_TRUE(env.fits(3 * n));
  EXPECT_TRUE(env.fits(9 * n));
  EXPECT_TRUE(env.fits(27 * n - 100));
  ASSERT_EQ(env.facts().size(), 1u);
  EXPECT_EQ(env.facts()[0].str(), "27*s0 - 100 fits int64");
  EXPECT_TRUE(env.fits(9 * n));
  EXPECT_EQ(env.facts().size(), 1u);
  EXPECT_TRUE(env.fits(27 * n + 100));
  EXPECT_EQ(env.facts().size(), 2u) << "neither follows from the other alone";
}

TEST(ShapeEnv, values_that_do_not_fit_and_endless_expressions_are_refused) {
  ShapeEnv env;
  SymInt n = env.create_symbol("n", int64_t{1} << 40, INT64_MIN, INT64_MAX, false);
  EXPECT_FALSE(env.fits(n * n));
  EXPECT_FALSE(env.fits(SymInt::undefined()));
  SymInt e = n;
  int steps = 0;
  while (env.fits(e) && steps < 100) e = floordiv(e, 2) + mod(e, 3), ++steps;
  EXPECT_LT(steps, 12);
  EXPECT_FALSE(env.overflowed());
  env.lt(n * n, 7);
  EXPECT_TRUE(env.overflowed());
}

TEST(ShapeEnv, a_saturated_lower_bound_is_divided_like_a_number) {
  ShapeEnv env;
  SymInt a = env.create_symbol("a", int64_t{1} << 62, int64_t{1} << 62, INT64_MAX, false);
  EXPECT_EQ(env.proves(Relation::kLt, int64_t{1} << 62, floordiv(a * 4, 8)), std::nullopt);
}

TEST(ShapeEnv, an_equality_with_a_constant_specialises) {
  ShapeEnv env;
  SymInt a = env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  EXPECT_EQ(env.specialize(2 * a), 64);
  EXPECT_EQ(env.simplify(a * 3), SymInt(96));
  EXPECT_EQ(env.specialize(a), 32);
  EXPECT_EQ(env.facts().size(), 1u);
}

TEST(ShapeEnv, a_false_equality_becomes_an_inequality_fact) {
  ShapeEnv env;
  SymInt a = env.create_symbol("n", 32, INT64_MIN, INT64_MAX, false);
  EXPECT_FALSE(env.eq(a, 48));
  EXPECT_EQ(env.facts()[0].str(), "s0 != 48");
  EXPECT_FALSE(env.eq(a, 48));
  EXPECT_EQ(env.facts().size(), 1u);
  EXPECT_TRUE(env.le(a, 48));
  EXPECT_EQ(env.proves(Relation::kLt, a, 48), true);
}

TEST(ShapeEnv, facts_blame_the_place_set_before_the_question) {
  ShapeEnv env;
  SymInt a = env.create_symbol("n", 3, 2, INT64_MAX, true);
  env.set_place({"a.py", "f", 7});
  env.eq(a, 3);
  EXPECT_EQ(env.facts()[0].where.place(), "a.py:7");
}

TEST(ShapeEnv, messages_name_the_sources) {
  ShapeEnv env;
  SymInt a = env.create_symbol("x.shape[0]", 3, 2, INT64_MAX, true);
  EXPECT_EQ(env.names_to_text(a + 1), "x.shape[0] + 1");
}

}  // namespace
}  // namespace suture
