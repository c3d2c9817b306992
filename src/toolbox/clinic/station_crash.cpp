// Station 5: crashes - defects of ours that were caught; the functions ran in the interpreter.
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
  return out;
}

}  // namespace suture::toolbox
