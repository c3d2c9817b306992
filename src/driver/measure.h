// Measurements behind performance hints: only while somebody asked for measured costs (Compiler::profiling).
//
// How it works
//   A graph is run a few more times on the inputs of the call that it was compiled for, and so is the same graph under
//   NumPy. Graphs are pure functions of their inputs; one that writes into an input is not measured. Each figure is the
//   best of a few rounds, and the rounds end after kMeasureBudgetMs.
// Invariants
//   - The user's program sees none of it: no warnings, no events, no exceptions; Ctrl-C ends the compile as always.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpython/py_ref.h"
#include "graph/graph.h"

namespace suture {

inline constexpr double kMeasureBudgetMs = 20;

// Milliseconds of one run; -1 unknown.
struct GraphTimes {
  double run = -1, numpy = -1;
  std::vector<double> steps;  // per step of the launch plan
  double step(size_t i) const { return i < steps.size() ? steps[i] : 0; }
  double all_steps() const;
};

// Without figures when the graph cannot be measured. `replay`: the callable of make_replay.
std::shared_ptr<const GraphTimes> measure_graph(PyView compiled_graph, PyView replay, const Graph& captured,
                                                std::span<const PyRef> inputs);

double copy_ms(int64_t bytes);  // to write so many bytes and read them again, from memory to memory
double page_fault_ms();         // to get one fresh page from the operating system

// The BLAS that NumPy uses, measured once by suture._measure.
struct BlasSpeed {
  std::string name;                           // "scipy-openblas 0.3.31"
  double gflops = 0, elementwise_gflops = 0;  // of a small product of matrices; of np.multiply in the cache
  bool known() const { return gflops > 0; }
};
const BlasSpeed& blas_speed();

}  // namespace suture
