// What changed between two recorded runs: breaks, skips, recompiles, graphs, kernels, phases.
//
// How it works
//   Each run is the set of files in its directory (one per process). What is compared has a key that survives edits of the
//   program: a break is its file, function, reason and explanation, not its line; a graph is the n-th compile of its
//   function; a recompile is the sentence of the guard that failed, without the entry's number. Times are compared as sums
//   over the run and only reported when they differ by a fifth and by a millisecond.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace suture::toolbox {

struct TraceChange {
  std::string what;    // break | skip | recompile | graph | kernels | phase
  std::string change;  // new | gone | more | fewer | changed | slower | faster
  std::string function, file;
  int64_t line = 0;
  std::string text;
  double before = 0, after = 0;  // counts, ops or milliseconds
};

using RunLines = std::vector<std::vector<std::string>>;  // per file of a run: its lines

std::vector<TraceChange> diff_runs(const RunLines& before, const RunLines& after);
// {"schema": 1, "changes": [{"what", "change", "function", "file", "line", "text", "before", "after"}]}
std::string diff_json(const std::vector<TraceChange>& changes);
std::string diff_text(const std::vector<TraceChange>& changes);

}  // namespace suture::toolbox
