// Transformed code as one wants to read it: what goes, what changes, and where each instruction comes from.
#include "bytecode/readable_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bytecode/instruction.h"

namespace suture {
namespace {

struct Step {
  Opcode opcode;
  int arg = 0;
};

CodeTree transformed(const std::vector<Step>& steps, std::vector<std::string> locals,
                     std::vector<uint8_t> kinds, std::vector<Constant> constants = {},
                     const std::vector<std::pair<int, int>>& jumps = {}) {
  Function function;
  function.code.name = function.code.qualname = "f";
  function.code.flags = 3;
  function.code.arg_count = 1;
  function.code.local_names = std::move(locals);
  function.code.local_kinds = std::move(kinds);
  for (const Constant& constant : constants) function.code.constant_reprs.push_back(repr(constant));
  for (const Step& step : steps) {
    Instruction instruction{step.opcode, step.arg};
    instruction.line = instruction.end_line = 1;
    function.instructions.push_back(instruction);
  }
  for (const auto& [from, to] : jumps) function.instructions[static_cast<size_t>(from)].target = to;
  auto assembled = assemble(function);
  EXPECT_TRUE(assembled.ok());
  CodeTree tree{function.code, std::move(constants)};
  tree.view.code = assembled->code;
  tree.view.line_table = assembled->line_table;
  tree.view.stack_size = assembled->stack_size;
  return tree;
}

std::vector<std::string> listing(const CodeTree& code) {
  auto function = decode_function(code.view);
  EXPECT_TRUE(function.ok());
  std::vector<std::string> lines;
  for (size_t i = 0; function.ok() && i < function->instructions.size(); ++i)
    lines.push_back(to_text(*function, static_cast<int>(i)));
  return lines;
}

TEST(ReadableOutput, a_tail_call_is_a_call_and_emptied_variables_are_left_out) {
  const CodeTree code =
      transformed({{Opcode::COPY_FREE_VARS, 2},
                   {Opcode::RESUME, 0},
                   {Opcode::LOAD_DEREF, 1},
                   {Opcode::LOAD_DEREF, 2},
                   {Opcode::LOAD_FAST, 0},
                   {Opcode::BUILD_TUPLE, 3},
                   {Opcode::DELETE_FAST, 0},
                   {Opcode::RETURN_VALUE}},
                  {"x", "__tail_call", "__resume_at_8_2"}, {kLocalPlain, kLocalFree, kLocalFree});
  const auto readable = readable_output(code, OutputKind::kTransformed, "__transformed_code_0_for_f");
  ASSERT_TRUE(readable.ok());
  EXPECT_EQ(readable->code.view.name, "__transformed_code_0_for_f");
  EXPECT_THAT(readable->code.view.local_names, ::testing::ElementsAre("x", "__resume_at_8_2"));
  EXPECT_THAT(
      listing(readable->code),
      ::testing::ElementsAre("COPY_FREE_VARS 1", "RESUME 0", "PUSH_NULL", "LOAD_DEREF 1 (__resume_at_8_2)",
                             "LOAD_FAST 0 (x)", "PRECALL 1", "CALL 1", "RETURN_VALUE"));
  EXPECT_THAT(readable->origin, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 5, 7));
}

TEST(ReadableOutput, a_string_that_comes_first_is_no_docstring) {
  const CodeTree code = transformed({{Opcode::RESUME, 0}, {Opcode::LOAD_CONST, 0}, {Opcode::RETURN_VALUE}},
                                    {"x"}, {kLocalPlain}, {Constant::str("text")});
  const auto readable = readable_output(code, OutputKind::kTransformed, "g");
  ASSERT_TRUE(readable.ok());
  EXPECT_EQ(readable->code.docstring(), nullptr);
  ASSERT_EQ(readable->code.constants.size(), 2u);
  EXPECT_EQ(readable->code.constants[1].text, "text");
  EXPECT_EQ(listing(readable->code)[1].substr(0, 12), "LOAD_CONST 1");
}

TEST(ReadableOutput, variables_that_hold_a_value_for_one_step_disappear) {
  const CodeTree code = transformed({{Opcode::RESUME, 0},
                                     {Opcode::LOAD_FAST, 0},
                                     {Opcode::STORE_FAST, 0},
                                     {Opcode::LOAD_FAST, 0},
                                     {Opcode::STORE_FAST, 1},
                                     {Opcode::LOAD_FAST, 1},
                                     {Opcode::RETURN_VALUE}},
                                    {"x", "iterator"}, {kLocalPlain, kLocalPlain});
  const auto readable = readable_output(code, OutputKind::kTransformed, "g");
  ASSERT_TRUE(readable.ok());
  EXPECT_THAT(listing(readable->code), ::testing::ElementsAre("RESUME 0", "LOAD_FAST 0 (x)", "RETURN_VALUE"));
}

TEST(ReadableOutput, a_variable_that_takes_an_item_of_a_sequence_stays) {
  const CodeTree code = transformed({{Opcode::RESUME, 0},
                                     {Opcode::LOAD_FAST, 0},
                                     {Opcode::UNPACK_SEQUENCE, 1},
                                     {Opcode::STORE_FAST, 1},
                                     {Opcode::LOAD_FAST, 1},
                                     {Opcode::RETURN_VALUE}},
                                    {"x", "graph_out_0"}, {kLocalPlain, kLocalPlain});
  const auto readable = readable_output(code, OutputKind::kTransformed, "g");
  ASSERT_TRUE(readable.ok());
  EXPECT_EQ(listing(readable->code).size(), 6u);
}

TEST(ReadableOutput, displays_of_constants_are_folded_as_the_compiler_folds_them) {
  const CodeTree code =
      transformed({{Opcode::RESUME, 0},
                   {Opcode::LOAD_CONST, 1},
                   {Opcode::LOAD_CONST, 2},
                   {Opcode::BUILD_TUPLE, 2},
                   {Opcode::LOAD_CONST, 1},
                   {Opcode::LOAD_CONST, 2},
                   {Opcode::BUILD_LIST, 3},
                   {Opcode::RETURN_VALUE}},
                  {"x"}, {kLocalPlain}, {Constant::none(), Constant::number(1), Constant::number(2)});
  const auto readable = readable_output(code, OutputKind::kTransformed, "g");
  ASSERT_TRUE(readable.ok());
  EXPECT_THAT(listing(readable->code),
              ::testing::ElementsAre("RESUME 0", "BUILD_LIST 0", "LOAD_CONST 4 (((1, 2), 1, 2))",
                                     "LIST_EXTEND 1", "RETURN_VALUE"));
}

TEST(ReadableOutput, an_iterator_in_a_variable_is_looped_over) {
  const CodeTree code = transformed({{Opcode::RESUME, 0},
                                     {Opcode::LOAD_FAST, 0},
                                     {Opcode::GET_ITER},
                                     {Opcode::STORE_FAST, 1},
                                     {Opcode::LOAD_CONST, 0},
                                     {Opcode::STORE_FAST, 0},
                                     {Opcode::LOAD_FAST, 1},
                                     {Opcode::FOR_ITER, 0},
                                     {Opcode::STORE_FAST, 2},
                                     {Opcode::JUMP_BACKWARD, 0},
                                     {Opcode::LOAD_FAST, 1},
                                     {Opcode::RETURN_VALUE}},
                                    {"x", "iterator", "item"}, {kLocalPlain, kLocalPlain, kLocalPlain},
                                    {Constant::none()}, {{7, 10}, {9, 7}});
  const auto readable = readable_output(code, OutputKind::kTransformed, "g");
  ASSERT_TRUE(readable.ok());
  const auto lines = listing(readable->code);
  EXPECT_THAT(std::vector(lines.begin(), lines.begin() + 10),
              ::testing::ElementsAre("RESUME 0", "LOAD_GLOBAL 1 (NULL + iter)", "LOAD_FAST 0 (x)",
                                     "PRECALL 1", "CALL 1", "STORE_FAST 1 (iterator)", "LOAD_CONST 0 (None)",
                                     "STORE_FAST 0 (x)", "LOAD_FAST 1 (iterator)", "GET_ITER"));
}

TEST(ReadableOutput, a_stack_value_of_a_continuation_is_a_parameter_that_is_loaded_where_it_is_used) {
  const CodeTree code = transformed({{Opcode::RESUME, 0},
                                     {Opcode::LOAD_FAST, 0},
                                     {Opcode::DELETE_FAST, 0},
                                     {Opcode::LOAD_FAST, 1},
                                     {Opcode::POP_TOP},
                                     {Opcode::DELETE_FAST, 1},
                                     {Opcode::RETURN_VALUE}},
                                    {"stack_0", "y"}, {kLocalPlain, kLocalPlain});
  const auto readable = readable_output(code, OutputKind::kContinuation, "__resume_at_8_2");
  ASSERT_TRUE(readable.ok());
  EXPECT_EQ(readable->qualname, "f");
  EXPECT_THAT(listing(readable->code),
              ::testing::ElementsAre("RESUME 0", "LOAD_FAST 1 (y)", "POP_TOP", "DELETE_FAST 1 (y)",
                                     "LOAD_FAST 0 (stack_0)", "RETURN_VALUE"));
}

TEST(ReadableOutput, a_cell_that_no_inner_function_takes_is_a_variable) {
  const CodeTree code = transformed({{Opcode::RESUME, 0},
                                     {Opcode::LOAD_DEREF, 0},
                                     {Opcode::STORE_DEREF, 0},
                                     {Opcode::LOAD_FAST, 0},
                                     {Opcode::RETURN_VALUE}},
                                    {"n"}, {kLocalPlain | kLocalCell});
  const auto readable = readable_output(code, OutputKind::kContinuation, "__resume_at_8_2");
  ASSERT_TRUE(readable.ok());
  EXPECT_EQ(readable->code.view.local_kinds[0], kLocalPlain);
  EXPECT_THAT(listing(readable->code),
              ::testing::ElementsAre("RESUME 0", "LOAD_FAST 0 (n)", "STORE_FAST 0 (n)", "LOAD_FAST 0 (n)",
                                     "RETURN_VALUE"));
}

TEST(ReadableOutput, code_that_cannot_be_decoded_is_an_error) {
  CodeTree code;
  code.view.code = {255, 255, 255};
  EXPECT_FALSE(readable_output(code, OutputKind::kTransformed, "g").ok());
}

}  // namespace
}  // namespace suture
