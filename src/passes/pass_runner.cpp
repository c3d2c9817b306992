// The pass runner: see pass_runner.h.
//
// How a lie is found: the text of the graph names every fact a later stage reads, so its hash before and
// after says whether the pass changed anything, whatever the pass itself claims. A pass that claims a change
// it did not make would make the bisector look at the wrong pass; one that hides a change would escape
// verification.
#include "passes/pass_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <type_traits>

#include "base/hash.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "passes/common_subexpressions.h"
#include "passes/decompose.h"
#include "passes/eliminate_dead_nodes.h"
#include "passes/fold_casts.h"
#include "passes/fold_constants.h"
#include "passes/insert_casts.h"
#include "passes/simplify_views.h"

namespace suture {

namespace {

constexpr bool Required = true;
constexpr bool Optional = false;

// Required passes change the graph without asking.
template <auto pass>
Result<bool> run_pass(Graph& graph, Applications& applications) {
  if constexpr (std::is_invocable_v<decltype(pass), Graph&>)
    return pass(graph);
  else
    return pass(graph, applications);
}

constexpr PassInfo kPasses[] = {
#define SUTURE_PASS(name, required, doc) {#name, doc, &run_pass<&name>, required},
#include "passes/passes.def"
};

bool asked_to_skip(const PassInfo& pass, int occurrence, const PassOptions& options) {
  const std::string nth = fmt::format("{}:{}", pass.name, occurrence);
  return std::any_of(options.skip.begin(), options.skip.end(),
                     [&](const std::string& skip) { return skip == pass.name || skip == nth; });
}

Error blame(const PassInfo& pass, int occurrence, const Error& error) {
  const std::string retry =
      pass.required ? std::string("it cannot be skipped")
                    : fmt::format("SUTURE_SKIP_PASSES={}:{} runs without it", pass.name, occurrence);
  return Error{error.kind, std::string(pass.name),
               fmt::format("pass {}: {} ({})", pass.name, error.message, retry)};
}

// Everything a later stage reads, as text.
std::string fingerprint(const Graph& graph) {
  return fmt::format("level {}\n{}", static_cast<int>(graph.level), to_text(graph));
}

Status check_claim(const Graph& graph, bool claimed, const std::string& before, const std::string& after) {
  const bool changed = hash_bytes(before) != hash_bytes(after);
  if (claimed && !changed) return Error::internal("passes", "claims a change but left the graph as it was");
  if (!claimed && changed) return Error::internal("passes", "changed the graph but claims it did not");
  return changed ? verify(graph) : ok_status();
}

Result<bool> run_and_edit(Graph& graph, const PassInfo& pass, int occurrence, Applications& applications,
                          const PassEdit& edit) {
  SUTURE_TRY(changed, pass.run(graph, applications));
  if (!edit) return changed;
  SUTURE_TRY(edited, edit(graph, pass, occurrence, applications));
  return changed || edited;
}

Result<PassReport> run_one(Graph& graph, const PassInfo& pass, int occurrence, Applications& applications,
                           const PassEdit& edit, std::string& before) {
  PassReport report;
  report.name = pass.name;
  report.first_application = applications.count() + 1;
  const auto start = std::chrono::steady_clock::now();
  SUTURE_TRY(changed, run_and_edit(graph, pass, occurrence, applications, edit));
  report.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.changed = changed;
  report.applications.assign(applications.names().begin() + (report.first_application - 1),
                             applications.names().end());
  std::string after = fingerprint(graph);
  SUTURE_TRY_VOID(check_claim(graph, changed, before, after));
  before = std::move(after);
  return report;
}

}  // namespace

std::span<const PassInfo> all_passes() { return kPasses; }

Result<std::vector<PassReport>> run_passes(Graph& graph, std::span<const PassInfo> passes,
                                           const PassOptions& options) {
  std::vector<PassReport> reports;
  std::map<std::string_view, int> occurrences;
  Applications applications(options.limit);
  SUTURE_TRY_VOID(verify(graph));  // what capture, or a graph's text, gave
  std::string before = fingerprint(graph);
  for (const PassInfo& pass : passes) {
    const int occurrence = ++occurrences[pass.name];
    if (!pass.required && asked_to_skip(pass, occurrence, options)) {
      reports.push_back(PassReport{
          .name = std::string(pass.name), .skipped = true, .first_application = applications.count() + 1});
    } else {
      auto report = run_one(graph, pass, occurrence, applications, options.edit, before);
      if (!report.ok()) return blame(pass, occurrence, report.error());
      reports.push_back(std::move(*report));
    }
    if (options.keep_text) reports.back().text = to_text(graph);
  }
  return reports;
}

Result<std::vector<PassReport>> run_pipeline(Graph& graph, const PassOptions& options) {
  return run_passes(graph, all_passes(), options);
}

}  // namespace suture
