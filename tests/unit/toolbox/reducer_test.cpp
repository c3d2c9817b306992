// The reducer around a search: workers, the cache, budgets; and the search over lattices of properties.
#include "toolbox/reduce/reducer.h"

#include "reduction_models.h"
#include "toolbox/reduce/lattice_search.h"

namespace suture::toolbox::reduce {
namespace {

TEST(Reducer, any_number_of_workers_gives_the_same_result_and_the_same_serial_calls) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const OpProblem problem = random_dag(200, 9, seed);
    const Oracle oracle = fails_with({10 + static_cast<int>(seed), 100, 190});
    const Reduced alone = reduce(problem, oracle, 1);
    for (int workers : {2, 3, 8}) {
      const Reduced many = reduce(problem, oracle, workers);
      EXPECT_EQ(many.best, alone.best);
      EXPECT_EQ(many.calls, alone.calls);
    }
  }
}

TEST(Reducer, more_workers_take_fewer_rounds) {
  const OpProblem problem = chain(1000);
  const auto rounds = [&](int workers) {
    Reducer reducer(search_ops(problem), 1000);
    int count = 0;
    for (; !reducer.done(); ++count)
      for (const auto& candidate : reducer.next_batch(workers))
        EXPECT_TRUE(reducer.report(candidate.id, fails_with({300, 700})(candidate.choice)).ok());
    return count;
  };
  EXPECT_LT(rounds(3), 0.7 * rounds(1));
}

TEST(Reducer, no_candidate_is_asked_twice) {
  for (int workers : {1, 2, 5}) {
    const OpProblem problem = random_dag(150, 7, 3);
    const Reduced reduced = reduce(problem, fails_with({30, 31, 120}), workers);
    EXPECT_EQ(std::set(reduced.asked.begin(), reduced.asked.end()).size(), reduced.asked.size());
  }
}

TEST(Reducer, looks_ahead_at_what_it_asks_if_answers_are_likely_ones) {
  Reducer reducer(search_ops(chain(64)), 1000);
  const auto first = reducer.next_batch(1);
  const auto likely = reducer.look_ahead(3, 0.2);
  ASSERT_EQ(likely.size(), 3u);
  EXPECT_EQ(likely[0].chance, 0.5);
  for (size_t i = 1; i < likely.size(); ++i) EXPECT_LE(likely[i].chance, likely[i - 1].chance);
  ASSERT_TRUE(reducer.report(first[0].id, Verdict::kPass).ok());
  const auto second = reducer.next_batch(1);
  EXPECT_TRUE(second[0].choice == likely[0].choice || second[0].choice == likely[1].choice);
}

TEST(Reducer, looking_ahead_changes_nothing) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const OpProblem problem = random_dag(100, 9, seed);
    const Oracle oracle = fails_with({10, 50, 90});
    Reducer reducer(search_ops(problem), 1000);
    while (!reducer.done()) {
      for (const auto& candidate : reducer.next_batch(1)) {
        for (const auto& likely : reducer.look_ahead(8, 0.1)) {
          EXPECT_NE(likely.choice, candidate.choice);
          EXPECT_GE(likely.chance, 0.1);
        }
        ASSERT_TRUE(reducer.report(candidate.id, oracle(candidate.choice)).ok());
      }
    }
    const Reduced alone = reduce(problem, oracle, 1);
    EXPECT_EQ(reducer.best(), alone.best);
    EXPECT_EQ(reducer.calls(), alone.calls);
  }
}

TEST(Reducer, what_costs_nothing_is_not_counted) {
  Reducer reducer(search_ops(chain(64)), 1000);
  while (!reducer.done())
    for (const auto& candidate : reducer.next_batch(1))
      ASSERT_TRUE(reducer.report(candidate.id, fails_with({5})(candidate.choice), false).ok());
  EXPECT_EQ(reducer.calls(), 0);
  EXPECT_FALSE(reducer.steps().empty());
  EXPECT_FALSE(reducer.steps()[0].counted);
}

TEST(Reducer, ends_where_it_is_when_the_budget_is_used_up) {
  const OpProblem problem = chain(1000);
  Reducer reducer(search_ops(problem), 5);
  while (!reducer.done())
    for (const auto& candidate : reducer.next_batch(1))
      ASSERT_TRUE(reducer.report(candidate.id, fails_with({1})(candidate.choice)).ok());
  EXPECT_TRUE(reducer.out_of_budget());
  EXPECT_EQ(reducer.calls(), 5);
  EXPECT_LT(kept_ops(problem, reducer.best()), 100);
}

TEST(Reducer, steps_say_what_was_tried_and_how_it_ended) {
  Reducer reducer(search_ops(chain(8)), 1000);
  while (!reducer.done())
    for (const auto& candidate : reducer.next_batch(1))
      ASSERT_TRUE(reducer.report(candidate.id, fails_with({2})(candidate.choice)).ok());
  EXPECT_EQ(reducer.steps()[0].what, "drop 4 of 8 ops");
  EXPECT_EQ(reducer.steps()[0].verdict, Verdict::kSame);
}

// --- lattices ----------------------------------------------------------------------------------------------

Oracle needs_levels(std::vector<std::pair<size_t, int>> least_simple_allowed) {
  return [least_simple_allowed](const Choice& choice) {
    for (auto [element, level] : least_simple_allowed) {
      const int simplicity = choice[element] == 0 ? 1000 : choice[element];
      if (simplicity < level) return Verdict::kPass;
    }
    return Verdict::kSame;
  };
}

TEST(LatticeSearch, one_question_when_nothing_matters) {
  const Reduced reduced = reduce(search_lattice(std::vector<int>(40, 3)), needs_levels({}));
  EXPECT_EQ(reduced.best, Choice(40, 1));
  EXPECT_EQ(reduced.calls, 1);
}

TEST(LatticeSearch, finds_the_one_property_that_matters) {
  const Reduced reduced = reduce(search_lattice(std::vector<int>(64, 3)), needs_levels({{37, 3}}));
  Choice wanted(64, 1);
  wanted[37] = 3;
  EXPECT_EQ(reduced.best, wanted);
  EXPECT_LE(reduced.calls, 20);
}

TEST(LatticeSearch, takes_the_simplest_level_that_fails) {
  const Reduced reduced = reduce(search_lattice({8}), needs_levels({{0, 5}}));
  EXPECT_EQ(reduced.best, (Choice{5}));
  EXPECT_LE(reduced.calls, 5);
}

TEST(LatticeSearch, levels_need_not_be_monotone) {
  // Only level 2 and the original fail.
  const Oracle oracle = [](const Choice& c) {
    return (c[0] == 2 || c[0] == 0) && (c[1] == 1 || c[0] == 2) ? Verdict::kSame : Verdict::kPass;
  };
  EXPECT_EQ(reduce(search_lattice({4, 2}), oracle).best, (Choice{2, 1}));
}

TEST(LatticeSearch, one_simplification_makes_room_for_another) {
  // Element 0 can be simplified only when element 1 is.
  const Oracle oracle = [](const Choice& c) {
    return c[2] == 0 && (c[0] == 0 || c[1] == 1) ? Verdict::kSame : Verdict::kPass;
  };
  EXPECT_EQ(reduce(search_lattice({1, 1, 1}), oracle).best, (Choice{1, 1, 0}));
}

TEST(LatticeSearch, nothing_to_simplify_asks_nothing) {
  EXPECT_EQ(reduce(search_lattice({}), needs_levels({})).calls, 0);
  EXPECT_EQ(reduce(search_lattice({0, 0}), needs_levels({})).calls, 0);
  EXPECT_FALSE(check_lattice({1, -1}).ok());
}

TEST(LatticeSearch, everything_needed_ends) {
  const Reduced reduced = reduce(search_lattice(std::vector<int>(16, 2)), [](const Choice& c) {
    return c == Choice(16, 0) ? Verdict::kSame : Verdict::kPass;
  });
  EXPECT_EQ(reduced.best, Choice(16, 0));
  EXPECT_LE(reduced.calls, 31 + 16);
}

TEST(LatticeSearch, any_number_of_workers_gives_the_same_result) {
  const std::vector<int> levels{3, 1, 4, 1, 5, 2, 6};
  const Oracle oracle = needs_levels({{2, 3}, {4, 4}, {5, 2}});
  const Reduced alone = reduce(search_lattice(levels), oracle);
  for (int workers : {2, 4}) {
    const Reduced many = reduce(search_lattice(levels), oracle, workers);
    EXPECT_EQ(many.best, alone.best);
    EXPECT_EQ(many.calls, alone.calls);
  }
}

}  // namespace
}  // namespace suture::toolbox::reduce
