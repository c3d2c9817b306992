// The parts of the verifier that need no interpreter. (That it calls the right pairs of programs the same is tested in
// tests/python/test_same_bytecode.py and test_path_equivalence.py.)
#include <gtest/gtest.h>

#include "bytecode/code_builder.h"
#include "toolbox/verify/constant_tests.h"
#include "toolbox/verify/frame_state.h"
#include "toolbox/verify/node_effect.h"
#include "toolbox/verify/same_bytecode.h"

namespace suture::toolbox {
namespace {

using Kind = AbstractValue::Kind;

AbstractValue value(int id) { return {Kind::kSome, id}; }
AbstractValue constant(int id) { return {Kind::kConstant, id}; }

TEST(NodeEffect, MovesTheStackAsTheOpcodeTableSays) {
  int compared = 0;
  for (const PythonVersion version : {PythonVersion{3, 11}, PythonVersion{3, 12}, PythonVersion{3, 13}}) {
    for (int number = 0; number < 256; ++number) {
      const OpcodeInfo* info = opcode_info(version, static_cast<uint8_t>(number));
      if (info == nullptr) continue;
      for (int arg : {1, 2, 3, 5}) {
        const bool flagged = info->operand == Operand::kNameShifted;  // the flag is part of the node's opcode
        const Node node{.opcode = info->opcode, .number = flagged ? 0 : arg};
        const StackUse use = stack_use(version, info->opcode, node.number);
        const NodeEffect effect = node_effect(version, node);
        EXPECT_EQ(static_cast<int>(effect.results.size()) - effect.pops, use.pushes - use.pops)
            << info->name << " " << arg << " of 3." << version.minor;
        if (info->jump != 0) {
          EXPECT_EQ(static_cast<int>(effect.results_on_jump.size()) - effect.pops,
                    use.pushes_on_jump - use.pops)
              << info->name << " of 3." << version.minor;
        }
        for (const int position : effect.compared) EXPECT_LE(position, use.pops) << info->name << " " << arg;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(FrameState, ValuesAreEqualAfterAJoinWhenTheyAreEqualInBoth) {
  FrameState a, b;
  a.first_stack = {value(0), value(1)}, a.second_stack = {value(0), value(0)}, a.next_id = 2;
  b.first_stack = {value(0), value(0)}, b.second_stack = {value(0), value(0)}, b.next_id = 1;
  const FrameState joined = common_state(a, b);
  EXPECT_EQ(joined.first_stack[0], joined.second_stack[0]);
  EXPECT_EQ(joined.second_stack[0], joined.second_stack[1]);
  EXPECT_NE(joined.first_stack[0], joined.first_stack[1]);
}

TEST(FrameState, AJoinForgetsConstantsAndBindingsThatDiffer) {
  FrameState a, b;
  a.synthetic = {constant(1), constant(2), constant(3), {Kind::kNull, 0}};
  b.synthetic = {constant(1), constant(3), {}, value(0)};
  const FrameState joined = common_state(a, b);
  EXPECT_EQ(joined.synthetic[0], constant(1));
  EXPECT_TRUE(joined.synthetic[1].is(Kind::kSome));
  EXPECT_TRUE(joined.synthetic[2].is(Kind::kUnbound));
  EXPECT_TRUE(joined.synthetic[3].is(Kind::kMaybeNull));
}

TEST(FrameState, AJoinWithItselfChangesNothing) {
  FrameState state;
  state.first_stack = {value(7), constant(2), value(9), value(7)};
  state.locals = {value(9), {}, {Kind::kMaybeNull, 11}};
  state.normalize();
  EXPECT_EQ(common_state(state, state), state);
  EXPECT_EQ(state.next_id, 3);
}

TEST(ConstantTests, DecideWhatCannotRaiseAndNothingElse) {
  const Constant one = Constant::number(1), yes = Constant::boolean(true), text = Constant::str("a");
  const Constant none = Constant::none(), point = Constant::floating(1.0);
  constexpr int kLess = 0, kEqual = 2;
  EXPECT_EQ(constant_test(Opcode::COMPARE_OP, kEqual, {&one, &yes}), true);
  EXPECT_EQ(constant_test(Opcode::COMPARE_OP, kLess, {&one, &one}), false);
  EXPECT_EQ(constant_test(Opcode::COMPARE_OP, kLess, {&one, &text}), std::nullopt) << "raises TypeError";
  EXPECT_EQ(constant_test(Opcode::COMPARE_OP, kEqual, {&one, &point}), std::nullopt) << "is not looked into";
  EXPECT_EQ(constant_test(Opcode::IS_OP, 0, {&none, &text}), false);
  EXPECT_EQ(constant_test(Opcode::IS_OP, 1, {&none, &none}), false);
  EXPECT_EQ(constant_test(Opcode::IS_OP, 0, {&one, &one}), std::nullopt)
      << "identity of numbers is not defined";
  EXPECT_EQ(jump_is_taken(Opcode::POP_JUMP_IF_NONE, none), true);
  EXPECT_EQ(jump_is_taken(Opcode::POP_JUMP_IF_TRUE, Constant::str("")), false);
  EXPECT_EQ(truth(Constant::floating(0.0)), false);
  EXPECT_EQ(truth(Constant::floating(-0.5)), true);
}

// A function of 3.11 with these instructions.
CodeTree tree_of(const std::function<void(CodeBuilder&)>& write,
                 std::vector<Constant> constants = {Constant::none()}) {
  CodeView view{.version = {3, 11}, .name = "f", .qualname = "f", .stack_size = 9, .flags = 3};
  view.local_names = {"x", "y"};
  view.local_kinds = {kLocalPlain, kLocalPlain};
  view.arg_count = 2;
  for (const Constant& each : constants) view.constant_reprs.push_back(repr(each));
  CodeBuilder builder(view);
  write(builder);
  const Function function = *builder.finish();
  const AssembledCode assembled = *assemble(function);
  CodeTree tree{function.code, std::move(constants)};
  tree.view.code = assembled.code;
  tree.view.line_table = assembled.line_table;
  tree.view.exception_table = assembled.exception_table;
  return tree;
}

void load_and_return(CodeBuilder& b, int local) {
  b.emit(Opcode::RESUME);
  b.emit(Opcode::LOAD_FAST, local);
  b.emit(Opcode::RETURN_VALUE);
}

TEST(VerifyBytecode, LayoutDoesNotCount) {
  const CodeTree straight = tree_of([](CodeBuilder& b) { load_and_return(b, 1); });
  const CodeTree jumping = tree_of([](CodeBuilder& b) {
    const auto end = b.new_label();
    b.emit(Opcode::RESUME);
    b.emit(Opcode::NOP);
    b.emit(Opcode::LOAD_FAST, 1);
    b.jump(Opcode::JUMP_FORWARD, end);
    b.emit(Opcode::NOP);
    b.bind(end);
    b.emit(Opcode::RETURN_VALUE);
  });
  EXPECT_EQ(verify_bytecode(straight, jumping).reason(), "");
  const CodeTree other = tree_of([](CodeBuilder& b) { load_and_return(b, 0); });
  EXPECT_EQ(
      verify_bytecode(straight, other).reason(),
      "f: they differ: LOAD_FAST 1 (y) at byte 2 in the first, LOAD_FAST 0 (x) at byte 2 in the second");
}

TEST(VerifyBytecode, ALoopOfNothingIsNoReturn) {
  const CodeTree returning = tree_of([](CodeBuilder& b) { load_and_return(b, 0); });
  const CodeTree endless = tree_of([](CodeBuilder& b) {
    const auto top = b.new_label();
    b.emit(Opcode::RESUME);
    b.bind(top);
    b.emit(Opcode::NOP);
    b.jump(Opcode::JUMP_BACKWARD, top);
  });
  EXPECT_NE(verify_bytecode(returning, endless).reason().find("runs for ever"), std::string::npos);
  EXPECT_NE(verify_bytecode(endless, returning).reason().find("runs for ever"), std::string::npos);
  EXPECT_TRUE(verify_bytecode(endless, endless).equal());
  // Along paths, too.
  const auto with_local = [](CodeTree tree) {
    tree.view.local_names.emplace_back("_s");
    tree.view.local_kinds.push_back(kLocalPlain);
    return tree;
  };
  const VerifyOptions paths{.synthetic_locals = {"_s"}};
  const CodeTree returns = with_local(returning), loops = with_local(endless);
  EXPECT_EQ(verify_bytecode(endless, loops, paths).reason(), "");
  EXPECT_NE(
      verify_bytecode(returning, loops, paths).reason().find("the second does nothing observable for ever"),
      std::string::npos);
  EXPECT_NE(
      verify_bytecode(endless, returns, paths).reason().find("the first does nothing observable for ever"),
      std::string::npos);
}

// A class body that stores a constant as `__qualname__`, and one as `_s`.
CodeTree class_body(int qualname, int own) {
  CodeTree tree = tree_of(
      [&](CodeBuilder& b) {
        b.emit(Opcode::RESUME);
        for (const auto& [constant, name] : {std::pair{qualname, 0}, std::pair{own, 1}}) {
          if (constant < 0) continue;
          b.emit(Opcode::LOAD_CONST, constant);
          b.emit(Opcode::STORE_NAME, name);
        }
        b.emit(Opcode::LOAD_CONST, 1);
        b.emit(Opcode::RETURN_VALUE);
      },
      {Constant::str("f"), Constant::none(), Constant::str("g")});
  tree.view.flags = 0;
  tree.view.arg_count = 0;
  tree.view.names = {"__qualname__", own < 0 ? "x" : "_s"};
  return tree;
}

TEST(VerifyBytecode, OnlyItsOwnQualifiedNameIsLeftToTheHeader) {
  const VerifyOptions paths{.synthetic_locals = {"_s"}, .synthetic_locals_may_show = true};
  const CodeTree original = class_body(0, -1);
  EXPECT_EQ(verify_bytecode(original, class_body(0, 0), paths).reason(), "");
  for (const int other : {1, 2}) {
    EXPECT_FALSE(verify_bytecode(original, class_body(other, -1), paths).equal());
    EXPECT_FALSE(verify_bytecode(original, class_body(other, 0), paths).equal());
  }
}

TEST(VerifyBytecode, HostileCodeIsDifferentWithAReason) {
  CodeTree good = tree_of([](CodeBuilder& b) { load_and_return(b, 0); });
  CodeTree bad = tree_of([](CodeBuilder& b) { load_and_return(b, 200); });
  EXPECT_NE(verify_bytecode(good, bad).reason().find("LOAD_FAST at byte 2 of f uses local 200 of 2"),
            std::string::npos);
  CodeTree twins = good;
  twins.view.local_names = {"x", "x"};
  EXPECT_NE(verify_bytecode(twins, twins).reason().find("two locals have the same name"), std::string::npos);
  const Verification limited = verify_bytecode(good, good, {.step_limit = 1});
  EXPECT_NE(limited.reason().find("too large to compare"), std::string::npos);
}

}  // namespace
}  // namespace suture::toolbox
