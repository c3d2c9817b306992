// emit: one translation unit per graph and the launch plan that calls its kernels.
#include "codegen/emit.h"

#include <algorithm>
#include <map>

#include "codegen/kernel_writer.h"
#include "codegen/launch_steps.h"

namespace suture {
namespace {

// Bytes the kernel touches through `access`: every element once.
SymInt footprint(const Nest& nest, const Access& access, DType dtype) {
  SymInt bytes = itemsize(dtype);
  for (size_t axis = 0; axis < nest.extents.size(); ++axis)
    if (!(access.strides[axis] == SymInt(0))) bytes = bytes * nest.extents[axis];
  return bytes;
}

KernelInfo kernel_info(const KernelGroup& group, const Schedule& schedule, const Graph& graph) {
  KernelInfo kernel;
  kernel.name = group.name;
  kernel.ops = group.ops;
  for (NodeId id : group.nest.nodes) {
    const UserSpan& where = graph.node(id).where;
    if (where.known() && std::find(kernel.lines.begin(), kernel.lines.end(), where) == kernel.lines.end())
      kernel.lines.push_back(where);
  }
  std::sort(kernel.lines.begin(), kernel.lines.end());
  std::map<BufferId, SymInt> read, written;
  for (const Expr& expr : group.nest.exprs)
    if (expr.kind == Expr::Kind::kLoad)
      read.emplace(expr.access.buffer, footprint(group.nest, expr.access, expr.dtype));
  for (const Store& store : group.nest.stores)
    written.emplace(store.access.buffer,
                    footprint(group.nest, store.access, schedule.buffers[store.access.buffer].dtype));
  for (const auto& [id, bytes] : read) kernel.bytes_read.push_back(bytes);
  for (const auto& [id, bytes] : written) kernel.bytes_written.push_back(bytes);
  return kernel;
}

}  // namespace

Result<GeneratedCode> emit(const Schedule& schedule, const Graph& graph, const CodegenOptions& options) {
  GeneratedCode code;
  PlanBuilder plan(schedule, graph);
  for (const auto& step : schedule.steps) {
    if (const NumpyCall* call = std::get_if<NumpyCall>(&step)) {
      plan.add_call(*call);
      continue;
    }
    const KernelGroup& group = std::get<KernelGroup>(step);
    KernelWriter writer(group, schedule, graph, options);
    SUTURE_TRY(text, writer.run());
    code.cpp += (code.cpp.empty() ? "" : "\n") + text;
    code.kernels.push_back(kernel_info(group, schedule, graph));
    plan.add_kernel(group, writer.arguments(), writer.symbols());
  }
  code.plan = plan.finish();
  return code;
}

}  // namespace suture
