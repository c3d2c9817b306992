// Faults on purpose inside the native pipeline (of frames: driver/fault_frame.h), so that the tools that find faults have known ones to find.
//
// How it works
//   The option inject_fault names one fault (driver/fault_text.h). The pipeline has a hook behind each stage; each asks the
//   injector, and there is none while the option is empty. A fault edits what the stage made: the graph behind a pass, the
//   schedule, the C++ text, the launch plan. Later stages and reports see what was edited and nothing else, as with a fault of
//   the stage itself; a fault of codegen is in the text and not in the schedule.
// Invariants
//   - Every act is an event `fault_injected`, which is shown without any setting: nobody gets one unawares.
//   - An edited kernel has another text, so no kernel without the fault is ever taken for it from the cache, and none with it for
//     a sound one.
//   - Faults of values, strides and dtypes never touch memory that the call does not own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit.h"
#include "driver/compile_context.h"
#include "driver/fault_text.h"
#include "passes/pass_runner.h"
#include "schedule/schedule.h"

namespace suture {

class FaultInjector {
 public:
  // Null while the option is empty, which is nearly always.
  static Result<std::unique_ptr<FaultInjector>> make(const CompileContext& ctx,
                                                     const std::string& graph_name);
  FaultInjector(const CompileContext& ctx, FaultText text, std::string graph_name)
      : ctx_(ctx), fault_(std::move(text)), graph_name_(std::move(graph_name)) {}

  // The hooks, in the order of the pipeline.
  PassEdit after_pass();  // valid as long as the injector
  Status after_schedule(Schedule& schedule, const Graph& graph);
  Result<GeneratedCode> emit(const Schedule& schedule, const Graph& graph, const CodegenOptions& options);
  Status before_toolchain(const Graph& graph);

 private:
  // What is asked about a place before the fault acts there.
  struct Place {
    const Graph& graph;
    NodeId node = kNoNode;
    bool beside = true;  // the op `with` is where it must be
  };
  FaultStage stage() const { return info(fault_.kind).stage; }
  bool is_op(const Graph& graph, NodeId node) const;
  bool acts(const Place& place);  // counts the places
  void report(const Graph& graph, NodeId node) const;
  std::optional<NodeId> first_place(const Graph& graph);
  Error failure(const std::string& step) const;
  bool has_with(const Graph& graph, const std::vector<NodeId>& nodes, NodeId except) const;

  std::optional<NodeId> place_in_pass(const Graph& graph);
  bool can_edit(const Graph& graph, NodeId node) const;
  void edit_node(Graph& graph, NodeId node) const;
  bool stale_value(Nest& nest, const Graph& graph);
  bool swapped_steps(Schedule& schedule, const Graph& graph);
  bool wrong_operator(Nest& nest, const Graph& graph);
  void edit_text(GeneratedCode& code, const Graph& graph);
  void edit_plan(LaunchPlan& plan, const Schedule& schedule, const Graph& graph);
  void swap_arguments(LaunchPlan& plan, const Schedule& schedule, const Graph& graph);
  void edit_output(LaunchPlan& plan, const Graph& graph);

  const CompileContext& ctx_;
  FaultText fault_;
  std::string graph_name_;
  int places_ = 0;
};

}  // namespace suture
