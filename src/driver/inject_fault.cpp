// The hooks of inject_fault.h, stage by stage.
#include "driver/inject_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "driver/fault_kernel.h"
#include "passes/rewriter.h"

namespace suture {
namespace {

bool computes(const Node& node) { return info(node.op).kind != OpKind::Input; }

std::vector<NodeId> all_nodes(const Graph& graph) {
  std::vector<NodeId> ids;
  for (const Node& node : graph.nodes) ids.push_back(node.id);
  return ids;
}

// The first operand that can stand for the node's own value.
NodeId stand_in(const Graph& graph, const Node& node) {
  if (node.op == OpId::kStore) return node.operands[0];
  for (NodeId operand : node.operands)
    if (graph.node(operand).type == node.type) return operand;
  return kNoNode;
}

// As operands of one op, without another type of its result.
bool interchangeable(const TensorType& a, const TensorType& b) {
  return a == b || (a.dtype == b.dtype && (a.rank() == 0) != (b.rank() == 0));
}

Graph without_node(const Graph& graph, NodeId dropped, NodeId instead) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (node.id == dropped)
      rewriter.map(node.id, rewriter.mapped(instead));
    else
      rewriter.copy(node);
  }
  return rewriter.finish();
}

// Another op that takes and gives the same types.
OpId other_op(OpId op) {
  switch (op) {
    case OpId::kSum: return OpId::kProd;
    case OpId::kProd: return OpId::kSum;
    case OpId::kMax: return OpId::kMin;
    case OpId::kMin: return OpId::kMax;
    case OpId::kAny: return OpId::kAll;
    case OpId::kAll: return OpId::kAny;
    case OpId::kArgmax: return OpId::kArgmin;
    case OpId::kArgmin: return OpId::kArgmax;
    case OpId::kSubtract: return OpId::kAdd;
    default: break;
  }
  const OpInfo& own = info(op);
  const auto ops = all_ops();
  for (size_t step = 1; step < ops.size(); ++step) {
    const OpInfo& other = ops[(static_cast<size_t>(op) + step) % ops.size()];
    if (other.kind == own.kind && other.level == own.level && other.arity == own.arity &&
        other.rule == own.rule && other.form == own.form && !other.cpp.empty() && other.cpp != own.cpp)
      return other.id;
  }
  return op;
}

bool reads(const Nest& nest, const std::vector<Buffer>& buffers, BufferId written) {
  return std::ranges::any_of(nest.exprs, [&](const Expr& expr) {
    return expr.kind == Expr::Kind::kLoad && root_buffer(buffers, expr.access.buffer) == written;
  });
}

bool hands_over(const Nest& first, const Nest& second, const std::vector<Buffer>& buffers) {
  return std::ranges::any_of(first.stores, [&](const Store& store) {
    return reads(second, buffers, root_buffer(buffers, store.access.buffer));
  });
}

std::optional<DType> same_size(DType dtype) {
  for (const DTypeInfo& other : all_dtypes())
    if (other.id != dtype && other.itemsize == itemsize(dtype) && !is_bool(other.id)) return other.id;
  return std::nullopt;
}

// Two arrays that the step reads and nothing tells apart but what is in them.
std::optional<std::pair<size_t, size_t>> alike(const LaunchPlan& plan, const LaunchStep& step) {
  const auto only_read = [&](int buffer) {
    return plan.buffers[static_cast<size_t>(buffer)].kind == BufferSpec::Kind::kInput &&
           std::ranges::find(plan.written, buffer) == plan.written.end();
  };
  for (size_t j = 1; j < step.buffers.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      BufferSpec first = plan.buffers[static_cast<size_t>(step.buffers[i])];
      const BufferSpec& second = plan.buffers[static_cast<size_t>(step.buffers[j])];
      first.input = second.input;
      if (only_read(step.buffers[i]) && only_read(step.buffers[j]) && first == second) return std::pair(i, j);
    }
  }
  return std::nullopt;
}

// Strides of the same elements, with the axes the other way round in memory.
std::vector<SymInt> opposite_strides(const BufferSpec& buffer) {
  const size_t rank = buffer.shape.size();
  const bool row_major = buffer.strides[rank - 1] == SymInt(1);
  std::vector<SymInt> strides(rank, SymInt(1));
  for (size_t i = 1; i < rank; ++i) {
    const size_t axis = row_major ? i : rank - 1 - i, before = row_major ? i - 1 : rank - i;
    strides[axis] = strides[before] * buffer.shape[before];
  }
  return strides;
}

}  // namespace

Result<std::unique_ptr<FaultInjector>> FaultInjector::make(const CompileContext& ctx,
                                                           const std::string& graph_name) {
  const std::string& text = ctx.options.text("inject_fault");
  if (text.empty()) return std::unique_ptr<FaultInjector>();
  SUTURE_TRY(fault, parse_fault(text));
  if (is_of_frames(info(fault.kind).stage)) return std::unique_ptr<FaultInjector>();
  return std::make_unique<FaultInjector>(ctx, std::move(fault), graph_name);
}

// --- where -------------------------------------------------------------------------------------------------
bool FaultInjector::is_op(const Graph& graph, NodeId node) const {
  return node != kNoNode && computes(graph.node(node)) && (!fault_.op || graph.node(node).op == *fault_.op);
}

bool FaultInjector::has_with(const Graph& graph, const std::vector<NodeId>& nodes, NodeId except) const {
  return !fault_.with || std::ranges::any_of(nodes, [&](NodeId id) {
    return id != except && graph.node(id).op == *fault_.with;
  });
}

bool FaultInjector::acts(const Place& place) {
  if (!place.beside) return false;
  const TensorType& type = place.graph.node(place.node).type;
  const std::map<std::string, double> facts = {
      {"nodes", std::ranges::count_if(place.graph.nodes, computes)},
      {"symbols", static_cast<double>(place.graph.env.symbols().size())},
      {"nth", ++places_},
      {"rank", type.rank()}};
  if (!fault_.holds(facts)) return false;
  for (const FaultCondition& condition : fault_.when) {
    if (condition.word != "dtype") continue;
    const bool same = info(type.dtype).numpy_name == condition.text;
    if (same != (condition.comparison == "==")) return false;
  }
  return true;
}

void FaultInjector::report(const Graph& graph, NodeId node) const {
  if (!ctx_.trace.wants(EventId::kFaultInjected)) return;
  Event event(EventId::kFaultInjected, ctx_.id);
  const Node& at = graph.node(node);
  event.set("graph", graph_name_)
      .set("stage", std::string(name(stage())))
      .set("kind", std::string(info(fault_.kind).name))
      .set("what", std::string(info(fault_.kind).doc))
      .set("at", fmt::format("op '{}'", info(at.op).name))
      .set("op", std::string(info(at.op).name))
      .set("node", at.name)
      .set("file", at.where.file)
      .set("line", int64_t{at.where.line})
      .set("option", ctx_.options.text("inject_fault"));
  ctx_.trace.emit(std::move(event));
}

Error FaultInjector::failure(const std::string& step) const {
  return Error::internal(step, fmt::format("inject_fault: {}", info(fault_.kind).name));
}

std::optional<NodeId> FaultInjector::first_place(const Graph& graph) {
  const std::vector<NodeId> nodes = all_nodes(graph);
  for (NodeId id : nodes)
    if (is_op(graph, id) && acts({graph, id, has_with(graph, nodes, id)})) return id;
  return std::nullopt;
}

// --- passes ------------------------------------------------------------------------------------------------
PassEdit FaultInjector::after_pass() {
  if (stage() != FaultStage::kPasses) return {};
  return
      [this](Graph& graph, const PassInfo& pass, int occurrence, Applications& applications) -> Result<bool> {
        const std::string_view wanted =
            fault_.pass.empty() ? all_passes().back().name : std::string_view(fault_.pass);
        if (pass.name != wanted || occurrence != fault_.occurrence) return false;
        const auto at = place_in_pass(graph);
        const std::string what =
            at ? fmt::format("inject_fault {} on {}", info(fault_.kind).name, graph.node(*at).name) : "";
        if (!at || (!pass.required && !applications.take(what))) return false;
        report(graph, *at);
        if (fault_.kind == FaultKind::kPassError) return failure("passes");
        edit_node(graph, *at);
        return true;
      };
}

std::optional<NodeId> FaultInjector::place_in_pass(const Graph& graph) {
  const std::vector<NodeId> nodes = all_nodes(graph);
  for (NodeId id : nodes)
    if (is_op(graph, id) && can_edit(graph, id) && acts({graph, id, has_with(graph, nodes, id)})) return id;
  return std::nullopt;
}

bool FaultInjector::can_edit(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  if (fault_.kind == FaultKind::kDropNode) return stand_in(graph, node) != kNoNode;
  if (fault_.kind != FaultKind::kSwapOperands) return true;
  return node.operands.size() == 2 && node.op != OpId::kStore && node.operands[0] != node.operands[1] &&
         interchangeable(graph.node(node.operands[0]).type, graph.node(node.operands[1]).type);
}

void FaultInjector::edit_node(Graph& graph, NodeId id) const {
  Node& node = graph.node(id);
  if (fault_.kind == FaultKind::kDropNode) graph = without_node(graph, id, stand_in(graph, node));
  if (fault_.kind == FaultKind::kSwapOperands) std::swap(node.operands[0], node.operands[1]);
  if (fault_.kind != FaultKind::kUnlawfulGraph) return;
  node.type.shape.emplace_back(1);
  node.type.strides.emplace_back(1);
}

// --- schedule ----------------------------------------------------------------------------------------------
Status FaultInjector::after_schedule(Schedule& schedule, const Graph& graph) {
  if (fault_.kind == FaultKind::kScheduleError) {
    if (const auto at = first_place(graph)) {
      report(graph, *at);
      return failure("schedule");
    }
  }
  if (fault_.kind == FaultKind::kSwappedSteps) swapped_steps(schedule, graph);
  if (fault_.kind == FaultKind::kStaleValue)
    for (auto& step : schedule.steps)
      if (KernelGroup* group = std::get_if<KernelGroup>(&step); group && stale_value(group->nest, graph))
        break;
  return ok_status();
}

bool FaultInjector::stale_value(Nest& nest, const Graph& graph) {
  for (Expr& user : nest.exprs) {
    for (ExprId& operand : user.operands) {
      const Expr& value = nest.exprs[operand];
      if (value.kind != Expr::Kind::kOp || value.node == user.node || !is_op(graph, value.node)) continue;
      const auto older = std::ranges::find_if(value.operands,
                                              [&](ExprId id) { return nest.exprs[id].dtype == value.dtype; });
      const bool wanted = !fault_.with || (user.node != kNoNode && graph.node(user.node).op == *fault_.with);
      if (older == value.operands.end() || !acts({graph, value.node, wanted})) continue;
      report(graph, value.node);
      operand = *older;
      return true;
    }
  }
  return false;
}

bool FaultInjector::swapped_steps(Schedule& schedule, const Graph& graph) {
  for (size_t i = 0; i + 1 < schedule.steps.size(); ++i) {
    const auto* first = std::get_if<KernelGroup>(&schedule.steps[i]);
    const auto* second = std::get_if<KernelGroup>(&schedule.steps[i + 1]);
    if (!first || !second || !hands_over(first->nest, second->nest, schedule.buffers)) continue;
    const auto at = std::ranges::find_if(first->nest.nodes, [&](NodeId id) { return is_op(graph, id); });
    if (at == first->nest.nodes.end() || !acts({graph, *at, has_with(graph, second->nest.nodes, kNoNode)}))
      continue;
    report(graph, *at);
    std::swap(schedule.steps[i], schedule.steps[i + 1]);
    return true;
  }
  return false;
}

// --- codegen and kernels -----------------------------------------------------------------------------------
Result<GeneratedCode> FaultInjector::emit(const Schedule& schedule, const Graph& graph,
                                          const CodegenOptions& options) {
  Schedule edited = schedule;
  if (fault_.kind == FaultKind::kWrongOperator)
    for (auto& step : edited.steps)
      if (KernelGroup* group = std::get_if<KernelGroup>(&step); group && wrong_operator(group->nest, graph))
        break;
  SUTURE_TRY(code, suture::emit(edited, graph, options));
  if (stage() == FaultStage::kKernel) edit_text(code, graph);
  if (stage() == FaultStage::kRuntime) edit_plan(code.plan, schedule, graph);
  if (fault_.kind != FaultKind::kCodegenError && fault_.kind != FaultKind::kBadCode) return code;
  const auto at = first_place(graph);
  if (!at) return code;
  report(graph, *at);
  if (fault_.kind == FaultKind::kCodegenError) return failure("codegen");
  code.cpp += "injected_fault;  // no declaration\n";
  return code;
}

bool FaultInjector::wrong_operator(Nest& nest, const Graph& graph) {
  const auto edit = [&](NodeId node, OpId& op) {
    const OpId other = other_op(op);
    if (!is_op(graph, node) || other == op || !acts({graph, node, has_with(graph, nest.nodes, node)}))
      return false;
    report(graph, node);
    op = other;
    return true;
  };
  return std::ranges::any_of(nest.exprs,
                             [&](Expr& e) { return e.kind == Expr::Kind::kOp && edit(e.node, e.op); }) ||
         std::ranges::any_of(nest.reductions, [&](Reduction& r) { return edit(r.node, r.op); });
}

void FaultInjector::edit_text(GeneratedCode& code, const Graph& graph) {
  FaultyKernelText text(code.cpp, fault_);
  for (size_t i = 0; i < code.kernels.size(); ++i) {
    const KernelInfo& kernel = code.kernels[i];
    const auto inside = [&](const CodeLine& line) {
      return kernel.first_line <= line.line && line.line <= kernel.last_line;
    };
    std::vector<NodeId> nodes, computed;
    for (const CodeLine& line : code.lines)
      if (inside(line)) (line.kind == CodeLine::Kind::kCompute ? computed : nodes).push_back(line.node);
    const auto written_only = [&](NodeId id) { return std::ranges::find(computed, id) == computed.end(); };
    nodes.insert(nodes.end(), computed.begin(), computed.end());
    for (const CodeLine& line : code.lines) {
      if (!inside(line) || !is_op(graph, line.node) || !text.has_value_at(line)) continue;
      if (line.kind == CodeLine::Kind::kWrite && !written_only(line.node)) continue;
      if (!acts({graph, line.node, has_with(graph, nodes, line.node)})) continue;
      report(graph, line.node);
      text.spoil(line, graph.node(line.node).type.dtype, static_cast<int>(i), kernel.name);
    }
  }
  code.cpp = text.finish();
}

// --- toolchain ---------------------------------------------------------------------------------------------
Status FaultInjector::before_toolchain(const Graph& graph) {
  if (stage() != FaultStage::kToolchain) return ok_status();
  const auto at = first_place(graph);
  if (!at) return ok_status();
  report(graph, *at);
  if (fault_.kind == FaultKind::kToolchainError) return failure("toolchain");
  volatile int* nowhere = nullptr;
  if (fault_.kind == FaultKind::kToolchainSegfault) *nowhere = 1;
  for (volatile bool forever = true; forever;) {
  }
  return ok_status();
}

// --- runtime -----------------------------------------------------------------------------------------------
void FaultInjector::edit_plan(LaunchPlan& plan, const Schedule& schedule, const Graph& graph) {
  if (fault_.kind == FaultKind::kSwappedArguments) return swap_arguments(plan, schedule, graph);
  if (fault_.kind != FaultKind::kLostConditions) return edit_output(plan, graph);
  if (!plan.can_replay) return;
  if (const auto at = first_place(graph)) {
    report(graph, *at);
    plan.can_replay = false;
  }
}

void FaultInjector::swap_arguments(LaunchPlan& plan, const Schedule& schedule, const Graph& graph) {
  for (LaunchStep& step : plan.steps) {
    const auto of_kernel = [&](const auto& planned) {
      const auto* group = std::get_if<KernelGroup>(&planned);
      return group && group->name == step.kernel;
    };
    const auto found = std::ranges::find_if(schedule.steps, of_kernel);
    const auto pair = alike(plan, step);
    if (found == schedule.steps.end() || !pair) continue;
    const std::vector<NodeId>& nodes = std::get<KernelGroup>(*found).nest.nodes;
    const auto at = std::ranges::find_if(nodes, [&](NodeId id) { return is_op(graph, id); });
    if (at == nodes.end() || !acts({graph, *at, has_with(graph, nodes, *at)})) continue;
    report(graph, *at);
    std::swap(step.buffers[pair->first], step.buffers[pair->second]);
    return;
  }
}

void FaultInjector::edit_output(LaunchPlan& plan, const Graph& graph) {
  const bool strides = fault_.kind == FaultKind::kWrongStrides;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    BufferSpec& buffer = plan.buffers[static_cast<size_t>(plan.outputs[i])];
    const NodeId node = graph.outputs[i];
    const bool array = buffer.kind == BufferSpec::Kind::kOutput && buffer.value_class == ValueClass::kArray;
    const bool possible = strides ? buffer.shape.size() > 1 : same_size(buffer.dtype).has_value();
    if (!array || !possible || !is_op(graph, node)) continue;
    if (!acts({graph, node, has_with(graph, all_nodes(graph), node)})) continue;
    report(graph, node);
    if (strides)
      buffer.strides = opposite_strides(buffer);
    else
      buffer.dtype = *same_size(buffer.dtype);
    return;
  }
}

}  // namespace suture
