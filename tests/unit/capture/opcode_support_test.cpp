// Every opcode of every supported Python version is listed in handlers.def.
#include <gtest/gtest.h>

#include "bytecode/instruction.h"
#include "capture/symbolic_interpreter.h"

namespace suture {
namespace {

TEST(OpcodeSupportTable, every_opcode_of_python_3_11_is_handled_or_left_to_python_for_a_reason) {
  const PythonVersion version{3, 11};
  ASSERT_TRUE(has_opcode_table(version));
  int listed = 0;
  for (int number = 0; number < 256; ++number) {
    const OpcodeInfo* info = opcode_info(version, static_cast<uint8_t>(number));
    if (!info) continue;
    ++listed;
    EXPECT_NE(opcode_support(info->opcode), OpcodeSupport::kUnlisted) << info->name;
  }
  EXPECT_GE(listed, 100);
}

TEST(OpcodeSupportTable, what_the_decoder_folds_away_never_reaches_a_handler) {
  EXPECT_EQ(opcode_support(Opcode::CACHE), OpcodeSupport::kCannotOccur);
  EXPECT_EQ(opcode_support(Opcode::EXTENDED_ARG), OpcodeSupport::kCannotOccur);
}

TEST(OpcodeSupportTable, exception_handlers_are_left_to_python) {
  EXPECT_EQ(opcode_support(Opcode::PUSH_EXC_INFO), OpcodeSupport::kBreaks);
  EXPECT_EQ(opcode_support(Opcode::RAISE_VARARGS), OpcodeSupport::kHandled);
}

}  // namespace
}  // namespace suture
