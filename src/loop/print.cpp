// Text of a loop program: buffers, then one block per nest with its expressions in order.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "loop/print.h"

namespace suture {
namespace {

std::string list(const std::vector<SymInt>& items) {
  std::string text;
  for (const SymInt& item : items) text += (text.empty() ? "" : ", ") + item.str();
  return "[" + text + "]";
}

std::string scalar_text(const Scalar& scalar) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, scalar);
}

}  // namespace

std::string to_text(const std::vector<Buffer>& buffers, const Access& access) {
  std::string text = buffers[access.buffer].name + "[" + access.offset.str();
  for (size_t axis = 0; axis < access.strides.size(); ++axis)
    if (!(access.strides[axis] == SymInt(0)))
      text += fmt::format(" + i{}*({})", axis, access.strides[axis].str());
  return text + "]";
}

std::string to_text(const std::vector<Buffer>& buffers, const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kLoad: return "load " + to_text(buffers, expr.access);
    case Expr::Kind::kConstant: return scalar_text(expr.scalar);
    case Expr::Kind::kSymbol: return "symbol " + expr.sym.str();
    case Expr::Kind::kAxis: return fmt::format("index i{}", expr.axis);
    case Expr::Kind::kReduced: return fmt::format("reduced r{}", expr.reduction);
    case Expr::Kind::kCast:
    case Expr::Kind::kOp: break;
  }
  std::string text(info(expr.op).name);
  for (ExprId operand : expr.operands) text += fmt::format(" %{}", operand);
  return text + (expr.checked ? " checked" : "");
}

std::string to_text(const std::vector<Buffer>& buffers, const Nest& nest, const std::string& indent) {
  std::string text = indent + "for " + list(nest.extents) + "\n";
  for (size_t i = 0; i < nest.exprs.size(); ++i)
    text += fmt::format("{}  %{}: {} = {}\n", indent, i, info(nest.exprs[i].dtype).numpy_name,
                        to_text(buffers, nest.exprs[i]));
  for (size_t i = 0; i < nest.reductions.size(); ++i) {
    const Reduction& r = nest.reductions[i];
    text += fmt::format("{}  r{}: {} = {} %{} over {} order {} run {} chunk {}{}\n", indent, i,
                        info(r.dtype).numpy_name, info(r.op).name, r.value, r.axes, r.order.outer,
                        r.order.run, r.order.chunk, r.ordered ? " exact" : "");
  }
  for (const Store& store : nest.stores)
    text += fmt::format("{}  {}{} = %{}\n", indent, store.after_reduction ? "after: " : "",
                        to_text(buffers, store.access), store.value);
  return text;
}

std::string to_text(const std::vector<Buffer>& buffers, const NumpyCall& call, const std::string& indent) {
  std::string text = indent + buffers[call.result].name + " = " + std::string(info(call.op).numpy) + "(";
  for (size_t i = 0; i < call.operands.size(); ++i) text += (i ? ", " : "") + buffers[call.operands[i]].name;
  return text + ")" + (call.why.empty() ? "" : "  # " + call.why) + "\n";
}

std::string to_text(const std::vector<Buffer>& buffers) {
  static constexpr const char* kKinds[] = {"input", "temp", "output", "view"};
  std::string text;
  for (const Buffer& buffer : buffers) {
    text += fmt::format("{} {}: {}{} strides {}", kKinds[static_cast<int>(buffer.kind)], buffer.name,
                        info(buffer.dtype).numpy_name, list(buffer.shape), list(buffer.strides));
    if (buffer.base >= 0) text += fmt::format(" of {} at {}", buffers[buffer.base].name, buffer.offset.str());
    text += "\n";
  }
  return text;
}

std::string to_text(const LoopProgram& program) {
  std::string text = to_text(program.buffers);
  for (const auto& statement : program.statements) {
    if (const Nest* nest = std::get_if<Nest>(&statement)) text += to_text(program.buffers, *nest, "");
    if (const NumpyCall* call = std::get_if<NumpyCall>(&statement))
      text += to_text(program.buffers, *call, "");
  }
  text += "return";
  for (BufferId output : program.outputs) text += " " + program.buffers[output].name;
  return text + "\n";
}

}  // namespace suture
