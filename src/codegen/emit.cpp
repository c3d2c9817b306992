// emit: one translation unit per graph and the launch plan that calls its kernels.
#include "codegen/emit.h"

#include <algorithm>
#include <map>
#include <memory>

#include "codegen/kernel_writer.h"
#include "codegen/launch_steps.h"
#include "codegen/line_table.h"

namespace suture {
namespace {

// Bytes of the elements that `access` walks over, each counted once.
int64_t footprint(const Nest& nest, const Access& access, DType dtype, const ShapeEnv& env) {
  int64_t bytes = itemsize(dtype);
  for (size_t axis = 0; axis < nest.extents.size(); ++axis)
    if (!(access.strides[axis] == SymInt(0))) bytes *= env.hint(nest.extents[axis]);
  return bytes;
}

// Several accesses to one buffer mostly touch the same elements (shifted reads): the widest counts.
int64_t total(const std::map<BufferId, int64_t>& per_buffer) {
  int64_t bytes = 0;
  for (const auto& [buffer, touched] : per_buffer) bytes += touched;
  return bytes;
}

// Asks for every line once, however many kernels and statements quote it.
std::function<std::string(const UserSpan&)> remembered(std::function<std::string(const UserSpan&)> ask) {
  if (!ask) return ask;
  auto known = std::make_shared<std::map<std::pair<std::string, int>, std::string>>();
  return [ask = std::move(ask), known](const UserSpan& where) {
    const auto [entry, fresh] = known->try_emplace({where.file, where.line});
    if (fresh) entry->second = ask(where);
    return entry->second;
  };
}

// Adds the text of a kernel; its lines count from the start of the whole text.
void append(GeneratedCode& code, int& lines, const std::string& text, KernelInfo kernel,
            std::vector<CodeLine> origins) {
  if (!code.cpp.empty()) code.cpp += "\n", ++lines;
  code.cpp += text;
  kernel.first_line = lines + 1;
  for (CodeLine& origin : origins) {
    origin.line += lines;
    code.lines.push_back(std::move(origin));
  }
  lines += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  kernel.last_line = lines;
  code.kernels.push_back(std::move(kernel));
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
  std::map<BufferId, int64_t> read, written;
  const auto count = [&](std::map<BufferId, int64_t>& bytes, const Access& access) {
    const DType dtype = schedule.buffers[access.buffer].dtype;
    int64_t& known = bytes[access.buffer];
    known = std::max(known, footprint(group.nest, access, dtype, schedule.env));
  };
  for (const Expr& expr : group.nest.exprs)
    if (expr.kind == Expr::Kind::kLoad) count(read, expr.access);
  for (const Store& store : group.nest.stores) count(written, store.access);
  kernel.bytes_read = total(read);
  kernel.bytes_written = total(written);
  return kernel;
}

}  // namespace

Result<GeneratedCode> emit(const Schedule& schedule, const Graph& graph, const CodegenOptions& asked) {
  const CodegenOptions options{.source_line = remembered(asked.source_line)};
  GeneratedCode code;
  int lines = 0;
  PlanBuilder plan(schedule, graph);
  for (const auto& step : schedule.steps) {
    if (const NumpyCall* call = std::get_if<NumpyCall>(&step)) {
      plan.add_call(*call);
      continue;
    }
    const KernelGroup& group = std::get<KernelGroup>(step);
    KernelWriter writer(group, schedule, graph, options);
    SUTURE_TRY(text, writer.run());
    append(code, lines, text, kernel_info(group, schedule, graph), writer.lines());
    plan.add_kernel(group, writer.arguments(), writer.symbols());
  }
  code.plan = plan.finish();
  code.line_table = line_table_json(code, graph, options);
  return code;
}

}  // namespace suture
