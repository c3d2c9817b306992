// What the debug dump wants to know about a graph beyond its compile: the launch plan as text, the inputs of this
// call, and the first run.
#pragma once

#include <string>

#include "capture/capture.h"
#include "driver/compile_context.h"
#include "plan/launch_plan.h"
#include "sym/sym_int.h"

namespace suture {

class Compiler;

// {"symbols", "buffers", "steps", "outputs", "written"}; sizes are C++ text over the symbols and the prelude.
std::string plan_json(const LaunchPlan& plan, const ShapeEnv& env);

// The value of a scalar input so that every bit comes back: floats in hexadecimal; "" when the object is not what `type` says.
std::string scalar_value_text(PyView object, const TensorType& type);

void report_inputs(const CompileContext& ctx, Compiler& compiler, const Capture& capture,
                   const FrameInput& input);

// Has the first run of `compiled_graph` recorded when the hook graph_recorder is there.
void record_first_run(PyView compiled_graph, const std::string& graph, const Compiler& compiler,
                      const CompileContext& ctx);

}  // namespace suture
