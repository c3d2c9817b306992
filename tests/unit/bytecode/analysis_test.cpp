// Control flow, liveness, definite assignment, loops.
#include "support.h"

namespace suture::testing {
namespace {

using Bits = std::vector<bool>;

// for item in x: if item: break     (locals: x, item, last)
//   0 LOAD_FAST x   1 GET_ITER   2 FOR_ITER -> 9   3 STORE_FAST item   4 LOAD_FAST item   5 POP_JUMP_IF_FALSE
//   -> 8 6 POP_TOP   7 JUMP_FORWARD -> 9   8 JUMP_BACKWARD -> 2   9 LOAD_FAST item   10 RETURN_VALUE
Function for_loop() {
  CodeBuilder b(header({"x", "item", "other"}, 1));
  const auto top = b.new_label(), next = b.new_label(), out = b.new_label();
  b.emit(Opcode::LOAD_FAST, 0);
  b.emit(Opcode::GET_ITER);
  b.bind(top);
  b.jump(Opcode::FOR_ITER, out);
  b.emit(Opcode::STORE_FAST, 1);
  b.emit(Opcode::LOAD_FAST, 1);
  b.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, next);
  b.emit(Opcode::POP_TOP);
  b.jump(Opcode::JUMP_FORWARD, out);
  b.bind(next);
  b.jump(Opcode::JUMP_BACKWARD, top);
  b.bind(out);
  b.emit(Opcode::LOAD_FAST, 1);
  b.emit(Opcode::RETURN_VALUE);
  return *b.finish();
}

TEST(ControlFlow, SuccessorsAreFallThroughThenJumpThenHandler) {
  const Function f = for_loop();
  EXPECT_EQ(successors(f, 2), (std::vector<int>{3, 9}));
  EXPECT_EQ(successors(f, 7), (std::vector<int>{9}));
  EXPECT_EQ(successors(f, 10), (std::vector<int>{}));
  EXPECT_TRUE(ends_block(Opcode::RERAISE));
  EXPECT_FALSE(ends_block(Opcode::FOR_ITER));
}

TEST(ControlFlow, StackDepthsFollowBothEdgesOfForIter) {
  EXPECT_EQ(*stack_depths(for_loop()), (std::vector<int>{0, 1, 1, 2, 1, 2, 1, 0, 1, 0, 1}));
  EXPECT_EQ(stack_effect(for_loop(), 2, false), 1);
  EXPECT_EQ(stack_effect(for_loop(), 2, true), -1);
}

TEST(ControlFlow, InstructionsReachBelowWhatTheyChange) {
  const PythonVersion v{3, 11};
  EXPECT_EQ(stack_use(v, Opcode::LIST_APPEND, 2).pops, 3);
  EXPECT_EQ(stack_use(v, Opcode::LIST_APPEND, 2).pushes, 2);
  EXPECT_EQ(stack_use(v, Opcode::COPY, 3).pops, 3);
  EXPECT_EQ(stack_use(v, Opcode::CALL, 2).pops, 4);
  EXPECT_EQ(stack_use(v, Opcode::DICT_MERGE, 1).pops, 4);
}

TEST(Liveness, ALocalIsLiveUntilItsLastReadAndDeadBeforeItIsWritten) {
  const Function f = for_loop();
  EXPECT_EQ(live_locals_at(f, 0), (Bits{true, true, false}));  // item: the loop may run zero times
  EXPECT_EQ(live_locals_at(f, 1), (Bits{false, true, false}));
  EXPECT_EQ(live_locals_at(f, 3), (Bits{false, false, false}));  // written before it is read
  EXPECT_EQ(live_locals_at(f, 10), (Bits{false, false, false}));
}

TEST(Liveness, WhatAHandlerReadsIsLiveInsideItsRegion) {
  CodeBuilder b(header({"x", "y"}, 1));
  const auto handler = b.new_label();
  b.set_region(b.new_region(handler, 0, false));
  b.emit(Opcode::LOAD_FAST, 0);
  b.emit(Opcode::STORE_FAST, 1);
  b.set_region(CodeBuilder::kNoRegion);
  b.emit(Opcode::LOAD_CONST, 0);
  b.emit(Opcode::RETURN_VALUE);
  b.bind(handler);
  b.emit(Opcode::POP_TOP);
  b.emit(Opcode::LOAD_FAST, 1);
  b.emit(Opcode::RETURN_VALUE);
  const Function f = *b.finish();
  EXPECT_EQ(live_locals_at(f, 0), (Bits{true, true}));
  EXPECT_EQ(live_locals_at(f, 1), (Bits{false, true}));  // the store may not have happened
  EXPECT_EQ(live_locals_at(f, 2), (Bits{false, false}));
}

TEST(Liveness, CellsAreLiveWhereverTheyAreReferredToAndFreeVariablesNever) {
  CodeBuilder b(header({"c", "free"}, 0, {kLocalCell, kLocalFree}));
  b.emit(Opcode::LOAD_DEREF, 1);
  b.emit(Opcode::STORE_DEREF, 0);
  b.emit(Opcode::LOAD_CONST, 0);
  b.emit(Opcode::RETURN_VALUE);
  const Function f = *b.finish();
  EXPECT_EQ(live_locals_at(f, 0),
            (Bits{true, false}));  // a store does not end the life of a cell others may share
  EXPECT_EQ(live_locals_at(f, 2), (Bits{false, false}));
}

TEST(BoundLocals, OnlyWhatEveryPathAssignsIsCertain) {
  const Function f = for_loop();
  const auto bound = bound_locals(f, 0, {true, false, false});
  EXPECT_EQ(bound[2], (Bits{true, false, false}));
  EXPECT_EQ(bound[4], (Bits{true, true, false}));
  EXPECT_EQ(bound[9], (Bits{true, false, false}));
}

TEST(Loops, AForLoopHasItsForIterAsHeaderAndLeavesThroughTwoExits) {
  const auto loop = innermost_loop(for_loop(), 4);
  ASSERT_TRUE(loop.has_value());
  EXPECT_EQ(loop->header, 2);
  EXPECT_TRUE(loop->is_for);
  EXPECT_EQ(loop->contains, (Bits{false, false, true, true, true, true, false, false, true, false, false}));
  EXPECT_EQ(loop->exits, (std::vector<int>{6, 9}));
  EXPECT_FALSE(innermost_loop(for_loop(), 1).has_value());
}

// while x: while y: pass     as CPython writes it: each condition once before and once at the bottom
Function nested_while() {
  CodeBuilder b(header({"x", "y"}, 2));
  const auto outer = b.new_label(), inner = b.new_label(), skip = b.new_label(), out = b.new_label();
  b.emit(Opcode::LOAD_FAST, 0);                    // 0
  b.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, out);  // 1
  b.bind(outer);
  b.emit(Opcode::LOAD_FAST, 1);                     // 2
  b.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, skip);  // 3
  b.bind(inner);
  b.emit(Opcode::LOAD_FAST, 1);                      // 4
  b.jump(Opcode::POP_JUMP_BACKWARD_IF_TRUE, inner);  // 5
  b.bind(skip);
  b.emit(Opcode::LOAD_FAST, 0);                      // 6
  b.jump(Opcode::POP_JUMP_BACKWARD_IF_TRUE, outer);  // 7
  b.bind(out);
  b.emit(Opcode::LOAD_CONST, 0);  // 8
  b.emit(Opcode::RETURN_VALUE);   // 9
  return *b.finish();
}

TEST(Loops, NestedLoopsAreFoundFromInsideAndFromOutside) {
  const Function f = nested_while();
  EXPECT_EQ(innermost_loop(f, 4)->header, 4);
  EXPECT_EQ(outermost_loop(f, 4)->header, 2);
  EXPECT_EQ(innermost_loop(f, 6)->header, 2);
  EXPECT_FALSE(innermost_loop(f, 4)->is_for);
  EXPECT_EQ(innermost_loop(f, 4)->exits, (std::vector<int>{6}));
  EXPECT_EQ(find_loops(f).size(), 2u);
}

// try: f() ... except: pass, inside a with: the handler's own clean-up stands under the outer handler.
TEST(HandlerDepths, ALeftHandlerDoesNotMakeItsSurroundingsOneToo) {
  CodeBuilder b(header({"x"}, 1));
  const auto inner = b.new_label(), outer = b.new_label(), done = b.new_label();
  const auto in_try = b.new_region(inner, 0, false), around = b.new_region(outer, 0, true);
  b.set_region(in_try);
  b.emit(Opcode::LOAD_FAST, 0);  // 0
  b.emit(Opcode::POP_TOP);       // 1
  b.set_region(around);
  b.jump(Opcode::JUMP_FORWARD, done);  // 2
  b.bind(inner);
  b.emit(Opcode::PUSH_EXC_INFO);       // 3
  b.emit(Opcode::POP_TOP);             // 4
  b.emit(Opcode::POP_EXCEPT);          // 5
  b.jump(Opcode::JUMP_FORWARD, done);  // 6
  b.set_region(CodeBuilder::kNoRegion);
  b.bind(outer);
  b.emit(Opcode::PUSH_EXC_INFO);  // 7
  b.emit(Opcode::RERAISE, 1);     // 8
  b.bind(done);
  b.emit(Opcode::LOAD_CONST, 0);  // 9
  b.emit(Opcode::RETURN_VALUE);   // 10
  const std::vector<int> depths = handler_depths(*b.finish());
  EXPECT_EQ(depths[4], 1);
  EXPECT_EQ(depths[6], 0);
  EXPECT_EQ(depths[9], 0);
}

}  // namespace
}  // namespace suture::testing
