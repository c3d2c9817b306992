// Reduction of op sets: minimal size AND number of oracle calls on modelled failures.
#include "toolbox/reduce/op_search.h"

#include "reduction_models.h"

namespace suture::toolbox::reduce {
namespace {

TEST(OpSearch, single_culprit_in_a_thousand_ops) {
  const OpProblem problem = chain(1000);
  for (int culprit : {1, 2, 17, 500, 777, 999, 1000}) {
    const Reduced reduced = reduce(problem, fails_with({culprit}));
    EXPECT_EQ(kept_ops(problem, reduced.best), 1) << culprit;
    EXPECT_TRUE(keeps(reduced.best, culprit));
    EXPECT_LE(reduced.calls, 25) << culprit;
  }
}

TEST(OpSearch, two_interacting_ops_in_a_thousand) {
  const OpProblem problem = chain(1000);
  for (auto [a, b] : {std::pair{1, 1000}, {3, 990}, {400, 600}, {500, 501}, {1, 2}}) {
    const Reduced reduced = reduce(problem, fails_with({a, b}));
    EXPECT_EQ(kept_ops(problem, reduced.best), 2) << a << " " << b;
    EXPECT_LE(reduced.calls, 40) << a << " " << b;
  }
}

TEST(OpSearch, two_ops_that_must_stay_connected) {
  // As in a fused kernel: the failure needs a path between the two, so cutting between them hides it.
  const OpProblem problem = chain(1000);
  for (auto [a, b] : {std::pair{1, 1000}, {3, 990}, {500, 502}}) {
    const Oracle oracle = [&problem, a, b](const Choice& choice) {
      const bool fails = keeps(choice, a) && keeps(choice, b) && connected(problem, choice, a, b);
      return fails ? Verdict::kSame : Verdict::kPass;
    };
    const Reduced reduced = reduce(problem, oracle);
    EXPECT_EQ(kept_ops(problem, reduced.best), 2) << a << " " << b;
    EXPECT_LE(reduced.calls, 45) << a << " " << b;
  }
}

TEST(OpSearch, three_connected_ops) {
  const OpProblem problem = chain(1000);
  const Oracle oracle = [&problem](const Choice& choice) {
    const bool kept = keeps(choice, 100) && keeps(choice, 500) && keeps(choice, 900);
    const bool path = kept && connected(problem, choice, 100, 500) && connected(problem, choice, 500, 900);
    return path ? Verdict::kSame : Verdict::kPass;
  };
  const Reduced reduced = reduce(problem, oracle);
  EXPECT_EQ(kept_ops(problem, reduced.best), 3);
  EXPECT_LE(reduced.calls, 75);
}

TEST(OpSearch, three_op_interactions) {
  const OpProblem problem = chain(1000);
  for (std::vector<int> needed :
       {std::vector{1, 500, 1000}, {10, 11, 12}, {100, 101, 900}, {333, 666, 999}}) {
    const Reduced reduced = reduce(problem, fails_with(needed));
    EXPECT_EQ(kept_ops(problem, reduced.best), 3);
    EXPECT_LE(reduced.calls, 60);
  }
}

TEST(OpSearch, many_culprits_cost_a_bisection_each) {
  const OpProblem problem = random_dag(1000, 12, 5);
  std::mt19937_64 random(7);
  std::vector<int> needed;
  for (int i = 0; i < 8; ++i) needed.push_back(3 + static_cast<int>(random() % 1000));
  const Reduced reduced = reduce(problem, fails_with(needed));
  EXPECT_EQ(kept_ops(problem, reduced.best), static_cast<int>(std::set(needed.begin(), needed.end()).size()));
  EXPECT_LE(reduced.calls, 150);
}

TEST(OpSearch, far_and_adjacent_pairs_in_dags) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const OpProblem problem = random_dag(1000, 20, seed);
    for (auto [a, b] : {std::pair{4, 1000}, {500, 501}, {250, 750}}) {
      const Reduced reduced = reduce(problem, fails_with({a, b}));
      EXPECT_EQ(kept_ops(problem, reduced.best), 2) << seed;
      EXPECT_LE(reduced.calls, 60) << seed;
    }
  }
}

TEST(OpSearch, a_failure_that_needs_a_number_of_ops) {
  const OpProblem problem = chain(400);
  const Oracle oracle = [&problem](const Choice& choice) {
    return keeps(choice, 37) && kept_ops(problem, choice) >= 6 ? Verdict::kSame : Verdict::kPass;
  };
  const Reduced reduced = reduce(problem, oracle);
  EXPECT_EQ(kept_ops(problem, reduced.best), 6);
  EXPECT_LE(reduced.calls, 80);
}

TEST(OpSearch, everything_needed_ends) {
  const OpProblem problem = chain(40);
  std::vector<int> all;
  for (int i = 1; i <= 40; ++i) all.push_back(i);
  const Reduced reduced = reduce(problem, fails_with(all));
  EXPECT_EQ(kept_ops(problem, reduced.best), 40);
  EXPECT_LE(reduced.calls, 400);
}

// 1-minimal: no op that is left can be cut or replaced by an operand.
void expect_minimal(const OpProblem& problem, const Choice& best, const Oracle& oracle) {
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    if (!problem.nodes[i].op || best[i] != kKeep || kept_ops(problem, best) == 1) continue;
    for (size_t fate = kCut; fate < kBypass + problem.nodes[i].operands.size(); ++fate) {
      if (fate == kNumber) continue;
      Choice smaller = best;
      smaller[i] = static_cast<int>(fate);
      EXPECT_NE(oracle(smaller), Verdict::kSame) << "node " << i << " fate " << fate;
    }
  }
}

TEST(OpSearch, answers_that_are_not_monotone_still_end_one_minimal) {
  // Fails when the number of kept ops among the marked is odd, or two particular ones are left.
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const OpProblem problem = random_dag(120, 8, seed);
    const Oracle oracle = [&problem](const Choice& choice) {
      int marked = 0;
      for (int i = 3; i < static_cast<int>(problem.nodes.size()); i += 7) marked += keeps(choice, i);
      return marked % 2 == 1 || (keeps(choice, 20) && keeps(choice, 80)) ? Verdict::kSame : Verdict::kPass;
    };
    const Reduced reduced = reduce(problem, oracle);
    EXPECT_LE(kept_ops(problem, reduced.best), 2) << seed;
    EXPECT_LE(reduced.calls, 200) << seed;
    expect_minimal(problem, reduced.best, oracle);
  }
}

TEST(OpSearch, random_rules_end_one_minimal) {
  // Whether a set fails is a hash of it: the worst kind of oracle.
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const OpProblem problem = random_dag(60, 6, seed);
    const Choice everything(problem.nodes.size() + problem.outputs.size(), 0);
    const Oracle oracle = [&](const Choice& choice) {
      uint64_t hash = seed;
      for (int level : choice) hash = (hash ^ static_cast<uint64_t>(level)) * 0x100000001b3u;
      return choice == everything || (hash >> 40) % 4 == 0 ? Verdict::kSame : Verdict::kPass;
    };
    const Reduced reduced = reduce(problem, oracle);
    EXPECT_EQ(oracle(reduced.best), Verdict::kSame);
    expect_minimal(problem, reduced.best, oracle);
  }
}

TEST(OpSearch, other_failures_and_what_cannot_be_judged_are_not_followed) {
  const OpProblem problem = chain(200);
  const Oracle oracle = [](const Choice& choice) {
    if (!keeps(choice, 150)) return Verdict::kOther;
    return keeps(choice, 151) ? Verdict::kSame : Verdict::kInfra;
  };
  const Reduced reduced = reduce(problem, oracle);
  EXPECT_EQ(kept_ops(problem, reduced.best), 2);
  EXPECT_LE(reduced.calls, 35);
}

TEST(OpSearch, a_flaky_oracle_never_leads_to_a_choice_that_did_not_fail) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const OpProblem problem = chain(300);
    std::mt19937_64 random(seed);
    std::set<Choice> failed;
    const Oracle oracle = [&](const Choice& choice) {
      const bool fails = keeps(choice, 40) && keeps(choice, 250) && random() % 10 < 9;
      if (fails) failed.insert(choice);
      return fails ? Verdict::kSame : Verdict::kPass;
    };
    const Reduced reduced = reduce(problem, oracle);
    EXPECT_TRUE(failed.contains(reduced.best));
    EXPECT_LE(reduced.calls, 700);
  }
}

TEST(OpSearch, outputs_and_inputs_are_reduced_last) {
  // x, y -> add -> mul; add is returned as well.
  OpProblem problem;
  problem.nodes = {{.op = false, .may_be_number = true},
                   {.op = false, .may_be_number = true},
                   {.operands = {0, 1}, .bypass = {0, 1}},
                   {.operands = {2, 1}, .bypass = {0}}};
  problem.outputs = {2, 3};
  const Reduced reduced = reduce(problem, [](const Choice& choice) {
    return keeps(choice, 2) && keeps(choice, 3) && choice[0] == kKeep ? Verdict::kSame : Verdict::kPass;
  });
  EXPECT_EQ(reduced.best, (Choice{kKeep, kNumber, kKeep, kKeep, 1, 0}));
}

TEST(OpSearch, one_op_is_asked_nothing_but_its_inputs) {
  OpProblem problem = chain(1);
  EXPECT_EQ(reduce(problem, fails_with({1})).calls, 0);
  problem.nodes[0].may_be_number = true;
  EXPECT_EQ(reduce(problem, fails_with({1})).calls, 1);
}

// --- evidence ----------------------------------------------------------------------------------------------

TEST(OpSearch, a_suspect_that_is_guilty_costs_one_question) {
  OpProblem problem = chain(1000);
  problem.suspects = {{{666}, "named"}, {{665, 666, 667}, "and its neighbours"}};
  const Reduced reduced = reduce(problem, fails_with({666}));
  EXPECT_EQ(kept_ops(problem, reduced.best), 1);
  EXPECT_EQ(reduced.calls, 1);
}

TEST(OpSearch, suspects_that_are_too_many_are_reduced_like_any_ops) {
  OpProblem problem = chain(1000);
  for (int i = 100; i < 108; ++i) problem.suspects.resize(1), problem.suspects[0].ops.push_back(i);
  const Reduced reduced = reduce(problem, fails_with({103, 104}));
  EXPECT_EQ(kept_ops(problem, reduced.best), 2);
  EXPECT_LE(reduced.calls, 16);
}

TEST(OpSearch, suspects_that_must_stay_connected_are_bypassed_to) {
  OpProblem problem = chain(1000);
  const Oracle oracle = [&problem](const Choice& choice) {
    const bool fails = keeps(choice, 3) && keeps(choice, 990) && connected(problem, choice, 3, 990);
    return fails ? Verdict::kSame : Verdict::kPass;
  };
  problem.suspects = {{{3, 990}, "rare"}, {{3, 990}, "rare, connected", true}};
  const Reduced reduced = reduce(problem, oracle);
  EXPECT_EQ(kept_ops(problem, reduced.best), 2);
  EXPECT_LE(reduced.calls, 7);
}

TEST(OpSearch, misleading_suspects_cost_a_question_each_and_nothing_else) {
  for (std::vector<int> needed : {std::vector{666}, {1}, {3, 990}, {500, 501}}) {
    OpProblem problem = chain(1000);
    const Reduced without = reduce(problem, fails_with(needed));
    problem.suspects = {{{10}, "named"}, {{9, 10, 11}, "and its neighbours"}, {{20, 30}, "rare", true}};
    const Reduced misled = reduce(problem, fails_with(needed));
    EXPECT_EQ(misled.best, without.best);
    EXPECT_EQ(misled.calls, without.calls + 3);
  }
}

TEST(OpSearch, suspects_make_no_difference_to_the_result_with_workers) {
  OpProblem problem = random_dag(200, 9, 4);
  problem.suspects = {{{50}, "named"}, {{49, 50, 51}, "and its neighbours"}};
  for (std::vector<int> needed : {std::vector{50}, {50, 51}, {20, 180}}) {
    const Reduced alone = reduce(problem, fails_with(needed), 1);
    const Reduced many = reduce(problem, fails_with(needed), 3);
    EXPECT_EQ(many.best, alone.best);
    EXPECT_EQ(many.calls, alone.calls);
  }
}

TEST(OpSearch, problems_that_are_no_graphs_are_refused) {
  OpProblem problem = chain(2);
  problem.nodes[1].operands = {2};
  EXPECT_EQ(check(problem).error().message, "operand 2 of node 1 is no earlier node");
  problem = chain(2);
  problem.outputs = {7};
  EXPECT_FALSE(check(problem).ok());
  problem = chain(2);
  problem.suspects = {{{0}, "an input"}};
  EXPECT_EQ(check(problem).error().message, "suspect 0 is no op");
}

}  // namespace
}  // namespace suture::toolbox::reduce
