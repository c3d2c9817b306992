// Loops whose last axes are short: points in space, colours, small matrices.
//
// How it works
//   A loop over 3 elements fills no vector, and with masked lanes it would set flags for elements that do not
//   exist. So the short axes and the one around them become one loop `k` over a block of rows:
//     for (first = 0; first < n; first += 168)             168 rows of 3 at a time
//       for (k = 0; k < 3 * rows; ++k)                     one long loop
//         out[3 * first + k] = in0[3 * first + k] / s_rows[k];
//   What lies in that order is read in place. Anything else is first copied into an array on the stack, a
//   block at a time; a value that all rows share (s) once for all blocks. Values that are reduced are put into
//   such an array too, and the reductions follow row by row: of each row when the short axes are reduced, into
//   the memory of the results when they are kept.
// Invariants
//   - Every store of an element is in the order of the block, and no store goes into an input.
//   - A value that depends on the long axis only is computed for each element of its row: the same value, and
//     the same flags.
//   - Reductions see the same values in the same order as without blocks.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "codegen/kernel_writer.h"
#include "loop/conditions.h"
#include "schedule/fuse_nests.h"

namespace suture {
namespace {

constexpr int64_t kShortRow = 16;  // rows of so many elements have loops of their own
constexpr int64_t kBlockElements = 512;
constexpr int64_t kFewElements = 64;  // not worth a block
constexpr size_t kMostBlocks = 8;     // arrays on the stack

}  // namespace

bool KernelWriter::in_block_order(const Access& access, size_t first) const {
  SymInt expected = 1;
  for (size_t axis = nest_.extents.size(); axis-- > first;) {
    if (!(access.strides[axis] == expected)) return false;
    expected = expected * extent(axis);
  }
  return true;
}

// Reductions are either of short axes alone, or keep them all and add up rows.
bool KernelWriter::reduces_rows_or_keeps_them(size_t first) const {
  if (nest_.reductions.empty()) return true;
  const ReduceOrder& order = nest_.reductions.front().order;
  if (!reduces_innermost(nest_)) return order.run.empty();
  const std::vector<bool> reduced = reduced_axes(nest_);
  const bool outer_is_kept = std::none_of(
      reduced.begin(), reduced.begin() + static_cast<ptrdiff_t>(order.outer.size()), std::identity());
  return outer_is_kept && order.outer.size() > first && needs_blocks();
}

void KernelWriter::find_short_rows() {
  if (nest_.extents.empty()) return;
  size_t first = nest_.extents.size() - 1;
  int64_t row = 1;
  for (; first > 0; --first) {
    const auto size = extent(first).constant();
    if (!size || *size < 1 || row * *size >= kShortRow) break;
    row *= *size;
  }
  const auto rows = extent(first).constant();
  if (row == 1 || (rows && *rows * row < kFewElements) || !reduces_rows_or_keeps_them(first)) return;
  ShortRows found{first, row, kBlockElements / row / 8 * 8, std::vector<bool>(nest_.exprs.size(), false), {}};
  const std::vector<bool> element = element_level(nest_);
  size_t blocks = nest_.reductions.size();
  for (size_t id = 0; id < nest_.exprs.size(); ++id) {
    const Expr& expr = nest_.exprs[id];
    found.inside[id] = levels_.expr[id] > first && element[id] && !levels_.late[id];
    if (!found.inside[id]) continue;
    if (expr.kind == Expr::Kind::kAxis) return;
    blocks += expr.kind == Expr::Kind::kLoad && !in_block_order(expr.access, first);
  }
  if (blocks > kMostBlocks) return;
  for (size_t i = 0; i < nest_.stores.size(); ++i) {
    const Store& store = nest_.stores[i];
    if (schedule_.buffers[store.access.buffer].kind == Buffer::Kind::kInput) return;
    if (store_inside_rows(store, first) && !in_block_order(store.access, first)) return;
  }
  short_rows_ = std::move(found);
}

bool KernelWriter::store_inside_rows(const Store& store, size_t first) const {
  return !store.after_reduction && levels_.store[static_cast<size_t>(&store - nest_.stores.data())] > first;
}

// The element of the block that `k` is at.
std::string KernelWriter::block_element(const Access& access) const {
  Access flat = access;
  for (size_t axis = short_rows_->first + 1; axis + 1 < flat.strides.size(); ++axis) flat.strides[axis] = 0;
  return element(flat);
}

// Before a loop over `size` elements that is none of a block: compilers mask the lanes of a vector that have no
// element. They compute on zeros, and what that signals would count.
void KernelWriter::forbid_masked_lanes(const SymInt& size) {
  const auto count = size.constant();
  if (!count || *count >= kShortRow) return;
  if (*count == 4 || *count == 8) return;  // fill a vector
  for (const Expr& expr : nest_.exprs)
    if (can_signal_for_zeros(nest_, expr)) return out_.line("#pragma clang loop vectorize(disable)");
}

// Copies what is loaded into its array, in the order of the block.
void KernelWriter::fill_rows(ExprId id, const std::string& rows) {
  const Expr& expr = nest_.exprs[id];
  const size_t first = short_rows_->first;
  const std::vector<std::string> indices = index_;
  const std::string base = index_[first], r = names_.unique("r");
  out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", r, rows));
  std::string position;
  int64_t size = short_rows_->row;
  index_[first] = base.empty() ? r : base + " + " + r;
  position = fmt::format("{} * {}", size, r);
  for (size_t axis = first + 1; axis < index_.size(); ++axis) {
    index_[axis] = names_.unique("j");
    out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", index_[axis], cpp(extent(axis))));
    size /= *extent(axis).constant();
    position += size == 1 ? " + " + index_[axis] : fmt::format(" + {} * {}", size, index_[axis]);
  }
  out_.line(fmt::format("{}[{}] = {};", short_rows_->block[id], position, element(expr.access)),
            comment(expr.where, ""));
  note(expr);
  for (size_t axis = first; axis < index_.size(); ++axis) out_.close();
  index_ = indices;
}

bool KernelWriter::shared_by_rows(const Access& access) const {
  return access.strides[short_rows_->first] == SymInt(0);
}

// Declares the arrays of a block.
std::vector<ExprId> KernelWriter::declare_rows() {
  const int64_t size = short_rows_->row * short_rows_->count;
  short_rows_->block.assign(nest_.exprs.size(), "");
  std::vector<ExprId> copied;
  for (size_t id = 0; id < nest_.exprs.size(); ++id) {
    const Expr& expr = nest_.exprs[id];
    if (!short_rows_->inside[id] || expr.kind != Expr::Kind::kLoad ||
        in_block_order(expr.access, short_rows_->first))
      continue;
    short_rows_->block[id] = names_.unique(stem(expr) + "_rows");
    copied.push_back(static_cast<ExprId>(id));
    out_.line(fmt::format("{} {}[{}];", info(expr.dtype).c_type, short_rows_->block[id], size));
  }
  for (size_t r = 0; r < nest_.reductions.size(); ++r)
    if (const Reduction& reduction = nest_.reductions[r]; !reads_memory_directly(reduction))
      reduction_line(reduction,
                     fmt::format("{} {}[{}];", info(reduction.value_dtype).c_type, block_[r], size), false);
  return copied;
}

// The loop over the elements of a block.
void KernelWriter::write_elements_of_rows(const std::string& rows) {
  const std::vector<std::string> before = value_;
  const std::string last = index_.back();
  index_.back() = names_.unique("k");
  out_.open(
      fmt::format("for (int64_t {0} = 0; {0} < {1} * {2}; ++{0})", index_.back(), short_rows_->row, rows));
  walking_rows_ = true;
  for (size_t id = 0; id < nest_.exprs.size(); ++id)
    if (short_rows_->inside[id]) define(static_cast<ExprId>(id));
  for (const Store& store : nest_.stores)
    if (store_inside_rows(store, short_rows_->first)) write_store(store);
  for (size_t r = 0; r < nest_.reductions.size(); ++r)
    if (const Reduction& reduction = nest_.reductions[r]; !reads_memory_directly(reduction))
      reduction_line(reduction,
                     fmt::format("{}[{}] = {};", block_[r], index_.back(), expression(reduction.value)),
                     false);
  walking_rows_ = false;
  out_.close();
  index_.back() = last;
  value_ = before;  // names of this loop end with it
}

// Opens loops over the axes behind the long one and before `last`; the position of their element in the block.
std::string KernelWriter::open_loops_of_row(size_t last) {
  std::string position = fmt::format("{} * {}", short_rows_->row, short_rows_->position);
  int64_t size = short_rows_->row;
  for (size_t axis = short_rows_->first + 1; axis < last; ++axis) {
    open_loop(axis);
    size /= *extent(axis).constant();
    position += size == 1 ? " + " + index_[axis] : fmt::format(" + {} * {}", size, index_[axis]);
  }
  return position;
}

void KernelWriter::close_loops_of_row(size_t last) {
  for (size_t axis = short_rows_->first + 1; axis < last; ++axis) out_.close();
}

// Each run of the row is reduced, and what follows its reductions is done.
void KernelWriter::reduce_each_row() {
  const size_t kept = nest_.reductions.front().order.outer.size();
  int64_t length = 1;
  for (size_t axis = kept; axis < index_.size(); ++axis) length *= *extent(axis).constant();
  const std::string position = open_loops_of_row(kept);
  declare_accumulators();
  const std::vector<std::string> blocks = block_;
  for (std::string& block : block_) block = fmt::format("({} + {})", block, position);
  combine_blocks(std::to_string(length), "0", {});
  block_ = blocks;
  write_late();
  close_loops_of_row(kept);
}

// Each element of the row is added to its result in memory.
void KernelWriter::add_each_row() {
  const std::string position = open_loops_of_row(index_.size());
  for (size_t r = 0; r < nest_.reductions.size(); ++r) {
    const Reduction& reduction = nest_.reductions[r];
    const std::string total = element(accumulator_store(r)->access);
    const std::string value = reads_memory_directly(reduction) ? element(nest_.exprs[reduction.value].access)
                                                               : fmt::format("{}[{}]", block_[r], position);
    reduction_line(reduction, fmt::format("{} = {};", total, combined(reduction, total, value)));
  }
  close_loops_of_row(index_.size());
}

void KernelWriter::write_reductions_of_rows(const std::string& rows) {
  const size_t axis = short_rows_->first;
  const std::string at = index_[axis];
  short_rows_->position = names_.unique("r");
  out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", short_rows_->position, rows));
  index_[axis] = at + " + " + short_rows_->position;
  const std::vector<std::string> before = value_;
  reduces_innermost(nest_) ? reduce_each_row() : add_each_row();
  value_ = before;
  index_[axis] = at;
  out_.close();
}

void KernelWriter::write_short_rows() {
  const size_t axis = short_rows_->first;
  const int64_t count = short_rows_->count;
  const std::string total = cpp(extent(axis)), rows = names_.unique("rows"), at = index_[axis];
  const std::vector<ExprId> copied = declare_rows();
  index_[axis].clear();
  for (ExprId id : copied)
    if (shared_by_rows(nest_.exprs[id].access))
      fill_rows(id, fmt::format("({0} < {1} ? {0} : {1})", total, count));
  index_[axis] = at;
  out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", at, total, count),
            fmt::format("{} rows of {} at a time", count, short_rows_->row));
  out_.line(fmt::format("const int64_t {0} = {1} - {2} < {3} ? {1} - {2} : {3};", rows, total, at, count));
  for (ExprId id : copied)
    if (!shared_by_rows(nest_.exprs[id].access)) fill_rows(id, rows);
  write_elements_of_rows(rows);
  if (!nest_.reductions.empty()) write_reductions_of_rows(rows);
  out_.close();
}

}  // namespace suture
