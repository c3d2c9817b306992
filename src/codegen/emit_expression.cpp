// Statements of a kernel: every load and operation is a named constant with the user's place behind it.
#include <fmt/core.h>

#include "codegen/kernel_writer.h"
#include "loop/conditions.h"
#include "ops/python_math.h"

namespace suture {
namespace {

std::string type_name(DType dtype) { return std::string(info(dtype).c_type); }

std::string substitute(std::string_view form, const std::vector<std::string>& operands) {
  std::string text;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '$' && i + 1 < form.size()) {
      text += operands[static_cast<size_t>(form[++i] - '0')];
    } else {
      text += form[i];
    }
  }
  return text;
}

// opaque: the optimizer folds calls of the C library with the C library of another machine.
std::string c_library_call(const PythonMath& function, const std::vector<std::string>& operands) {
  std::string arguments;
  for (const std::string& operand : operands)
    arguments += fmt::format("{}opaque({})", arguments.empty() ? "" : ", ", operand);
  return fmt::format("::{}({})", function.c_function, arguments);
}

std::string file_name(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string KernelWriter::comment(const UserSpan& where, const std::string& what) const {
  const std::string place = where.known() ? fmt::format("{}:{}", file_name(where.file), where.line) : "";
  if (place.empty() || what.empty()) return place + what;
  return place + "  " + what;
}

void KernelWriter::note(CodeLine::Kind kind, NodeId node, const UserSpan& where) {
  lines_.push_back({.kind = kind, .line = out_.lines(), .node = node, .where = where});
}

void KernelWriter::note(const Expr& expr) {
  note(expr.kind == Expr::Kind::kLoad ? CodeLine::Kind::kRead : CodeLine::Kind::kCompute, expr.node,
       expr.where);
}

std::string KernelWriter::stem(const Expr& expr) const {
  if (expr.kind == Expr::Kind::kLoad) {
    const NodeId node = schedule_.buffers[expr.access.buffer].node;
    return node == kNoNode ? "value" : graph_.node(node).name;
  }
  if (expr.kind == Expr::Kind::kCast) {
    const Expr& operand = nest_.exprs[expr.operands[0]];
    if (operand.kind == Expr::Kind::kAxis) return "index";
    return operand.node == kNoNode ? "cast" : graph_.node(operand.node).name + "_" + type_name(expr.dtype);
  }
  return expr.node == kNoNode ? "value" : graph_.node(expr.node).name;
}

std::string KernelWriter::element(const Access& access) const {
  std::string index;
  const auto append = [&](const std::string& term) { index += (index.empty() ? "" : " + ") + term; };
  for (size_t axis = 0; axis < access.strides.size(); ++axis) {
    const SymInt& stride = access.strides[axis];
    if (stride == SymInt(0)) continue;
    const bool sum = index_[axis].find(' ') != std::string::npos;
    const std::string position = sum ? "(" + index_[axis] + ")" : index_[axis];
    append(stride == SymInt(1) ? index_[axis] : cpp(stride) + " * " + position);
  }
  if (!(access.offset == SymInt(0))) append(cpp(access.offset));
  return argument_name_.at(access.buffer) + "[" + (index.empty() ? "0" : index) + "]";
}

std::string KernelWriter::cast(const Expr& expr) {
  const Expr& from = nest_.exprs[expr.operands[0]];
  if (from.dtype == expr.dtype) return expression(expr.operands[0]);
  const std::string operand = this->operand(expr, 0);
  const std::string to = type_name(expr.dtype);
  if (expr.checked) return fmt::format("op_cast_assigned<{}>({}, status)", to, operand);
  if (is_float(from.dtype) && is_integer(expr.dtype))
    return fmt::format("op_cast<{}>({}, status)", to, operand);
  const bool weak_int = from.node != kNoNode && is_weak(graph_.node(from.node).type.value_class);
  if (weak_int && from.dtype == DType::kInt64 && is_float(expr.dtype) && from.kind != Expr::Kind::kConstant &&
      from.kind != Expr::Kind::kAxis)
    return fmt::format("op_cast_checked<{}>({}, status)", to, operand);
  return fmt::format("op_cast<{}>({})", to, operand);
}

std::string KernelWriter::operand(const Expr& expr, size_t position) {
  const std::string text = expression(expr.operands[position]);
  const auto id = static_cast<size_t>(&expr - nest_.exprs.data());
  return conditions_.hidden[id] == static_cast<int>(position) ? "op_hide(" + text + ", nothing)" : text;
}

std::string KernelWriter::operation(const Expr& expr) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < expr.operands.size(); ++i) operands.push_back(operand(expr, i));
  const OpInfo& op = info(expr.op);
  // Python calls the C library, whose last bit differs from that of x * x or of the vector math.
  const bool python = expr.node != kNoNode && is_weak(graph_.node(expr.node).type.value_class);
  const PythonMath* function = python ? python_math(expr.op) : nullptr;
  const bool library = function && !function->c_function.empty();
  std::string text = library ? c_library_call(*function, operands) : substitute(op.cpp, operands);
  const DType dtype = expr.operands.empty() ? expr.dtype : nest_.exprs[expr.operands[0]].dtype;
  const bool checked = expr.checked && op.form == ScalarForm::Checked;
  if (checked) text.insert(text.find('('), "_checked");
  const bool reports = (op.signals == OpSignals::Status && is_integer(dtype)) ||
                       (op.signals == OpSignals::Build && is_float(dtype));
  if (checked || reports) text.insert(text.rfind(')'), ", status");
  return text;
}

void KernelWriter::keep(const std::string& value, DType dtype) {
  out_.line(fmt::format("kept_{} |= op_bits({});", dtype == DType::kFloat32 ? "f32" : "f64", value));
}

// The value fits int64, sums and products in between need not: they have 128 bits, as in SymInt::evaluate.
std::string KernelWriter::symbolic_int(const SymInt& value) const {
  if (value.is_constant() || value.as_symbol()) return fmt::format("int64_t({})", value.cpp(symbol_name_));
  std::vector<std::string> wide;
  for (const std::string& name : symbol_name_) wide.push_back(fmt::format("__int128({})", name));
  return fmt::format("int64_t({})", value.cpp(wide));
}

std::string KernelWriter::expression(ExprId id) {
  if (value_[id].empty()) define(id);
  return value_[id];
}

std::string KernelWriter::loaded(ExprId id) const {
  const Access& access = nest_.exprs[id].access;
  if (!walking_rows_ || !short_rows_->inside[id]) return element(access);
  const std::string& block = short_rows_->block[id];
  return block.empty() ? block_element(access) : fmt::format("{}[{}]", block, index_.back());
}

void KernelWriter::define(ExprId id) {
  const Expr& expr = nest_.exprs[id];
  if (!value_[id].empty()) return;
  std::string text, what;
  switch (expr.kind) {
    case Expr::Kind::kConstant: value_[id] = cpp_literal(expr.scalar, expr.dtype); return;
    case Expr::Kind::kSymbol: value_[id] = symbolic_int(expr.sym); return;
    case Expr::Kind::kAxis:
      value_[id] = expr.axis < 0 ? "int64_t(0)" : fmt::format("int64_t({})", index_[expr.axis]);
      return;
    case Expr::Kind::kReduced: value_[id] = accumulator_[expr.reduction]; return;
    case Expr::Kind::kLoad: text = loaded(id); break;
    case Expr::Kind::kCast:
      if (nest_.exprs[expr.operands[0]].kind == Expr::Kind::kConstant && is_float(expr.dtype) &&
          !signals_by_flags(nest_, expr)) {
        value_[id] = cpp_literal(nest_.exprs[expr.operands[0]].scalar, expr.dtype);
        return;
      }
      text = cast(expr);
      break;
    case Expr::Kind::kOp: text = operation(expr); break;
  }
  if (expr.kind != Expr::Kind::kLoad && expr.node != kNoNode) what = graph_.node(expr.node).target;
  value_[id] = names_.unique(stem(expr));
  out_.line(fmt::format("const {} {} = {};", type_name(expr.dtype), value_[id], text),
            comment(expr.where, what));
  note(expr);
  if (!conditions_.kept[id]) return;
  keep(value_[id], expr.dtype);
  note(expr);
}

void KernelWriter::write_store(const Store& store) {
  const UserSpan where = graph_.node(store.node).where;
  const std::string value = expression(store.value);
  out_.line(
      fmt::format("{} = {};", walking_rows_ ? block_element(store.access) : element(store.access), value),
      comment(where, ""));
  note(CodeLine::Kind::kWrite, store.node, where);
}

}  // namespace suture
