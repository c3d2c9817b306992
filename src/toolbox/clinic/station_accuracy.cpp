// Station 6: accuracy - results of compiled calls beside those of the same calls under NumPy.
//
// Most operations give NumPy's bits. Transcendental functions may differ in the last places (docs/reference/ops.md says by
// how much); that is a note. What differs by more than rounding explains is a warning, and another type, shape, exception
// or exact value is an error.
#include <fmt/format.h>

#include "toolbox/clinic/clinic.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {
namespace {

Finding accuracy_finding(const AccuracyRow& row) {
  const bool differs = !row.mismatch.empty(), rounding = row.ulp <= row.bound;
  const Severity severity = differs ? Severity::kError : rounding ? Severity::kNote : Severity::kWarning;
  Finding finding = finding_at(row, differs ? OwnFinding::other_result : OwnFinding::ulp, severity);
  finding.what = differs ? "Another result than NumPy's"
                         : fmt::format("Up to {:.4g} ULP away from NumPy's result", row.ulp);
  finding.why = differs ? row.mismatch
                : rounding
                    ? "Functions such as exp and sin are rounded differently in the last places."
                    : "More than rounding in the last places explains; small differences were amplified.";
  if (!row.worst.empty()) finding.evidence.push_back(fmt::format("greatest difference: {}", row.worst));
  finding.evidence.push_back(fmt::format("{} compared", count_of(row.compared, "call")));
  if (row.repeated > 0)
    finding.evidence.push_back(fmt::format(
        "{} of them with the arguments of the compiled run, as the run under NumPy came to others",
        grouped(static_cast<double>(row.repeated))));
  for (const LeftOut& calls : row.left_out)
    finding.evidence.push_back(fmt::format("{} not compared: {}", count_of(calls.calls, "call"), calls.why));
  finding.advice.push_back(
      differs
          ? "If it depends on chance, time or the environment, make that an argument; else please report it."
          : "Nothing to do when the last places do not matter; else leave the function undecorated.");
  return finding;
}

}  // namespace

std::vector<Finding> examine_accuracy(const RunFacts& facts) {
  std::vector<Finding> out;
  for (const AccuracyRow& row : facts.accuracy)
    if (row.ulp > 0 || !row.mismatch.empty()) out.push_back(accuracy_finding(row));
  return out;
}

}  // namespace suture::toolbox
