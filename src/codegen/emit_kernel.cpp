// The frame of a kernel: arguments, header comment, loops of elementwise nests, and the entry with the C
// calling convention.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "codegen/kernel_writer.h"
#include "schedule/fuse_nests.h"

namespace suture {
namespace {

bool contains(const std::vector<BufferId>& ids, BufferId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

KernelWriter::KernelWriter(const KernelGroup& group, const Schedule& schedule, const Graph& graph,
                           const CodegenOptions& options)
    : group_(group), nest_(group.nest), schedule_(schedule), graph_(graph), options_(options) {}

Result<std::string> KernelWriter::run() {
  for (size_t axis = 0; axis < nest_.extents.size(); ++axis) {
    index_.push_back(fmt::format("i{}", axis));
    names_.reserve(index_.back());
  }
  collect_arguments();
  collect_symbols();
  assign_levels();
  SUTURE_TRY_VOID(check_levels());
  find_conditions_of_nest();
  value_.assign(nest_.exprs.size(), "");

  write_header();
  std::string parameters;
  for (BufferId id : arguments_) parameters += (parameters.empty() ? "" : ", ") + parameter(id);
  for (SymbolId symbol : symbols_)
    parameters += (parameters.empty() ? "" : ", ") + ("int64_t " + symbol_name_[symbol]);
  out_.open(fmt::format("static inline uint32_t {}({})", group_.name, parameters));
  out_.line("uint32_t status = 0;");
  if (std::any_of(conditions_.hidden.begin(), conditions_.hidden.end(), [](int at) { return at >= 0; }))
    out_.line("const uint64_t nothing = opaque(uint64_t(0));");
  if (keeps_f64_) out_.line("uint64_t kept_f64 = 0;");
  if (keeps_f32_) out_.line("uint32_t kept_f32 = 0;");
  if (nest_.reductions.empty()) {
    write_elementwise();
  } else {
    SUTURE_TRY_VOID(write_reductions());
  }
  if (keeps_f64_) out_.line("op_use(kept_f64);");
  if (keeps_f32_) out_.line("op_use(kept_f32);");
  out_.line("return status;");
  out_.close();
  write_entry();
  return out_.take();
}

// Read-only buffers first, then written ones, each in order of first use.
void KernelWriter::collect_arguments() {
  std::vector<BufferId> written, read;
  for (const Store& store : nest_.stores)
    if (!contains(written, store.access.buffer)) written.push_back(store.access.buffer);
  for (const Expr& expr : nest_.exprs)
    if (expr.kind == Expr::Kind::kLoad && !contains(written, expr.access.buffer) &&
        !contains(read, expr.access.buffer))
      read.push_back(expr.access.buffer);
  arguments_ = read;
  arguments_.insert(arguments_.end(), written.begin(), written.end());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const bool input = i < read.size();
    const size_t number = input ? i : i - read.size();
    const std::string stem =
        fmt::format("{}{}_{}", input ? "in" : "out", number, schedule_.buffers[arguments_[i]].name);
    argument_name_[arguments_[i]] = names_.unique(stem);
  }
}

void KernelWriter::collect_symbols() {
  std::vector<SymbolId> used;
  const auto collect = [&](const SymInt& value) { value.collect_symbols(used); };
  for (const SymInt& value : nest_.extents) collect(value);
  const auto collect_access = [&](const Access& access) {
    collect(access.offset);
    for (const SymInt& stride : access.strides) collect(stride);
  };
  for (const Expr& expr : nest_.exprs) {
    if (expr.kind == Expr::Kind::kLoad) collect_access(expr.access);
    if (expr.kind == Expr::Kind::kSymbol) collect(expr.sym);
  }
  for (const Store& store : nest_.stores) collect_access(store.access);
  const std::set<SymbolId> unique(used.begin(), used.end());
  symbols_.assign(unique.begin(), unique.end());
  const std::vector<SymbolInfo>& known = schedule_.env.symbols();
  for (const SymbolInfo& symbol : known) symbol_name_.push_back(symbol.name);
  for (SymbolId id : symbols_) symbol_name_[id] = names_.unique(symbol_name_[id]);
}

// Expressions of the kept level: what follows the reductions, and what that needs.
std::vector<bool> KernelWriter::needed_after_reductions() const {
  std::vector<bool> needed = levels_.late;
  for (const Store& store : nest_.stores)
    if (store.after_reduction) needed[store.value] = true;
  for (size_t id = needed.size(); id-- > 0;)
    if (needed[id])
      for (ExprId operand : nest_.exprs[id].operands) needed[operand] = true;
  return needed;
}

// Where the indices are known that an access needs. Memory is touched in loops only that have an iteration: an
// empty array has no element to load or store, so no access leaves a loop that may be empty.
void KernelWriter::assign_levels() {
  const std::vector<bool> reduced = reduced_axes(nest_);
  size_t may_be_empty = 0, kept_may_be_empty = 0;  // levels inside the last such loop
  for (size_t axis = 0; axis < nest_.extents.size(); ++axis) {
    if (schedule_.env.range(extent(axis)).lo > 0) continue;
    may_be_empty = axis + 1;
    if (!reduced[axis]) kept_may_be_empty = axis + 1;
  }
  const auto access_level = [](const Access& access, size_t least) {
    size_t level = least;
    for (size_t axis = least; axis < access.strides.size(); ++axis)
      if (!(access.strides[axis] == SymInt(0))) level = axis + 1;
    return level;
  };
  for (const Expr& expr : nest_.exprs) {
    bool late = expr.kind == Expr::Kind::kReduced;
    for (ExprId operand : expr.operands) late = late || levels_.late[operand];
    levels_.late.push_back(late);
  }
  const std::vector<bool> kept = needed_after_reductions();
  for (size_t id = 0; id < nest_.exprs.size(); ++id) {
    const Expr& expr = nest_.exprs[id];
    size_t level = 0;
    if (expr.kind == Expr::Kind::kLoad)
      level = access_level(expr.access, kept[id] ? kept_may_be_empty : may_be_empty);
    if (expr.kind == Expr::Kind::kAxis) level = static_cast<size_t>(expr.axis + 1);
    for (ExprId operand : expr.operands) level = std::max(level, levels_.expr[operand]);
    levels_.expr.push_back(level);
  }
  for (const Store& store : nest_.stores)
    levels_.store.push_back(
        std::max(levels_.expr[store.value],
                 access_level(store.access, store.after_reduction ? kept_may_be_empty : may_be_empty)));
}

void KernelWriter::find_conditions_of_nest() {
  conditions_ = find_conditions(nest_, levels_);
  const auto note = [&](DType dtype) { (dtype == DType::kFloat32 ? keeps_f32_ : keeps_f64_) = true; };
  for (size_t id = 0; id < nest_.exprs.size(); ++id)
    if (conditions_.kept[id]) note(nest_.exprs[id].dtype);
  for (size_t r = 0; r < nest_.reductions.size(); ++r)
    if (conditions_.kept_reduction[r]) note(nest_.reductions[r].dtype);
}

// A law of fused nests: what runs per element never waits for a reduction.
Status KernelWriter::check_levels() const {
  bool broken = false;
  for (const Store& store : nest_.stores)
    broken = broken || (levels_.late[store.value] && !store.after_reduction);
  for (const Reduction& reduction : nest_.reductions) broken = broken || levels_.late[reduction.value];
  if (broken)
    return Error::internal("codegen", "an element of " + group_.name + " depends on its own reduction");
  return ok_status();
}

std::string KernelWriter::cpp(const SymInt& value) const {
  const std::string text = value.cpp(symbol_name_);
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

// `restrict` only where nothing else can point into the memory: fresh arrays, and inputs that this kernel
// does not write. A kernel that writes into an input leaves all inputs unmarked.
std::string KernelWriter::parameter(BufferId id) const {
  const auto writes_input = std::any_of(nest_.stores.begin(), nest_.stores.end(), [&](const Store& store) {
    return schedule_.buffers[store.access.buffer].kind == Buffer::Kind::kInput;
  });
  const Buffer& buffer = schedule_.buffers[id];
  const bool written = std::any_of(nest_.stores.begin(), nest_.stores.end(),
                                   [&](const Store& store) { return store.access.buffer == id; });
  const bool alone = buffer.kind != Buffer::Kind::kInput || !writes_input;
  return fmt::format("{}{}*{} {}", written ? "" : "const ", info(buffer.dtype).c_type,
                     alone ? " __restrict__" : "", argument_name_.at(id));
}

void KernelWriter::write_header() {
  std::string ops;
  for (const std::string& op : group_.ops) ops += (ops.empty() ? "" : ", ") + op;
  out_.line("", fmt::format("{}: {}", group_.name, ops));
  std::map<std::pair<std::string, int>, std::pair<UserSpan, std::vector<std::string>>> lines;
  for (NodeId id : nest_.nodes) {
    const Node& node = graph_.node(id);
    if (!node.where.known()) continue;
    auto& [where, targets] = lines[{node.where.file, node.where.line}];
    where = node.where;
    const std::string target = node.target.empty() ? std::string(info(node.op).name) : node.target;
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
  }
  for (const auto& [place, entry] : lines) {
    std::string targets;
    for (const std::string& target : entry.second) targets += (targets.empty() ? "" : ", ") + target;
    std::string source = options_.source_line ? options_.source_line(entry.first) : "";
    source.erase(0, source.find_first_not_of(" \t"));
    source.erase(source.find_last_not_of(" \t") + 1);
    out_.line("",
              fmt::format("  {}{}", comment(entry.first, targets), source.empty() ? "" : "    " + source));
  }
}

void KernelWriter::write_entry() {
  std::string arguments;
  const auto append = [&](const std::string& text) { arguments += (arguments.empty() ? "" : ", ") + text; };
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const std::string type = parameter(arguments_[i]);
    const std::string pointer = type.substr(0, type.find('*') + 1);
    append(fmt::format("static_cast<{}>(buffers[{}])", pointer, i));
  }
  for (size_t i = 0; i < symbols_.size(); ++i) append(fmt::format("sizes[{}]", i));
  out_.open(fmt::format("extern \"C\" uint32_t {}(void* const* buffers, const int64_t* sizes)", group_.name));
  if (symbols_.empty()) out_.line("(void)sizes;");
  if (arguments_.empty()) out_.line("(void)buffers;");
  out_.line(fmt::format("return {}({});", group_.name, arguments));
  out_.close();
}

void KernelWriter::open_loop(size_t axis) {
  out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", index_[axis], cpp(extent(axis))));
}

void KernelWriter::write_level(size_t level) {
  for (size_t id = 0; id < nest_.exprs.size(); ++id)
    if (levels_.expr[id] == level && !levels_.late[id]) define(static_cast<ExprId>(id));
  for (size_t i = 0; i < nest_.stores.size(); ++i)
    if (levels_.store[i] == level && !levels_.late[nest_.stores[i].value] && !nest_.stores[i].after_reduction)
      write_store(nest_.stores[i]);
}

void KernelWriter::write_elementwise() {
  find_short_rows();
  const size_t loops = short_rows_ ? short_rows_->first : nest_.extents.size();
  write_level(0);
  for (size_t axis = 0; axis < loops; ++axis) {
    if (axis + 1 == nest_.extents.size()) forbid_masked_lanes(extent(axis));
    open_loop(axis);
    write_level(axis + 1);
  }
  if (short_rows_) write_short_rows();
  for (size_t axis = 0; axis < loops; ++axis) out_.close();
}

}  // namespace suture
