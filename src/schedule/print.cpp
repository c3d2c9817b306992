// Text of a schedule: one block per step, then the fusion verdicts.
#include <fmt/core.h>

#include "loop/print.h"
#include "schedule/schedule.h"

namespace suture {

std::string to_text(const Schedule& schedule) {
  std::string text = to_text(schedule.buffers);
  for (const auto& step : schedule.steps) {
    if (const KernelGroup* group = std::get_if<KernelGroup>(&step)) {
      text += "kernel " + group->name + "\n" + to_text(schedule.buffers, group->nest, "  ");
    } else {
      text += to_text(schedule.buffers, std::get<NumpyCall>(step), "");
    }
  }
  for (const FusionVerdict& verdict : schedule.verdicts)
    text += fmt::format("{} {} -> {}: {}: {}\n", verdict.fused ? "fused" : "not fused", verdict.producer,
                        verdict.consumer, verdict.reason, verdict.sentence);
  text += "return";
  for (BufferId output : schedule.outputs) text += " " + schedule.buffers[output].name;
  return text + "\n";
}

}  // namespace suture
