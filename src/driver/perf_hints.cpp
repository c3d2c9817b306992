#include "driver/perf_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "driver/compiler.h"
#include "driver/frame_record.h"

namespace suture {
namespace {

constexpr int64_t kVectorElements = 8;  // a shorter run leaves vector instructions nothing to do
constexpr double kGoodBlas = 10;        // times as fast as np.multiply in the cache
constexpr double kSmallGraphMs = 0.02;  // a longer call does not consist of calling
constexpr double kManyFaults = 16;      // per call: below that it is not the arrays
constexpr double kWorthless = 0.05;     // of the step: what could be saved is within the noise

std::string bytes_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < int64_t{1} << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string spelled(const Node& node) {
  return node.target.empty() ? std::string(info(node.op).name) : node.target;
}

std::string at_line(const Node& node) {
  return node.where.known() ? fmt::format("{} (line {})", spelled(node), node.where.line) : spelled(node);
}

// Hints of one graph, in the order of its plan.
class PlanHints {
 public:
  PlanHints(const Lowered& lowered, std::span<const SavedInput> kept, const GraphTimes* times)
      : graph_(lowered.graph), schedule_(lowered.schedule), kept_(kept), times_(times) {}

  std::vector<PerfHint> run() {
    for (step_ = 0; step_ < schedule_.steps.size(); ++step_) {
      if (const auto* call = std::get_if<NumpyCall>(&schedule_.steps[step_])) {
        numpy_call(*call);
        continue;
      }
      const KernelGroup& group = std::get<KernelGroup>(schedule_.steps[step_]);
      for (const Store& store : group.nest.stores) copy(group, store);
      reductions(group);
    }
    for (const FusionVerdict& verdict : schedule_.verdicts) missed_fusion(verdict);
    whole_graph();
    return std::move(hints_);
  }

 private:
  void add(PerfHintId id, const Node& node, std::string sentence, std::string evidence, int64_t bytes,
           double cost_ms) {
    hints_.push_back({id, std::move(sentence), std::move(evidence), "", bytes, cost_ms, node.where});
  }

  double cost_of_moving(int64_t bytes) const { return times_ ? copy_ms(bytes / 2) : 0; }

  int64_t bytes_of(BufferId id) const {
    const Buffer& buffer = schedule_.buffers[static_cast<size_t>(id)];
    return schedule_.env.hint(product(buffer.shape)) * itemsize(buffer.dtype);
  }

  void missed_fusion(const FusionVerdict& verdict) {
    if (verdict.fused || verdict.advice.empty() || verdict.bytes < kNoticeableBytes) return;
    if (verdict.producer_node == kNoNode || verdict.consumer_node == kNoNode) return;
    // A copy is a loop of its own; what it costs has been said.
    if (copies_.contains(verdict.producer_node) || copies_.contains(verdict.consumer_node)) return;
    const Node& producer = graph_.node(verdict.producer_node);
    const Node& consumer = graph_.node(verdict.consumer_node);
    add(PerfHintId::kMissedFusion, consumer,
        fmt::format("{} and {} are separate loops", at_line(producer), at_line(consumer)),
        fmt::format("{} ({}); {} go through memory between them", verdict.sentence, verdict.reason,
                    bytes_text(verdict.bytes)),
        verdict.bytes, cost_of_moving(verdict.bytes));
    hints_.back().advice = verdict.advice;
  }

  // --- steps that NumPy does ---
  void numpy_call(const NumpyCall& call) {
    if (call.node == kNoNode) return;
    const Node& node = graph_.node(call.node);
    if (!call.why.empty()) {
      add(PerfHintId::kNumpyStep, node, fmt::format("{} is done by NumPy, between kernels", spelled(node)),
          call.why, 0, step_ms());
    } else if (info(node.op).kind == OpKind::Contract) {
      contraction(node);
    }
  }

  double step_ms() const { return times_ ? std::max(times_->step(step_), 0.0) : 0; }

  // Multiplications and additions of a product of matrices or vectors.
  double operations(const Node& node) const {
    const std::vector<SymInt>& shape = graph_.node(node.operands[0]).type.shape;
    const SymInt inner = shape.empty() ? SymInt(1) : shape.back();
    return 2.0 * static_cast<double>(schedule_.env.hint(product(node.type.shape))) *
           static_cast<double>(schedule_.env.hint(inner));
  }

  void contraction(const Node& node) {
    const double count = operations(node), ms = step_ms();
    const double rate = ms > 0 ? count / ms * 1e-6 : 0;
    if (is_float(node.type.dtype)) return slow_blas(node, count), converted_operands(node);
    if (count < static_cast<double>(kNoticeableBytes)) return;
    const std::string dtype(info(node.type.dtype).numpy_name);
    std::string evidence = fmt::format("{:.0f} operations on {}, for which there is no BLAS", count, dtype);
    double cost = 0;
    if (rate > 0 && blas_speed().known()) {
      evidence = fmt::format("{:.2f} GFLOP/s on {}, where {} gives {:.1f} GFLOP/s on float64", rate, dtype,
                             blas_speed().name, blas_speed().gflops);
      cost = std::max(0.0, ms - count / blas_speed().gflops * 1e-6);
    }
    add(PerfHintId::kBlasNotUsed, node, fmt::format("{} of {} runs plain loops", spelled(node), dtype),
        std::move(evidence), 0, cost);
  }

  void slow_blas(const Node& node, double count) {
    if (!times_ || count < static_cast<double>(kNoticeableBytes) || !blas_speed().known()) return;
    const BlasSpeed& blas = blas_speed();
    const double good = kGoodBlas * blas.elementwise_gflops;
    if (blas.gflops >= good) return;
    add(PerfHintId::kSlowBlas, node, fmt::format("{} runs on {}", spelled(node), blas.name),
        fmt::format(
            "{:.1f} GFLOP/s for a product of 64 x 64 float64 matrices, np.multiply does {:.1f} in the "
            "cache; a good BLAS would do more than {:.0f}",
            blas.gflops, blas.elementwise_gflops, good),
        0, count / blas.gflops * 1e-6 - count / good * 1e-6);
  }

  // NumPy converts them itself, in the call.
  void converted_operands(const Node& node) {
    for (NodeId operand : node.operands) {
      const TensorType& type = graph_.node(operand).type;
      if (type.dtype == node.type.dtype) continue;
      const int64_t bytes = schedule_.env.hint(product(type.shape)) * itemsize(node.type.dtype);
      if (bytes < kNoticeableBytes) continue;
      add(PerfHintId::kCopyConverted, node,
          fmt::format("{} converts {} from {} to {}", spelled(node), graph_.node(operand).name,
                      info(type.dtype).numpy_name, info(node.type.dtype).numpy_name),
          fmt::format("{} written and read again", bytes_text(bytes)), 2 * bytes, cost_of_moving(2 * bytes));
    }
  }

  // --- copies ---
  void copy(const KernelGroup& group, const Store& store) {
    const Node& node = graph_.node(store.node);
    const BufferId root = root_buffer(schedule_.buffers, store.access.buffer);
    const Buffer& buffer = schedule_.buffers[static_cast<size_t>(root)];
    const bool effect = info(node.op).kind == OpKind::Effect;
    if (effect && buffer.kind == Buffer::Kind::kInput) return kept_input(node, buffer.input);
    if (bytes_of(root) < kNoticeableBytes) return;
    // A kernel that computes anything else stores its result in the order of the new shape, for nothing.
    const bool only_copies = buffer.kind == Buffer::Kind::kTemp || group.nest.nodes.size() == 1;
    if (is_reshape(node) && only_copies) copied(PerfHintId::kCopyReshape, node, root, "copies {}");
    if (effect && buffer.kind == Buffer::Kind::kTemp)
      copied(PerfHintId::kCopyOverlap, node, root, "copies {} before it stores");
  }

  // np.reshape and np.ravel of what does not lie in memory in the order of the new shape.
  static bool is_reshape(const Node& node) {
    return node.op == OpId::kReshape ||
           (node.op == OpId::kCopy && (node.target.ends_with("reshape") || node.target.ends_with("ravel")));
  }

  void copied(PerfHintId id, const Node& node, BufferId root, const char* sentence) {
    const int64_t bytes = bytes_of(root);
    copies_.insert(node.id);
    add(id, node, fmt::format("{} {}", spelled(node), fmt::format(fmt::runtime(sentence), bytes_text(bytes))),
        fmt::format("{} written and read again", bytes_text(bytes)), 2 * bytes, cost_of_moving(2 * bytes));
  }

  void kept_input(const Node& node, int input) {
    const auto kept = std::ranges::find(kept_, input, &SavedInput::input);
    if (kept == kept_.end() || kept->bytes < kNoticeableBytes || !told_.insert(input).second) return;
    const int64_t bytes = kept->bytes;
    add(PerfHintId::kCopyKeptInput, node,
        fmt::format("{} writes into an argument: its {} are saved first", spelled(node), bytes_text(bytes)),
        fmt::format("{} copied at every call", bytes_text(bytes)), 2 * bytes, cost_of_moving(2 * bytes));
  }

  // --- reductions ---
  int64_t elements(const KernelGroup& group) const { return schedule_.env.hint(product(group.nest.extents)); }

  // Elements that are combined in one go, innermost: a run along reduced axes, or a row that is added to others.
  int64_t innermost_length(const KernelGroup& group) const {
    const ReduceOrder& order = group.nest.reductions.front().order;
    if (order.run.empty())
      return group.nest.extents.empty() ? 1 : schedule_.env.hint(group.nest.extents.back());
    int64_t length = 1;
    for (int axis : order.run) length *= schedule_.env.hint(group.nest.extents[static_cast<size_t>(axis)]);
    return length;
  }

  // Elements from one of the run to the next, where the run is read from memory; 1 where all are neighbours.
  int64_t widest_stride(const KernelGroup& group) const {
    const ReduceOrder& order = group.nest.reductions.front().order;
    if (group.nest.extents.empty()) return 1;
    const size_t axis =
        order.run.empty() ? group.nest.extents.size() - 1 : static_cast<size_t>(order.run.back());
    int64_t widest = 1;
    for (const Expr& expr : group.nest.exprs)
      if (expr.kind == Expr::Kind::kLoad && axis < expr.access.strides.size())
        widest = std::max(widest, std::abs(schedule_.env.hint(expr.access.strides[axis])));
    return widest;
  }

  void reductions(const KernelGroup& group) {
    if (group.nest.reductions.empty()) return;
    const Reduction& first = group.nest.reductions.front();
    const int64_t count = elements(group), length = innermost_length(group), stride = widest_stride(group);
    if (count * itemsize(first.value_dtype) < kNoticeableBytes) return;
    const auto product_of_floats = std::ranges::find_if(
        group.nest.reductions, [](const Reduction& r) { return r.op == OpId::kProd && is_float(r.dtype); });
    if (length < kVectorElements)
      reduction(PerfHintId::kReductionShortRuns, group, first,
                fmt::format("combines its elements in runs of {}", length), count);
    else if (stride > 1)
      reduction(PerfHintId::kReductionStrided, group, first,
                fmt::format("reads elements that lie {} apart", stride), count);
    else if (product_of_floats != group.nest.reductions.end() && !product_of_floats->order.run.empty())
      reduction(PerfHintId::kReductionSequential, group, *product_of_floats,
                "combines its elements one after the other", count);
  }

  void reduction(PerfHintId id, const KernelGroup& group, const Reduction& reduction, const std::string& how,
                 int64_t count) {
    const Node& node = graph_.node(reduction.node);
    const int64_t bytes = count * itemsize(reduction.value_dtype);
    std::string evidence = fmt::format("{} combines {} elements", group.name, count);
    double cost = 0;
    if (step_ms() > 0) {
      const double reading = copy_ms(bytes) / 2;
      cost = std::max(0.0, step_ms() - reading);
      if (cost < kWorthless * step_ms()) return;
      evidence += fmt::format("; it takes {:.3f} ms, reading its {} takes {:.3f} ms", step_ms(),
                              bytes_text(bytes), reading);
    }
    add(id, node, fmt::format("{} {}", spelled(node), how), std::move(evidence), 0, cost);
  }

  // --- the whole run ---
  void whole_graph() {
    if (!times_ || times_->run < 0 || times_->run > kSmallGraphMs || schedule_.steps.empty()) return;
    const double around = times_->run - times_->all_steps();
    if (around < times_->run / 2) return;
    const auto named = std::ranges::find_if(graph_.nodes, [](const Node& node) {
      return info(node.op).kind != OpKind::Input && node.where.known();
    });
    if (named == graph_.nodes.end()) return;
    std::string evidence =
        fmt::format("{:.0f} of {:.0f} ns are spent around the kernels", around * 1e6, times_->run * 1e6);
    if (times_->numpy > 0) evidence += fmt::format("; NumPy takes {:.0f} ns", times_->numpy * 1e6);
    add(PerfHintId::kSmallArrays, *named, "the arrays are so small that a call is mostly calling",
        std::move(evidence), 0, around);
  }

  const Graph& graph_;
  const Schedule& schedule_;
  std::span<const SavedInput> kept_;
  const GraphTimes* times_;
  size_t step_ = 0;
  std::set<int> told_;  // arguments whose copy has been told
  std::set<NodeId> copies_;
  std::vector<PerfHint> hints_;
};

}  // namespace

std::span<const PerfHintInfo> all_perf_hints() {
  static constexpr PerfHintInfo kTable[] = {
#define SUTURE_PERF_HINT(id, name, title, why, advice) {PerfHintId::id, name, title, why, advice},
#include "driver/perf_hints.def"
  };
  return kTable;
}

const PerfHintInfo& info(PerfHintId id) { return all_perf_hints()[static_cast<size_t>(id)]; }

Event perf_hint_event(const CompileId& id, const PerfHint& hint) {
  const PerfHintInfo& row = info(hint.id);
  return Event(EventId::kPerfHint, id)
      .set("id", std::string(row.name))
      .set("title", std::string(row.title))
      .set("sentence", hint.sentence)
      .set("why", std::string(row.why))
      .set("evidence", hint.evidence)
      .set("bytes", hint.bytes)
      .set("cost_ms", hint.cost_ms)
      .set("advice", hint.advice.empty() ? std::string(row.advice) : hint.advice)
      .set("function", hint.where.function)
      .set("file", hint.where.file)
      .set("line", int64_t{hint.where.line});
}

std::vector<PerfHint> plan_hints(const Lowered& lowered, std::span<const SavedInput> kept,
                                 const GraphTimes* times) {
  return PlanHints(lowered, kept, times).run();
}

void report_perf_hints(const CompileContext& ctx, Compiler& compiler, std::shared_ptr<const Lowered> lowered,
                       std::vector<SavedInput> kept, std::shared_ptr<const GraphTimes> times) {
  compiler.report_unwritten(
      ctx.id, {EventId::kPerfHint},
      [id = ctx.id, lowered = std::move(lowered), kept = std::move(kept), times = std::move(times)] {
        std::vector<Event> events;
        for (const PerfHint& hint : plan_hints(*lowered, kept, times.get()))
          events.push_back(perf_hint_event(id, hint));
        return events;
      });
}

std::optional<PerfHint> page_fault_hint(const FrameRecord& frame, const CallSample& sample) {
  const double faults = static_cast<double>(sample.minor_faults) / CallSample::kCalls;
  if (faults < kManyFaults) return std::nullopt;
  PerfHint hint{PerfHintId::kPageFaults, "", "", "", 0, faults * page_fault_ms(), {}};
  hint.sentence = fmt::format("a call needs {:.0f} fresh pages of memory", faults);
  hint.evidence =
      fmt::format("{:.0f} page faults per call, counted over {} of {:.3f} ms; each costs {:.0f} ns here",
                  faults, CallSample::kCalls, sample.ms / CallSample::kCalls, page_fault_ms() * 1e6);
  hint.where = {frame.file, frame.function, frame.line};
  return hint;
}

}  // namespace suture
