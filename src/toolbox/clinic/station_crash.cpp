// Station 5: crashes - defects of ours that were caught, where the functions ran in the interpreter, and those that were made
// on purpose.
#include <fmt/format.h>

#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {

std::vector<Finding> examine_crashes(const Explanation& run) {
  std::vector<Finding> out;
  for (const InternalErrorModel& error : run.model().internal_errors) {
    Finding finding = finding_at(error, Station::crash, error.reason_id, error.severity);
    finding.what = fmt::format("Internal error in {}", error.step);
    finding.why = error.message;
    if (!error.artifact.empty()) finding.evidence.push_back(fmt::format("saved: {}", error.artifact));
    finding.advice = error.hints;
    out.push_back(std::move(finding));
  }
  for (const InjectedFaultModel& fault : run.model().injected_faults) {
    Finding finding = own_finding(OwnFinding::inject_fault, Severity::kError);
    finding.function = fault.function;
    finding.file = fault.file;
    finding.line = fault.line;
    finding.what = fmt::format("A fault on purpose: {} ({}) on {}", fault.kind, fault.stage, fault.at);
    finding.why = fmt::format("The option inject_fault is on. {}.", fault.what);
    finding.advice.emplace_back("Unset SUTURE_INJECT_FAULT and the option inject_fault.");
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace suture::toolbox
