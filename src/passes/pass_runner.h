// Every graph pass goes through one runner: verifies what it is given, times, reports, verifies after a change, can skip it by
// name or by name:occurrence, and fails when a pass lied about having changed the graph.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "passes/applications.h"

namespace suture {

struct PassInfo {
  std::string_view name;
  std::string_view doc;
  Result<bool> (*run)(Graph& graph, Applications& applications);  // true: changed
  bool required = false;  // a request to skip it is refused (see passes.def)
};
std::span<const PassInfo> all_passes();  // from passes.def, in pipeline order

struct PassReport {
  std::string name;
  bool changed = false;
  bool skipped = false;
  double ms = 0;
  std::string text;                       // graph text after, when asked for
  int64_t first_application = 1;          // number of the first of
  std::vector<std::string> applications;  // what an optional pass changed, see applications.h
};
// Changes what a pass made; true: it did. For faults on purpose (driver/inject_fault.h).
using PassEdit = std::function<Result<bool>(Graph& graph, const PassInfo& pass, int occurrence,
                                            Applications& applications)>;
struct PassOptions {
  std::vector<std::string> skip;  // "name" or "name:occurrence" (occurrences count from 1)
  bool keep_text = false;
  int64_t limit = Applications::kNoLimit;  // of applications of optional passes
  PassEdit edit = {};                      // empty: none
};
// captured graph -> lowered graph, in place.
Result<std::vector<PassReport>> run_pipeline(Graph& graph, const PassOptions& options);
// The same over a list of passes of the caller's; run_pipeline runs all_passes().
Result<std::vector<PassReport>> run_passes(Graph& graph, std::span<const PassInfo> passes,
                                           const PassOptions& options);

}  // namespace suture
