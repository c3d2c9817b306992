// Graphs and oracles as models: how small a reduction gets, and how many questions it asks on the way.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "toolbox/reduce/op_search.h"
#include "toolbox/reduce/reducer.h"

namespace suture::toolbox::reduce {

// One input and `ops` unary ops in a row: node 0 is the input, node i reads node i - 1.
inline OpProblem chain(int ops) {
  OpProblem problem;
  problem.nodes.push_back({.op = false});
  for (int i = 1; i <= ops; ++i) problem.nodes.push_back({.operands = {i - 1}, .bypass = {0}});
  problem.outputs = {ops};
  return problem;
}

// Binary ops over two of the `reach` values before them; sinks are outputs.
inline OpProblem random_dag(int ops, int reach, uint64_t seed) {
  std::mt19937_64 random(seed);
  OpProblem problem;
  for (int i = 0; i < 3; ++i) problem.nodes.push_back({.op = false, .may_be_number = true});
  std::set<int> unread;
  for (int i = 3; i < ops + 3; ++i) {
    OpNode node;
    for (int k = 0; k < 2; ++k) {
      const int back = 1 + static_cast<int>(random() % static_cast<uint64_t>(std::min(i, reach)));
      node.operands.push_back(i - back);
      unread.erase(i - back);
    }
    node.bypass = {0, 1};
    problem.nodes.push_back(std::move(node));
    unread.insert(i);
  }
  problem.outputs.assign(unread.begin(), unread.end());
  return problem;
}

inline bool keeps(const Choice& choice, int node) { return choice[static_cast<size_t>(node)] == kKeep; }

inline int kept_ops(const OpProblem& problem, const Choice& choice) {
  int count = 0;
  for (size_t i = 0; i < problem.nodes.size(); ++i) count += problem.nodes[i].op && choice[i] == kKeep;
  return count;
}

// True when the value of `to` depends on that of `from`, through ops that stay or are bypassed.
inline bool connected(const OpProblem& problem, const Choice& choice, int from, int to) {
  const auto value = [&](int node) {
    while (choice[static_cast<size_t>(node)] >= kBypass)
      node = problem.nodes[static_cast<size_t>(node)]
                 .operands[static_cast<size_t>(choice[static_cast<size_t>(node)] - kBypass)];
    return node;
  };
  if (from == to) return true;
  if (!keeps(choice, to)) return false;
  for (int operand : problem.nodes[static_cast<size_t>(to)].operands)
    if (connected(problem, choice, from, value(operand))) return true;
  return false;
}

using Oracle = std::function<Verdict(const Choice&)>;

inline Oracle fails_with(std::vector<int> needed) {
  return [needed](const Choice& choice) {
    for (int node : needed)
      if (!keeps(choice, node)) return Verdict::kPass;
    return Verdict::kSame;
  };
}

struct Reduced {
  Choice best;
  int64_t calls;
  std::vector<Choice> asked;  // by the oracle, in order
};

// Runs to the end; the bound must never be too small.
inline Reduced reduce(std::unique_ptr<Search> search, const Oracle& oracle, int workers = 1) {
  Reducer reducer(std::move(search), 1 << 20);
  std::vector<std::pair<int64_t, int64_t>> bounds;  // (calls so far, bound then)
  Reduced result;
  while (!reducer.done()) {
    bounds.emplace_back(reducer.calls(), reducer.bound());
    const auto batch = reducer.next_batch(workers);
    EXPECT_FALSE(batch.empty());
    if (batch.empty()) break;
    // Verdicts come in any order.
    for (size_t i = batch.size(); i-- > 0;) {
      result.asked.push_back(batch[i].choice);
      EXPECT_TRUE(reducer.report(batch[i].id, oracle(batch[i].choice)).ok());
    }
  }
  for (const auto& [calls, bound] : bounds) EXPECT_GE(bound, reducer.calls() - calls);
  EXPECT_EQ(reducer.bound(), 0);
  result.best = reducer.best();
  result.calls = reducer.calls();
  return result;
}

inline Reduced reduce(const OpProblem& problem, const Oracle& oracle, int workers = 1) {
  EXPECT_TRUE(check(problem).ok());
  return reduce(search_ops(problem), oracle, workers);
}

}  // namespace suture::toolbox::reduce
