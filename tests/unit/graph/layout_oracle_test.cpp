// Inference compared with NumPy: random calls over random layouts (scripts/gen_layout_oracle.py).
//
// Every call is checked twice: with the sizes as constants, and with every size >= 2 as a symbol whose hint
// is the size. The symbolic types must evaluate to NumPy's answer, and the facts that were recorded must
// hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/attr_text.h"
#include "graph/graph_builder.h"
#include "support/python_process.h"

namespace suture {
namespace {

struct Line {
  std::string op, target;
  std::vector<TensorType> operands;
  Attrs attrs;
  std::optional<TensorType> expected;  // nullopt: NumPy raises
};

Line parse_line(const std::string& text) {
  TextReader in(text, 1, 0);
  Line line;
  line.op = in.word();
  in.list("(", ")", [&] { line.operands.push_back(read_type(in)); });
  in.expect("{");
  while (!in.failed() && !in.accept("}")) {
    std::string attr = in.word();
    in.expect("=");
    for (const AttrField& field : attr_fields()) {
      if (field.name == attr) field.read(in, line.attrs);
    }
    in.accept(",");
  }
  in.expect(";");
  line.target = in.quoted();
  in.expect("->");
  if (!in.accept("error")) line.expected = read_type(in);
  EXPECT_EQ(in.error(), "") << text;
  return line;
}

// The operand with every size >= 2 a symbol; packed arrays keep strides derived from their sizes, others get
// symbols.
TensorType symbolic(TensorType type, ShapeEnv& env) {
  bool packed = type.strides == contiguous_strides(type.shape, Order::kC);
  for (SymInt& dim : type.shape) {
    if (*dim.constant() >= 2) dim = env.create_symbol("size", *dim.constant(), 2, INT64_MAX, true);
  }
  if (packed) {
    type.strides = contiguous_strides(type.shape, Order::kC);
    return type;
  }
  for (SymInt& stride : type.strides) {
    if (*stride.constant() != 0)
      stride = env.create_symbol("stride", *stride.constant(), INT64_MIN, INT64_MAX, false);
  }
  return type;
}

NodeId add_operand(GraphBuilder& builder, const TensorType& type, size_t position) {
  switch (type.value_class) {
    case ValueClass::kPyBool: return builder.constant(true, type.value_class, type.dtype);
    case ValueClass::kPyInt: return builder.constant(int64_t{3}, type.value_class, type.dtype);
    case ValueClass::kPyFloat: return builder.constant(1.5, type.value_class, type.dtype);
    default: return builder.placeholder(fmt::format("x{}", position), type);
  }
}

Result<TensorType> infer_line(const Line& line, Graph& graph, std::vector<NodeId> operands) {
  GraphBuilder builder(graph);
  if (line.op == "like") {
    TensorType out = graph.node(operands[0]).type;
    out.strides = like_strides(out, line.attrs.order, graph.env);
    out.writeable = true;
    return out;
  }
  if (line.op.starts_with("inplace_")) {
    OpId op = *op_from_name(line.op.substr(8));
    SUTURE_TRY(result, builder.add(op, operands, line.attrs, line.target));
    SUTURE_TRY(store, builder.add(OpId::kStore, {operands[0], result}, {}, line.target));
    return graph.node(store).type;
  }
  SUTURE_TRY(id, builder.add(*op_from_name(line.op), std::move(operands), line.attrs, line.target));
  return graph.node(id).type;
}

// Shape and strides at the hints; NumPy's strides are known also where they lead to no other element.
std::string observable(TensorType type, const ShapeEnv& env) {
  std::string strides;
  for (SymInt& dim : type.shape) dim = env.hint(dim);
  for (const SymInt& stride : type.strides) strides += fmt::format(" {}", env.hint(stride));
  return fmt::format("{} strides{}{}", type.str(), strides, type.writeable ? "" : " readonly");
}

void check_line(const std::string& text, bool with_symbols) {
  Line line = parse_line(text);
  Graph graph;
  GraphBuilder builder(graph);
  std::vector<NodeId> operands;
  for (const TensorType& type : line.operands) {
    operands.push_back(
        add_operand(builder, with_symbols ? symbolic(type, graph.env) : type, operands.size()));
  }
  Result<TensorType> ours = infer_line(line, graph, operands);
  if (!line.expected) {
    EXPECT_FALSE(ours.ok()) << text << "\n ours: " << ours->str();
    return;
  }
  ASSERT_TRUE(ours.ok()) << text << "\n ours: " << ours.error().message;
  EXPECT_EQ(observable(*ours, graph.env), observable(*line.expected, graph.env)) << text;
  std::vector<int64_t> hints = graph.env.hints();
  for (const ShapeFact& fact : graph.env.facts())
    EXPECT_TRUE(fact.holds(hints)) << text << "\n fact: " << fact.str();
  if (!with_symbols) {
    EXPECT_TRUE(graph.env.facts().empty()) << text;
  }
}

const std::vector<std::string>& lines() {
  // SUTURE_LAYOUT_ORACLE="--seed 7 --count 2000" looks further than the default run.
  const char* arguments = getenv("SUTURE_LAYOUT_ORACLE");
  static const std::vector<std::string> kLines =
      run_python_script("scripts/gen_layout_oracle.py", arguments ? arguments : "");
  return kLines;
}

TEST(LayoutOracle, constant_sizes_give_numpys_types) {
  ASSERT_GT(lines().size(), 3000u);
  for (const std::string& line : lines()) check_line(line, false);
}

TEST(LayoutOracle, symbolic_sizes_evaluate_to_numpys_types) {
  for (const std::string& line : lines()) check_line(line, true);
}

}  // namespace
}  // namespace suture
