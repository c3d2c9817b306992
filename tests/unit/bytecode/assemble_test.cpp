// Decoding and assembling, on code that stresses the formats. (That every code object of the standard library
// survives the round trip is tested with an interpreter, in tests/unit/cpython/code_object_test.cpp.)
#include "bytecode/exception_table.h"
#include "bytecode/line_table.h"
#include "support.h"

namespace suture::testing {
namespace {

std::vector<uint8_t> code_of(const Function& function) {
  auto assembled = assemble(function);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
  return assembled->code;
}

TEST(Assemble, CachesFollowTheirInstructions) {
  CodeBuilder b(header({"x"}, 1));
  b.emit(Opcode::RESUME);
  b.emit(Opcode::LOAD_FAST, 0);
  b.emit(Opcode::LOAD_ATTR, 2);
  b.emit(Opcode::RETURN_VALUE);
  EXPECT_EQ(code_of(*b.finish()),
            (std::vector<uint8_t>{151, 0, 124, 0, 106, 2, 0, 0, 0, 0, 0, 0, 0, 0, 83, 0}));
}

TEST(Assemble, ArgumentsAbove255GetPrefixesWithTheHighBytes) {
  CodeBuilder b(header({}, 0));
  b.emit(Opcode::LOAD_CONST, 0x01020304);
  b.emit(Opcode::RETURN_VALUE);
  const Function function = *b.finish();
  EXPECT_EQ(code_of(function), (std::vector<uint8_t>{144, 1, 144, 2, 144, 3, 100, 4, 83, 0}));
  EXPECT_EQ(reread(function).instructions[0].arg, 0x01020304);
}

// A jump over `count` NOPs and back: both grow prefixes, and the prefix of one lengthens the other.
Function jump_over(int count) {
  CodeBuilder b(header({"x"}, 1));
  const auto top = b.new_label(), out = b.new_label();
  b.bind(top);
  b.emit(Opcode::LOAD_FAST, 0);
  b.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, out);
  for (int i = 0; i < count; ++i) b.emit(Opcode::NOP);
  b.jump(Opcode::JUMP_BACKWARD, top);
  b.bind(out);
  b.emit(Opcode::LOAD_CONST, 0);
  b.emit(Opcode::RETURN_VALUE);
  return *b.finish();
}

TEST(Assemble, JumpsGrowUntilTheirDistancesFit) {
  for (int count : {250, 252, 253, 254, 255, 256, 65530, 65536, 70000}) {
    const Function function = jump_over(count);
    const Function again = reread(function);
    ASSERT_EQ(again.instructions.size(), function.instructions.size()) << count;
    EXPECT_EQ(again.instructions[1].target, count + 3) << count;
    EXPECT_EQ(again.instructions[static_cast<size_t>(count) + 2].target, 0) << count;
  }
}

TEST(Assemble, AJumpOf255UnitsNeedsNoPrefixAndOneOf256Does) {
  const size_t fixed = 2 + 2 + 2 + 2 + 2;  // load, jump, load, return; the backward jump has a prefix in both
  EXPECT_EQ(code_of(jump_over(253)).size(), fixed + 253 * 2 + 2);
  EXPECT_EQ(code_of(jump_over(254)).size(), fixed + 254 * 2 + 4);
}

TEST(Assemble, TheBuilderPicksTheDirectionOfAJump) {
  CodeBuilder b(header({"x"}, 1));
  const auto top = b.new_label();
  b.bind(top);
  b.emit(Opcode::LOAD_FAST, 0);
  b.jump(Opcode::POP_JUMP_FORWARD_IF_TRUE, top);
  b.emit(Opcode::LOAD_CONST, 0);
  b.emit(Opcode::RETURN_VALUE);
  EXPECT_EQ(b.finish()->instructions[1].opcode, Opcode::POP_JUMP_BACKWARD_IF_TRUE);
}

TEST(Assemble, AJumpThatHasNoBackwardFormIsRefusedBackwards) {
  CodeBuilder b(header({"x"}, 1));
  const auto top = b.new_label();
  b.bind(top);
  b.emit(Opcode::LOAD_FAST, 0);
  b.jump(Opcode::JUMP_IF_TRUE_OR_POP, top);
  auto finished = b.finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().message, "JUMP_IF_TRUE_OR_POP cannot jump backward");
}

TEST(Assemble, StackSizeIsTheLargestDepthIncludingHandlers) {
  CodeBuilder b(header({"x"}, 1));
  const auto handler = b.new_label();
  b.emit(Opcode::LOAD_FAST, 0);
  b.set_region(b.new_region(handler, 1, true));
  b.emit(Opcode::NOP);
  b.set_region(CodeBuilder::kNoRegion);
  b.emit(Opcode::RETURN_VALUE);
  b.bind(handler);
  b.emit(Opcode::RERAISE, 1);
  EXPECT_EQ(assemble(*b.finish())->stack_size, 3);
}

TEST(Assemble, TwoDepthsAtOneInstructionAreADefect) {
  CodeBuilder b(header({"x"}, 1));
  const auto join = b.new_label();
  b.emit(Opcode::LOAD_FAST, 0);
  b.jump(Opcode::POP_JUMP_FORWARD_IF_TRUE, join);
  b.emit(Opcode::LOAD_CONST, 0);
  b.bind(join);
  b.emit(Opcode::RETURN_VALUE);
  auto assembled = assemble(*b.finish());
  ASSERT_FALSE(assembled.ok());
  EXPECT_EQ(assembled.error().kind, ErrorKind::kInternal);
}

TEST(Decode, AnUnknownVersionIsUnsupported) {
  CodeView view = header({}, 0);
  view.version = {3, 99};
  EXPECT_EQ(decode_function(view).error().kind, ErrorKind::kUnsupported);
}

TEST(Decode, CodeThatEndsInsideAnInstructionIsADefect) {
  CodeView view = header({}, 0);
  view.code = {144, 1};
  EXPECT_EQ(decode_function(view).error().message, "code ends inside an instruction");
}

TEST(Decode, AJumpIntoTheMiddleOfAnInstructionIsADefect) {
  CodeView view = header({}, 0);
  view.code = {110, 2, 106, 0, 0, 0, 0, 0, 0, 0, 0, 0, 83, 0};  // JUMP_FORWARD into the caches of LOAD_ATTR
  EXPECT_EQ(decode_function(view).error().message, "jump at 0 goes into the middle of an instruction");
}

TEST(LineTable, EveryFormOfEntryIsReadBack) {
  const std::vector<Position> positions = {
      {10, 10, 4, 9},   {10, 10, 79, 94},   {10, 10, 80, 81},   {11, 11, 3, 127}, {12, 12, 0, 40},
      {12, 12, -1, -1}, {9, 9, -1, -1},     {9, 9, 200, 300},   {5, 8, 2, 1},     {0, 0, -1, -1},
      {700, 700, 0, 0}, {699, 705, 63, 64}, {700, 700, 5, 2000}};
  LineTableWriter writer(10);
  for (const Position& p : positions) writer.add(p, 1);
  auto read = parse_line_table(writer.take(), 10);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, positions);
}

TEST(LineTable, ALongInstructionTakesSeveralEntries) {
  LineTableWriter writer(1);
  writer.add({1, 1, 0, 3}, 11);
  const std::vector<uint8_t> bytes = writer.take();
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x87, 0x03, 0x82, 0x03}));
}

TEST(LineTable, ATruncatedTableIsADefect) {
  EXPECT_EQ(parse_line_table({0xF0, 0x40}, 1).error().message, "location table ends inside an entry");
  EXPECT_EQ(parse_line_table({0x00}, 1).error().message,
            "location table entry does not start with a marked byte");
}

TEST(ExceptionTable, NumbersOfSeveralDigitsAreReadBack) {
  const std::vector<ExceptionEntry> entries = {
      {0, 1, 63, 0, false}, {64, 5000, 262144, 7, true}, {5000, 5001, 2, 40, false}};
  auto read = parse_exception_table(write_exception_table(entries));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*read)[i].start, entries[i].start);
    EXPECT_EQ((*read)[i].end, entries[i].end);
    EXPECT_EQ((*read)[i].target, entries[i].target);
    EXPECT_EQ((*read)[i].depth, entries[i].depth);
    EXPECT_EQ((*read)[i].push_last_instruction, entries[i].push_last_instruction);
  }
}

TEST(ExceptionTable, TheFirstByteOfAnEntryIsMarked) {
  EXPECT_EQ(write_exception_table({{64, 66, 70, 1, true}}),
            (std::vector<uint8_t>{0x80 | 0x40 | 1, 0, 2, 0x40 | 1, 6, 3}));
}

TEST(Listing, ShowsOffsetsNamesTargetsLinesAndRegions) {
  CodeBuilder b(header({"x"}, 1));
  const auto out = b.new_label(), handler = b.new_label();
  b.set_position(at_line(5));
  b.emit(Opcode::LOAD_FAST, 0);
  b.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, out);
  b.set_region(b.new_region(handler, 0, false));
  b.emit(Opcode::LOAD_GLOBAL, b.name("np") << 1 | 1);
  b.set_region(CodeBuilder::kNoRegion);
  b.emit(Opcode::POP_TOP);
  b.emit(Opcode::POP_TOP);
  b.bind(out);
  b.emit(Opcode::LOAD_CONST, 0);
  b.emit(Opcode::RETURN_VALUE);
  b.bind(handler);
  b.emit(Opcode::RERAISE, 0);
  EXPECT_EQ(to_text(reread(*b.finish())),
            "    0 LOAD_FAST                    0 (x)                     ; example.py:5\n"
            "    2 POP_JUMP_FORWARD_IF_FALSE    -> 20                     ; example.py:5\n"
            "    4 LOAD_GLOBAL                  1 (NULL + np)             ; example.py:5\n"
            "   16 POP_TOP                                                ; example.py:5\n"
            "   18 POP_TOP                                                ; example.py:5\n"
            "   20 LOAD_CONST                   0 (None)                  ; example.py:5\n"
            "   22 RETURN_VALUE                                           ; example.py:5\n"
            "   24 RERAISE                      0                         ; example.py:5\n"
            "exception table:\n"
            "  4 to 16 -> 24 [0]\n");
}

}  // namespace
}  // namespace suture::testing
