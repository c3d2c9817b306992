// Reductions in C++.
//
// How it works
//   Kept axes outside (the usual case): one scalar accumulator per reduction and kept index. The reduced
//   elements are walked in blocks of at most 128 (exact float sums: the blocks of NumPy's pairwise recursion)
//   or 256 elements; each block is evaluated into a small array by a plain loop, then combined by a prelude
//   function. The epilogue follows. Innermost axis kept ("row adds"), or kept axes between reduced ones: the
//   result buffers themselves are the accumulators; they are set to the identity first and no epilogue is
//   fused (schedule/fuse_nests.cpp sees to that).
// A run over several axes that do not merge is walked in pieces along the innermost one; `begin` counts
// elements of the run.
#include <fmt/core.h>

#include <algorithm>

#include "codegen/kernel_writer.h"
#include "loop/conditions.h"
#include "schedule/fuse_nests.h"

namespace suture {
namespace {

constexpr int64_t kBlock = 1024;  // PairwiseTree's leaf, see prelude/reduction.h

std::string type_name(DType dtype) { return std::string(info(dtype).c_type); }
bool is_arg(OpId op) { return op == OpId::kArgmax || op == OpId::kArgmin; }
bool starts_high(OpId op) { return op == OpId::kMin || op == OpId::kArgmin; }

}  // namespace

bool KernelWriter::sums_exactly(const Reduction& reduction) const {
  return reduction.op == OpId::kSum && is_float(reduction.dtype);
}

// The sign of a zero that NumPy's max and min loops give depends on its build: both signs are reported.
bool KernelWriter::tells_zeros_apart(const Reduction& reduction) const {
  return (reduction.op == OpId::kMax || reduction.op == OpId::kMin) && is_float(reduction.dtype);
}

void KernelWriter::declare_zeros(size_t r) {
  const Reduction& reduction = nest_.reductions[r];
  if (tells_zeros_apart(reduction))
    reduction_line(reduction, fmt::format("uint32_t {} = 0;", zeros_[r]), false);
}

void KernelWriter::report_zeros(size_t r) {
  const Reduction& reduction = nest_.reductions[r];
  if (tells_zeros_apart(reduction))
    reduction_line(reduction, fmt::format("status |= zeros_status({}, {});", accumulator_[r], zeros_[r]),
                   false);
}

std::string KernelWriter::reduction_comment(const Reduction& reduction) const {
  const Node& node = graph_.node(reduction.node);
  return comment(node.where, node.target.empty() ? std::string(info(node.op).name) : node.target);
}

void KernelWriter::reduction_line(const Reduction& reduction, const std::string& code, bool commented) {
  out_.line(code, commented ? reduction_comment(reduction) : "");
  note(CodeLine::Kind::kReduce, reduction.node, graph_.node(reduction.node).where);
}

std::string KernelWriter::identity(const Reduction& reduction) const {
  const std::string type = type_name(is_arg(reduction.op) ? reduction.value_dtype : reduction.dtype);
  switch (reduction.op) {
    case OpId::kSum: return cpp_literal(int64_t{0}, reduction.dtype);
    case OpId::kProd: return cpp_literal(int64_t{1}, reduction.dtype);
    case OpId::kAny: return "false";
    case OpId::kAll: return "true";
    default:
      return fmt::format("{}<{}>()", starts_high(reduction.op) ? "highest_value" : "lowest_value", type);
  }
}

// One more element.
std::string KernelWriter::combined(const Reduction& reduction, const std::string& total,
                                   const std::string& value) const {
  switch (reduction.op) {
    case OpId::kSum: return fmt::format("op_add({}, {})", total, value);
    case OpId::kProd: return fmt::format("op_mul({}, {})", total, value);
    case OpId::kAny: return fmt::format("{} | op_truth({})", total, value);
    case OpId::kAll: return fmt::format("{} & op_truth({})", total, value);
    case OpId::kMin: return fmt::format("op_minimum({}, {})", total, value);
    default: return fmt::format("op_maximum({}, {})", total, value);
  }
}

Status KernelWriter::write_reductions() {
  for (const Reduction& reduction : nest_.reductions) {
    const std::string name = graph_.node(reduction.node).name;
    accumulator_.push_back(names_.unique(name));
    block_.push_back(names_.unique(name + "_values"));
    best_.push_back(is_arg(reduction.op) ? names_.unique(name + "_best") : "");
    zeros_.push_back(tells_zeros_apart(reduction) ? names_.unique(name + "_zeros") : "");
  }
  find_short_rows();
  write_level(0);
  if (!reduces_innermost(nest_)) return write_accumulating_in_memory();
  write_inside_kept_loops();
  return ok_status();
}

// --- kept axes outside -------------------------------------------------------------------------------------
void KernelWriter::write_inside_kept_loops() {
  const std::vector<bool> reduced = reduced_axes(nest_);
  size_t kept = 0;
  while (kept < reduced.size() && !reduced[kept]) ++kept;
  if (short_rows_) kept = short_rows_->first;
  for (size_t axis = 0; axis < kept; ++axis) {
    open_loop(axis);
    write_level(axis + 1);
  }
  if (short_rows_) {
    write_short_rows();
  } else {
    declare_accumulators();
    write_reduced_loops(kept);
    write_late();
  }
  for (size_t axis = 0; axis < kept; ++axis) out_.close();
}

void KernelWriter::declare_accumulators() {
  for (size_t r = 0; r < nest_.reductions.size(); ++r) {
    const Reduction& reduction = nest_.reductions[r];
    if (is_arg(reduction.op)) {
      reduction_line(reduction, fmt::format("{} {} = {};", type_name(reduction.value_dtype), best_[r],
                                            identity(reduction)));
      reduction_line(reduction, fmt::format("int64_t {} = 0;", accumulator_[r]));
    } else {
      reduction_line(reduction, fmt::format("{} {} = {};", type_name(reduction.dtype), accumulator_[r],
                                            identity(reduction)));
      declare_zeros(r);
    }
  }
}

// Loops over the reduced axes outside the run, then the run.
void KernelWriter::write_reduced_loops(size_t first_axis) {
  const size_t run_begin = nest_.reductions.front().order.outer.size();
  for (size_t axis = first_axis; axis < run_begin; ++axis) {
    open_loop(axis);
    write_level(axis + 1);
  }
  write_run();
  for (size_t axis = first_axis; axis < run_begin; ++axis) out_.close();
}

void KernelWriter::write_late() {
  for (size_t r = 0; r < nest_.reductions.size(); ++r) report_zeros(r);
  for (size_t r = 0; r < nest_.reductions.size(); ++r) {
    if (!conditions_.kept_reduction[r]) continue;
    keep(accumulator_[r], nest_.reductions[r].dtype);
    note(CodeLine::Kind::kReduce, nest_.reductions[r].node, graph_.node(nest_.reductions[r].node).where);
  }
  for (size_t id = 0; id < nest_.exprs.size(); ++id)
    if (levels_.late[id]) define(static_cast<ExprId>(id));
  for (const Store& store : nest_.stores)
    if (store.after_reduction) write_store(store);
}

// --- one run -----------------------------------------------------------------------------------------------
void KernelWriter::write_run() {
  SymInt total = 1;
  for (int axis : nest_.reductions.front().order.run) total = total * extent(static_cast<size_t>(axis));
  const int64_t chunk = nest_.reductions.front().order.chunk;
  const auto length = total.constant();
  out_.open("");
  declare_blocks();
  const std::vector<int>& run = nest_.reductions.front().order.run;
  if (run.size() > 1)
    for (int axis : run) out_.line(fmt::format("int64_t {} = 0;", index_[axis]));
  if (chunk > 0 && (!length || *length > chunk)) {
    const std::string base = names_.unique("chunk"), size = names_.unique("chunk_size");
    out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", base, cpp(total), chunk));
    out_.line(
        fmt::format("const int64_t {0} = {1} - {2} < {3} ? {1} - {2} : {3};", size, cpp(total), base, chunk));
    write_blocks(size, base);
    out_.close();
  } else {
    write_blocks(cpp(total), "");
  }
  out_.close();
}

// The reduced elements lie next to each other in memory that this kernel does not write.
bool KernelWriter::reads_memory_directly(const Reduction& reduction) const {
  const Expr& value = nest_.exprs[reduction.value];
  const std::vector<int>& run = reduction.order.run;
  if (run.size() != 1 || value.kind != Expr::Kind::kLoad || !(value.access.strides[run[0]] == SymInt(1)))
    return false;
  return std::none_of(nest_.stores.begin(), nest_.stores.end(),
                      [&](const Store& store) { return store.access.buffer == value.access.buffer; });
}

void KernelWriter::declare_blocks() {
  for (size_t r = 0; r < nest_.reductions.size(); ++r) {
    const Reduction& reduction = nest_.reductions[r];
    if (!reads_memory_directly(reduction))
      reduction_line(reduction,
                     fmt::format("{} {}[{}];", type_name(reduction.value_dtype), block_[r], kBlock), false);
  }
}

bool KernelWriter::needs_blocks() const {
  for (const Reduction& reduction : nest_.reductions)
    if (!reads_memory_directly(reduction)) return true;
  for (size_t i = 0; i < nest_.stores.size(); ++i)
    if (!nest_.stores[i].after_reduction && level_is_inside_run(levels_.store[i])) return true;
  for (size_t id = 0; id < nest_.exprs.size(); ++id)
    if (can_signal(nest_, nest_.exprs[id]) && !levels_.late[id] && level_is_inside_run(levels_.expr[id]))
      return true;
  return false;
}

// Blocks of `total` elements that start at element `base` of the run.
void KernelWriter::write_blocks(const std::string& total, const std::string& base) {
  if (total == "0") return;
  const std::string start = base.empty() ? "0" : base;
  const bool short_run =
      total.find_first_not_of("0123456789") == std::string::npos && std::stoll(total) <= kBlock;
  if (!needs_blocks() || short_run) {
    if (needs_blocks()) write_block_body(total, start);
    combine_blocks(total, start, {});
    return;
  }
  std::vector<std::string> trees(nest_.reductions.size());
  std::string leader;
  for (size_t r = 0; r < nest_.reductions.size(); ++r) {
    if (!sums_exactly(nest_.reductions[r])) continue;
    trees[r] = names_.unique(graph_.node(nest_.reductions[r].node).name + "_tree");
    reduction_line(
        nest_.reductions[r],
        fmt::format("PairwiseTree<{}> {}({});", type_name(nest_.reductions[r].dtype), trees[r], total),
        false);
    if (leader.empty()) leader = trees[r];
  }
  const std::string first = names_.unique("first"), length = names_.unique("length");
  if (leader.empty()) {
    out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", first, total, kBlock));
    out_.line(
        fmt::format("const int64_t {0} = {1} - {2} < {3} ? {1} - {2} : {3};", length, total, first, kBlock));
  } else {
    out_.open(fmt::format("for (int64_t {0} = 0, {1}; ({1} = {2}.next()) != 0; {0} += {1})", first, length,
                          leader));
    for (const std::string& tree : trees)
      if (!tree.empty() && tree != leader) out_.line(fmt::format("{}.next();", tree));
  }
  const std::string begin = base.empty() ? first : base + " + " + first;
  write_block_body(length, begin);
  combine_blocks(length, begin, trees);
  out_.close();
  for (size_t r = 0; r < trees.size(); ++r)
    if (!trees[r].empty())
      reduction_line(nest_.reductions[r], fmt::format("{0} = {0} + {1}.sum();", accumulator_[r], trees[r]));
}

// Evaluates a block into the arrays.
void KernelWriter::write_block_body(const std::string& count, const std::string& base) {
  const std::vector<int>& run = nest_.reductions.front().order.run;
  const std::string k = names_.unique("k");
  if (run.size() <= 1) {
    if (!run.empty()) forbid_masked_lanes(extent(static_cast<size_t>(run[0])));
    out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", k, count));
    if (!run.empty()) out_.line(fmt::format("const int64_t {} = {} + {};", index_[run[0]], base, k));
    fill_block(k);
    out_.close();
    return;
  }
  const std::string inner = index_[run.back()], piece = names_.unique("piece"), l = names_.unique("l");
  const std::string n = cpp(extent(static_cast<size_t>(run.back())));
  out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1};)", k, count));
  out_.line(fmt::format("const int64_t {0} = {1} - {2} < {3} - {4} ? {1} - {2} : {3} - {4};", piece, n, inner,
                        count, k));
  out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", l, piece));
  index_[run.back()] = inner + " + " + l;
  fill_block(k + " + " + l);
  index_[run.back()] = inner;
  out_.close();
  out_.line(fmt::format("{} += {};", k, piece));
  out_.line(fmt::format("{} += {};", inner, piece));
  for (size_t i = run.size() - 1; i > 0; --i) {
    const std::string size = cpp(extent(static_cast<size_t>(run[i])));
    out_.line(fmt::format("if ({0} == {1}) {{ {0} = 0; ++{2}; }}", index_[run[i]], size, index_[run[i - 1]]));
  }
  out_.close();
}

void KernelWriter::fill_block(const std::string& position) {
  std::vector<std::string> before = value_;
  for (size_t id = 0; id < nest_.exprs.size(); ++id)
    if (level_is_inside_run(levels_.expr[id]) && !levels_.late[id]) define(static_cast<ExprId>(id));
  for (size_t i = 0; i < nest_.stores.size(); ++i)
    if (level_is_inside_run(levels_.store[i]) && !nest_.stores[i].after_reduction)
      write_store(nest_.stores[i]);
  for (size_t r = 0; r < nest_.reductions.size(); ++r)
    if (!reads_memory_directly(nest_.reductions[r]))
      reduction_line(nest_.reductions[r],
                     fmt::format("{}[{}] = {};", block_[r], position, expression(nest_.reductions[r].value)),
                     false);
  value_ = std::move(before);  // names of this block end with it
}

// The address of the block's elements: its array, or the memory itself.
std::string KernelWriter::block_address(size_t r, const std::string& base) {
  const Reduction& reduction = nest_.reductions[r];
  if (!reads_memory_directly(reduction)) return block_[r];
  const int axis = reduction.order.run[0];
  const std::string saved = index_[axis];
  index_[axis] = base;
  const std::string address = "&" + element(nest_.exprs[reduction.value].access);
  index_[axis] = saved;
  return address;
}

// Adds a block of `count` elements to the accumulators; exact sums go through their tree when the run has
// several blocks.
void KernelWriter::combine_blocks(const std::string& count, const std::string& base,
                                  const std::vector<std::string>& trees) {
  for (size_t r = 0; r < nest_.reductions.size(); ++r) {
    const Reduction& reduction = nest_.reductions[r];
    const std::string values = block_address(r, base), total = accumulator_[r];
    std::string text;
    if (sums_exactly(reduction)) {
      text = trees.empty() ? fmt::format("{0} = {0} + pairwise_sum({1}, {2});", total, values, count)
                           : fmt::format("{}.add(pairwise_sum({}, {}));", trees[r], values, count);
    } else if (is_arg(reduction.op)) {
      text = fmt::format("reduce_{}({}, {}, {}, {}, {});", info(reduction.op).name, best_[r], total, values,
                         count, base);
    } else {
      const std::string zeros = tells_zeros_apart(reduction) ? ", " + zeros_[r] : "";
      text = fmt::format("{0} = reduce_{1}({0}, {2}, {3}{4});", total, info(reduction.op).name, values, count,
                         zeros);
    }
    reduction_line(reduction, text);
  }
}

// --- accumulators in memory --------------------------------------------------------------------------------
// The store of what the reduction gives; null when there is none.
const Store* KernelWriter::accumulator_store(size_t r) const {
  const Store* found = nullptr;
  for (const Store& store : nest_.stores) {
    const Expr& value = nest_.exprs[store.value];
    if (store.after_reduction && value.kind == Expr::Kind::kReduced && value.reduction == static_cast<int>(r))
      found = &store;
  }
  return found;
}

Status KernelWriter::write_accumulating_in_memory() {
  std::vector<const Store*> target;
  for (size_t r = 0; r < nest_.reductions.size(); ++r) target.push_back(accumulator_store(r));
  for (size_t r = 0; r < target.size(); ++r)
    if (!target[r] || is_arg(nest_.reductions[r].op))
      return Error::internal("codegen",
                             "a row reduction of " + group_.name + " has no buffer to accumulate in");

  const std::vector<bool> reduced = reduced_axes(nest_);
  size_t kept = 0;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis]) continue;
    open_loop(axis);
    ++kept;
  }
  for (size_t r = 0; r < target.size(); ++r)
    reduction_line(nest_.reductions[r],
                   fmt::format("{} = {};", element(target[r]->access), identity(nest_.reductions[r])));
  for (size_t i = 0; i < kept; ++i) out_.close();

  const size_t run_begin = short_rows_ ? short_rows_->first : nest_.reductions.front().order.outer.size();
  for (size_t axis = 0; axis < run_begin; ++axis) {
    if (axis + 1 == nest_.extents.size()) forbid_masked_lanes(extent(axis));
    open_loop(axis);
    write_level(axis + 1);
  }
  if (short_rows_) {
    write_short_rows();
  } else if (nest_.reductions.front().order.run.empty()) {
    for (size_t r = 0; r < target.size(); ++r) {
      const std::string total = element(target[r]->access);
      reduction_line(nest_.reductions[r], fmt::format("{} = {};", total,
                                                      combined(nest_.reductions[r], total,
                                                               expression(nest_.reductions[r].value))));
    }
  } else {  // the sums of runs are added to memory one after the other
    for (size_t r = 0; r < target.size(); ++r)
      reduction_line(nest_.reductions[r], fmt::format("{} {} = {};", type_name(nest_.reductions[r].dtype),
                                                      accumulator_[r], element(target[r]->access)));
    for (size_t r = 0; r < target.size(); ++r) declare_zeros(r);
    write_run();
    for (size_t r = 0; r < target.size(); ++r) report_zeros(r);
    for (size_t r = 0; r < target.size(); ++r)
      reduction_line(nest_.reductions[r],
                     fmt::format("{} = {};", element(target[r]->access), accumulator_[r]));
  }
  for (size_t axis = 0; axis < run_begin; ++axis) out_.close();
  return ok_status();
}

}  // namespace suture
