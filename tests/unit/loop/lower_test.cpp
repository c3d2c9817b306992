// What graphs become: views are accesses, stores keep NumPy's evaluation order, scalars are copies.
#include <gtest/gtest.h>

#include "loop/print.h"
#include "support/graph_script.h"

namespace suture {
namespace {

LoopProgram lowered(const std::string& script) {
  auto program = lower(GraphScript::build(script));
  if (!program.ok()) throw std::runtime_error(program.error().message);
  return std::move(program).value();
}

const Nest& nest(const LoopProgram& program, size_t index) {
  return std::get<Nest>(program.statements.at(index));
}

std::string first_load(const LoopProgram& program, const Nest& nest) {
  for (const Expr& expr : nest.exprs)
    if (expr.kind == Expr::Kind::kLoad) return to_text(program.buffers, expr.access);
  return "";
}

TEST(Lower, a_view_is_only_another_access) {
  const LoopProgram program =
      lowered("x = input float64 8,6\nt = transpose x axes=1,0\ny = abs t\nreturn y\n");
  ASSERT_EQ(program.statements.size(), 1u);
  EXPECT_EQ(first_load(program, nest(program, 0)), "x[0 + i0*(1) + i1*(6)]");
}

TEST(Lower, a_slice_with_a_negative_step_starts_at_its_first_element) {
  const LoopProgram program = lowered("x = input float64 8\nv = slice x 7:-2:4\ny = abs v\nreturn y\n");
  EXPECT_EQ(first_load(program, nest(program, 0)), "x[7 + i0*(-2)]");
}

TEST(Lower, broadcast_operands_have_stride_zero) {
  const LoopProgram program = lowered("x = input float64 8,6\nr = input float64 6\ny = add r x\nreturn y\n");
  EXPECT_EQ(first_load(program, nest(program, 0)), "r[0 + i1*(1)]");
}

TEST(Lower, a_returned_view_of_an_input_stays_a_view) {
  const LoopProgram program = lowered("x = input float64 8\nv = slice x 1:2:3\nreturn v x\n");
  EXPECT_TRUE(program.statements.empty());
  const Buffer& view = program.buffers[program.outputs[0]];
  EXPECT_EQ(view.kind, Buffer::Kind::kView);
  EXPECT_EQ(program.buffers[view.base].name, "x");
  EXPECT_EQ(view.offset, SymInt(1));
  EXPECT_EQ(view.strides, std::vector<SymInt>{2});
  EXPECT_EQ(program.buffers[program.outputs[1]].kind, Buffer::Kind::kInput);
}

TEST(Lower, a_returned_view_of_a_result_makes_its_memory_an_output) {
  const LoopProgram program =
      lowered("x = input float64 8,6\ny = abs x\nt = transpose y axes=1,0\nreturn t\n");
  const Buffer& view = program.buffers[program.outputs[0]];
  EXPECT_EQ(view.kind, Buffer::Kind::kView);
  EXPECT_EQ(program.buffers[view.base].kind, Buffer::Kind::kOutput);
}

TEST(Lower, an_element_read_by_index_is_a_copy) {
  const LoopProgram program = lowered("x = input float64 8\ne = slice x 3\nreturn e\n");
  ASSERT_EQ(program.statements.size(), 1u);
  EXPECT_EQ(first_load(program, nest(program, 0)), "x[3]");
  EXPECT_EQ(program.buffers[program.outputs[0]].kind, Buffer::Kind::kOutput);
  EXPECT_EQ(program.buffers[program.outputs[0]].value_class, ValueClass::kNumpyScalar);
}

TEST(Lower, a_store_from_other_elements_of_the_same_array_copies_first) {
  const LoopProgram program =
      lowered("x = input float64 8\na = slice x 1:1:7\nb = slice x 0:1:7\ns = store a b\nreturn x\n");
  ASSERT_EQ(program.statements.size(), 2u);
  EXPECT_EQ(first_load(program, nest(program, 0)), "x[0 + i0*(1)]");
  EXPECT_EQ(program.buffers[nest(program, 0).stores[0].access.buffer].kind, Buffer::Kind::kTemp);
  EXPECT_EQ(to_text(program.buffers, nest(program, 1).stores[0].access), "x[1 + i0*(1)]");
}

TEST(Lower, a_store_of_an_array_into_itself_does_nothing) {
  EXPECT_TRUE(lowered("x = input float64 8\ns = store x x\nreturn x\n").statements.empty());
}

TEST(Lower, a_reshape_that_cannot_be_a_view_copies) {
  const LoopProgram program =
      lowered("x = input float64 8,6\nt = transpose x axes=1,0\nr = reshape t dims=48\nreturn r\n");
  ASSERT_EQ(program.statements.size(), 1u);
  EXPECT_EQ(to_text(program.buffers, nest(program, 0).stores[0].access), "reshape[0 + i0*(8) + i1*(1)]");
}

TEST(Lower, a_sum_whose_order_is_unknown_stays_a_numpy_call) {
  const LoopProgram program =
      lowered("n = symbol 20\nx = input float64 n,20 40,1\ns = sum x all\nreturn s\n");
  const NumpyCall& call = std::get<NumpyCall>(program.statements.at(0));
  EXPECT_EQ(call.op, OpId::kSum);
  EXPECT_EQ(call.why, "a strided sum over several axes whose sizes are symbols");
}

TEST(Lower, a_returned_constant_gets_memory) {
  const LoopProgram program = lowered("c = const float64 pyfloat 1.5\nreturn c\n");
  ASSERT_EQ(program.statements.size(), 1u);
  EXPECT_EQ(program.buffers[program.outputs[0]].value_class, ValueClass::kPyFloat);
}

}  // namespace
}  // namespace suture
