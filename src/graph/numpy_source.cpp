// A graph as runnable NumPy: one statement per node, spelled so that NumPy does exactly what the user's code
// did.
//
// How it works: the spelling of a call decides which code path of NumPy or Python runs, and with it messages,
// warnings and where they point: `a + b` on scalars is scalar math, `np.add(a, b)` is the ufunc, `x.mean()`
// warns at the caller and `np.mean(x)` inside NumPy. So captured nodes are printed as they were written
// (spelling_of); lowered nodes, whose targets are inherited, are printed by the op table alone. Constants and
// symbols are written into the expressions. An in-place operator is two nodes (the operation and its store
// with the same target), and so is a call with out=; they are printed as the one statement `x += y` or
// `np.add(a, b, out=x)`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/comment_text.h"
#include "graph/print.h"
#include "graph/text_reader.h"
#include "ops/operators.h"

namespace suture {

namespace {

std::string dtype_text(DType dtype) {
  if (is_bool(dtype)) return "np.bool_";
  return fmt::format("np.{}", info(dtype).numpy_name);
}

std::string tuple_text(const std::vector<std::string>& items) {
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

std::string float_literal(double value) {
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value < 0 ? "float('-inf')" : "float('inf')";
  return text_of(value);
}

std::string number_literal(const Scalar& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "True" : "False";
  if (const int64_t* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const uint64_t* u = std::get_if<uint64_t>(&value)) return std::to_string(*u);
  return float_literal(std::get<double>(value));
}

std::string constant_text(const Node& node) {
  std::string number = number_literal(*node.attrs.scalar);
  switch (node.type.value_class) {
    case ValueClass::kArray:
      return fmt::format("np.array({}, dtype={})", number, dtype_text(node.type.dtype));
    case ValueClass::kNumpyScalar: return fmt::format("{}({})", dtype_text(node.type.dtype), number);
    // Parentheses: -1 ** 2 is not (-1) ** 2.
    default: return number[0] == '-' ? "(" + number + ")" : number;
  }
}

bool writes_in_place(const Node& store, const Node& operation) {
  return spelling_of(store) == Spelling::kInPlace && operation.operands.size() == 2 &&
         !operator_symbol(operation.op).empty() && operation.operands[0] == store.operands[0];
}

// Printed as a call of a NumPy function that takes out=.
bool has_out(const Node& operation) {
  const OpInfo& op = info(operation.op);
  bool function =
      op.kind == OpKind::Elementwise && !op.numpy.empty() && spelling_of(operation) == Spelling::kFunction;
  return function && op.id != OpId::kWhere && op.id != OpId::kCopy && !operation.attrs.value_class;
}

class SourceWriter {
 public:
  explicit SourceWriter(const Graph& graph) : graph_(graph), hints_(graph.env.hints()) {
    for (const SymbolInfo& symbol : graph.env.symbols()) symbol_names_.push_back(symbol.name);
  }
  NumpySource write();

 private:
  // Text of values
  std::string value(NodeId id);
  std::string operand(const Node& node, size_t i) { return value(node.operands[i]); }
  std::string size(const SymInt& e);
  std::string sizes(const std::vector<SymInt>& dims);
  bool as_written(const Node& node) const {
    return graph_.level == Graph::Level::kCaptured || has_python_semantics(graph_, node);
  }

  // Text of calls
  std::string call(const Node& node);
  std::string elementwise(const Node& node);
  std::string conversion(const Node& node);
  std::string reduction(const Node& node);
  std::string view(const Node& node);
  std::string slice(const Node& node);
  std::string slice_item(const IndexItem& item);
  std::string creation(const Node& node);
  std::string with_layout(const Node& node, const std::string& filled_with);
  std::string arange(const Node& node);

  // Statements
  const Node* stored_operation(const Node& store) const;
  void statement(const Node& node);
  void line(std::string text, const UserSpan& where, NodeId node);
  std::string imports() const;
  std::string signature(const NumpySource& source);
  void read_sizes(NumpySource& source);

  const Graph& graph_;
  std::vector<int64_t> hints_;
  std::vector<std::string> symbol_names_;
  std::set<SymbolId> symbols_used_;
  std::set<NodeId> printed_with_store_;
  NumpySource body_;
};

std::string SourceWriter::size(const SymInt& e) {
  std::vector<SymbolId> used;
  e.collect_symbols(used);
  symbols_used_.insert(used.begin(), used.end());
  return e.python(symbol_names_);
}

std::string SourceWriter::sizes(const std::vector<SymInt>& dims) {
  std::vector<std::string> items;
  for (const SymInt& dim : dims) items.push_back(size(dim));
  return tuple_text(items);
}

std::string SourceWriter::value(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.op == OpId::kStore) return value(node.operands[0]);
  if (node.op == OpId::kConstant) return constant_text(node);
  if (node.op != OpId::kSymbolValue) return node.name;
  std::string text = size(node.attrs.sym);
  return node.attrs.sym.as_symbol() ? text : "(" + text + ")";
}

std::string SourceWriter::elementwise(const Node& node) {
  std::string_view symbol = operator_symbol(node.op);
  Spelling spelling = spelling_of(node);
  bool operator_written = spelling == Spelling::kOperator || spelling == Spelling::kInPlace;
  if (as_written(node) && operator_written && !symbol.empty()) {
    if (node.operands.size() == 1) return fmt::format("{}{}", symbol, operand(node, 0));
    return fmt::format("{} {} {}", operand(node, 0), symbol, operand(node, 1));
  }
  // abs(x) of a NumPy scalar warns where np.abs(x) does not, and of a Python number it is one; the method cannot
  // be shadowed by a name of the user's.
  if (as_written(node) && node.op == OpId::kAbsolute && node.target == "abs") {
    const bool literal = graph_.node(node.operands[0]).op == OpId::kConstant;
    const std::string x = operand(node, 0);
    return (literal ? "(" + x + ")" : x) + ".__abs__()";
  }
  if (as_written(node) && node.attrs.value_class && is_weak(*node.attrs.value_class)) {
    std::vector<std::string> builtin_args;
    for (size_t i = 0; i < node.operands.size(); ++i) builtin_args.push_back(operand(node, i));
    return fmt::format("{}({})", node.target, fmt::join(builtin_args, ", "));
  }
  std::vector<std::string> args;
  for (size_t i = 0; i < node.operands.size(); ++i) args.push_back(operand(node, i));
  if (node.op == OpId::kClip && !node.attrs.has_min) args.insert(args.begin() + 1, "None");
  if (node.op == OpId::kClip && !node.attrs.has_max) args.push_back("None");
  if (node.op == OpId::kRound) args.push_back(std::to_string(node.attrs.decimals));
  return fmt::format("{}({})", info(node.op).numpy, fmt::join(args, ", "));
}

std::string SourceWriter::conversion(const Node& node) {
  const TensorType& from = graph_.node(node.operands[0]).type;
  std::string x = operand(node, 0), dtype = dtype_text(node.type.dtype);
  switch (node.type.value_class) {
    case ValueClass::kPyFloat: return fmt::format("float({})", x);
    case ValueClass::kPyInt: return fmt::format("int({})", x);
    case ValueClass::kPyBool: return fmt::format("bool({})", x);
    case ValueClass::kNumpyScalar:
      return node.attrs.checked ? fmt::format("{}(int({}))", dtype, x) : fmt::format("{}({})", dtype, x);
    case ValueClass::kArray: break;
  }
  if (from.scalar()) return fmt::format("np.array({}, dtype={})", x, dtype);
  char order = "CFKA"[static_cast<size_t>(node.attrs.order)];
  if (node.op == OpId::kCast) return fmt::format("{}.astype({}, order='{}')", x, dtype, order);
  return fmt::format("{}.copy(order='{}')", x, order);
}

std::string SourceWriter::reduction(const Node& node) {
  const Attrs& attrs = node.attrs;
  std::string args = "axis=None";
  if (!attrs.all_axes && attrs.axes.size() == 1) args = fmt::format("axis={}", attrs.axes[0]);
  if (!attrs.all_axes && attrs.axes.size() != 1) args = fmt::format("axis=({})", fmt::join(attrs.axes, ", "));
  if (attrs.dtype) args += ", dtype=" + dtype_text(*attrs.dtype);
  if (attrs.ddof != 0) {
    bool whole = attrs.ddof == std::floor(attrs.ddof) && std::fabs(attrs.ddof) < 1e15;
    args +=
        ", ddof=" + (whole ? std::to_string(static_cast<int64_t>(attrs.ddof)) : float_literal(attrs.ddof));
  }
  if (attrs.keepdims) args += ", keepdims=True";
  if (as_written(node) && spelling_of(node) == Spelling::kMethod) {
    return fmt::format("{}.{}({})", operand(node, 0), info(node.op).name, args);
  }
  return fmt::format("{}({}, {})", info(node.op).numpy, operand(node, 0), args);
}

std::string SourceWriter::slice_item(const IndexItem& item) {
  if (item.kind == IndexItem::Kind::kNewAxis) return "None";
  if (item.kind == IndexItem::Kind::kInt) return size(item.start);
  if (item.length == SymInt(0)) return "0:0";
  SymInt stop = item.start + item.length * item.step;
  std::string stop_text = size(stop);
  if (item.step.evaluate(hints_).value_or(1) < 0) {
    // One before the first element is written as a missing stop.
    std::optional<bool> inside = graph_.env.proves(Relation::kLe, 0, stop);
    if (!inside) stop_text = fmt::format("({0} if {0} >= 0 else None)", stop_text);
    if (inside == false) stop_text = "";
  }
  std::string text = fmt::format(
      "{}:{}", item.start == SymInt(0) && item.step == SymInt(1) ? "" : size(item.start), stop_text);
  return item.step == SymInt(1) ? text : text + ":" + size(item.step);
}

std::string SourceWriter::slice(const Node& node) {
  std::vector<std::string> items;
  for (const IndexItem& item : node.attrs.index) items.push_back(slice_item(item));
  if (node.attrs.ellipsis) items.push_back("...");
  return fmt::format("{}[{}]", operand(node, 0),
                     items.empty() ? "()" : fmt::format("{}", fmt::join(items, ", ")));
}

std::string SourceWriter::view(const Node& node) {
  std::string x = operand(node, 0);
  std::vector<std::string> axes;
  for (int axis : node.attrs.axes) axes.push_back(std::to_string(axis));
  switch (node.op) {
    case OpId::kSlice: return slice(node);
    case OpId::kReshape: return fmt::format("{}.reshape({})", x, sizes(node.attrs.dims));
    case OpId::kTranspose: return fmt::format("{}.transpose({})", x, tuple_text(axes));
    case OpId::kExpandDims: return fmt::format("np.expand_dims({}, {})", x, tuple_text(axes));
    case OpId::kSqueeze: return fmt::format("{}.squeeze({})", x, tuple_text(axes));
    default: return fmt::format("np.broadcast_to({}, {})", x, sizes(node.attrs.dims));
  }
}

// A new array whose axes are not in C or F order is made like one in C order with permuted axes that is
// transposed: it keeps the order and owns its memory.
std::string SourceWriter::with_layout(const Node& node, const std::string& filled_with) {
  std::string function = std::string(info(node.op).numpy);
  std::string tail = filled_with + ", dtype=" + dtype_text(node.type.dtype);
  const Attrs& attrs = node.attrs;
  if (attrs.strides.empty()) {
    return fmt::format("{}({}{}, order='{}')", function, sizes(attrs.dims), tail,
                       attrs.order == Order::kF ? 'F' : 'C');
  }
  std::vector<size_t> outer_first(attrs.dims.size());
  std::iota(outer_first.begin(), outer_first.end(), size_t{0});
  std::sort(outer_first.begin(), outer_first.end(), [&](size_t a, size_t b) {
    const auto x = attrs.strides[a].evaluate(hints_), y = attrs.strides[b].evaluate(hints_);
    return x != y ? x > y : a < b;
  });
  std::vector<SymInt> dims;
  std::vector<std::string> back(attrs.dims.size());
  for (size_t i = 0; i < outer_first.size(); ++i) {
    dims.push_back(attrs.dims[outer_first[i]]);
    back[outer_first[i]] = std::to_string(i);
  }
  if (std::is_sorted(outer_first.begin(), outer_first.end()))
    return fmt::format("{}({}{})", function, sizes(dims), tail);
  return fmt::format("{}_like(np.empty({}).transpose({}){})", function, sizes(dims), tuple_text(back), tail);
}

// NumPy computes the length from start, stop and step; the stop is chosen so that it gets attrs.dims[0] back.
std::string SourceWriter::arange(const Node& node) {
  std::string start = operand(node, 0), step = operand(node, 1), count = "(" + size(node.attrs.dims[0]) + ")";
  bool whole = !is_float(graph_.node(node.operands[0]).type.dtype) &&
               !is_float(graph_.node(node.operands[1]).type.dtype);
  if (!whole) count = "(" + count + " - 0.5)";
  return fmt::format("np.arange({0}, {0} + {2} * {1}, {1}, dtype={3})", start, step, count,
                     dtype_text(node.type.dtype));
}

std::string SourceWriter::creation(const Node& node) {
  // C functions; np.full is one of Python, with a frame of its own in tracebacks.
  const bool zeros_or_ones =
      node.op == OpId::kFull && (node.target == "np.zeros" || node.target == "np.ones");
  if (zeros_or_ones && as_written(node) && node.attrs.strides.empty())
    return fmt::format("{}({}, dtype={}, order='{}')", node.target, sizes(node.attrs.dims),
                       dtype_text(node.type.dtype), node.attrs.order == Order::kF ? 'F' : 'C');
  switch (node.op) {
    case OpId::kFull: return with_layout(node, ", " + operand(node, 0));
    case OpId::kEmpty: return with_layout(node, "");
    case OpId::kArange: return arange(node);
    default: break;
  }
  std::string dtype = node.attrs.dtype ? ", dtype=" + dtype_text(*node.attrs.dtype) : "";
  return fmt::format("np.linspace({}, {}, {}, endpoint={}{})", operand(node, 0), operand(node, 1),
                     size(node.attrs.dims[0]), node.attrs.endpoint ? "True" : "False", dtype);
}

std::string SourceWriter::call(const Node& node) {
  switch (info(node.op).kind) {
    case OpKind::Elementwise:
      return node.op == OpId::kCast || node.op == OpId::kCopy ? conversion(node) : elementwise(node);
    case OpKind::Reduce: return reduction(node);
    case OpKind::View: return view(node);
    case OpKind::Create: return creation(node);
    default: return elementwise(node);
  }
}

// The operation whose result `store` writes, when both came from one call: `x += y` or `np.add(a, b, out=x)`.
const Node* SourceWriter::stored_operation(const Node& store) const {
  if (graph_.level != Graph::Level::kCaptured || store.target == "=") return nullptr;
  const Node& operation = graph_.node(store.operands[1]);
  if (operation.target != store.target || !(writes_in_place(store, operation) || has_out(operation)))
    return nullptr;
  for (NodeId id = operation.id + 1; id < store.id; ++id) {
    if (info(graph_.node(id).op).kind != OpKind::Input) return nullptr;
  }
  auto uses = [&](const std::vector<NodeId>& ids) {
    return std::count(ids.begin(), ids.end(), operation.id);
  };
  long count = uses(graph_.outputs);
  for (const Node& node : graph_.nodes) count += uses(node.operands);
  return count == 1 ? &operation : nullptr;
}

void SourceWriter::line(std::string text, const UserSpan& where, NodeId node) {
  if (where.known()) text += "  # " + comment_text(where.place());
  body_.text += "    " + text + "\n";
  body_.lines.push_back(where);
  body_.nodes.push_back(node);
}

void SourceWriter::statement(const Node& node) {
  if (info(node.op).kind == OpKind::Input || printed_with_store_.contains(node.id)) return;
  if (node.op != OpId::kStore) return line(node.name + " = " + call(node), node.where, node.id);
  if (const Node* operation = stored_operation(node)) {
    if (!writes_in_place(node, *operation)) {
      std::string text = elementwise(*operation);
      text.pop_back();  // the closing parenthesis
      return line(fmt::format("{}, out={})", text, operand(node, 0)), node.where, node.id);
    }
    std::string_view symbol = operator_symbol(operation->op);
    return line(fmt::format("{} {}= {}", operand(node, 0), symbol, operand(*operation, 1)), node.where,
                node.id);
  }
  line(fmt::format("{}[...] = {}", operand(node, 0), operand(node, 1)), node.where, node.id);
}

// Symbols that are a whole axis of an input are read from it; the others become parameters.
void SourceWriter::read_sizes(NumpySource& source) {
  std::string text;
  for (SymbolId id : symbols_used_) {
    std::string found;
    for (NodeId input : graph_.placeholders) {
      const TensorType& type = graph_.node(input).type;
      for (size_t axis = 0; axis < type.shape.size() && found.empty(); ++axis) {
        if (type.shape[axis].as_symbol() == id)
          found = fmt::format("{}.shape[{}]", graph_.node(input).name, axis);
      }
    }
    if (found.empty()) {
      source.symbol_parameters.push_back(id);
    } else {
      text += fmt::format("    {} = {}\n", symbol_names_[static_cast<size_t>(id)], found);
      source.lines.emplace_back();
    }
  }
  source.text = text;
}

std::string SourceWriter::signature(const NumpySource& source) {
  std::vector<std::string> parameters;
  for (NodeId id : graph_.placeholders) parameters.push_back(graph_.node(id).name);
  for (SymbolId id : source.symbol_parameters) parameters.push_back(symbol_names_[static_cast<size_t>(id)]);
  return fmt::format("def forward({}):\n", fmt::join(parameters, ", "));
}

std::string SourceWriter::imports() const {
  const bool math = std::ranges::any_of(graph_.nodes, [](const Node& node) {
    return node.target.starts_with("math.") && node.attrs.value_class;
  });
  return math ? "import math\n\nimport numpy as np\n" : "import numpy as np\n";
}

NumpySource SourceWriter::write() {
  for (const Node& node : graph_.nodes) {
    if (node.op != OpId::kStore) continue;
    if (const Node* operation = stored_operation(node)) printed_with_store_.insert(operation->id);
  }
  for (const Node& node : graph_.nodes) statement(node);
  std::vector<std::string> results;
  for (NodeId id : graph_.outputs) results.push_back(value(id));
  line("return " + tuple_text(results), {}, kNoNode);
  NumpySource sizes_read;
  read_sizes(sizes_read);
  NumpySource out;
  out.symbol_parameters = sizes_read.symbol_parameters;
  const std::string head = imports() + "\n\n" + signature(sizes_read);
  out.text = head + sizes_read.text + body_.text;
  out.lines.assign(static_cast<size_t>(std::ranges::count(head, '\n')), UserSpan{});
  out.lines.insert(out.lines.end(), sizes_read.lines.begin(), sizes_read.lines.end());
  out.lines.insert(out.lines.end(), body_.lines.begin(), body_.lines.end());
  out.nodes.assign(out.lines.size() - body_.nodes.size(), kNoNode);
  out.nodes.insert(out.nodes.end(), body_.nodes.begin(), body_.nodes.end());
  return out;
}

}  // namespace

NumpySource to_numpy_source(const Graph& graph) { return SourceWriter(graph).write(); }

}  // namespace suture
