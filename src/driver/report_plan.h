// Events about what a compiled graph will do: its steps with their loops, and its memory.
#pragma once

#include "driver/compile_context.h"
#include "plan/launch_plan.h"
#include "schedule/schedule.h"

namespace suture {

void report_steps(const CompileContext& ctx, const std::string& graph, const Schedule& schedule);
void report_memory_plan(const CompileContext& ctx, const std::string& graph, const LaunchPlan& plan,
                        const ShapeEnv& env);

}  // namespace suture
