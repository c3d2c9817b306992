// What changed between two recorded runs: breaks, skips, recompiles, graphs, kernels, phases.
//
// How it works
//   Each run is the set of files in its directory (one per process). What is compared has a key that survives edits of the
//   program and moves of its files: a break is its function, reason and explanation, not its line; a recompile is the sentence
//   of the guard that failed, without the entry's number; graphs of a function are paired by what they compute. Times are
//   compared as sums over the run and only reported when they differ by a fifth and by a millisecond.
//   Files      A file of one run is the file of the other run with the same path; without one, the file that ends in the
//              most of the same directories, at least in the same name: the program was copied, or run from another checkout.
//   Functions  are told by their file and name. Resume and iteration functions count by their order and not by the offset in
//              their names: an edit before them moves it.
//   Contents   are compared without places: lines and columns of graph texts and comments of kernels are not what is computed.
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
