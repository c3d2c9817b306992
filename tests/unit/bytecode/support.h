// Functions for the tests of this room, written with CodeBuilder: no interpreter is needed.
#pragma once

#include <gtest/gtest.h>

#include "bytecode/analysis.h"
#include "bytecode/code_builder.h"

namespace suture::testing {

inline CodeView header(std::vector<std::string> locals, int arguments, std::vector<uint8_t> kinds = {}) {
  CodeView view;
  view.version = {3, 11};
  view.name = view.qualname = "f";
  view.filename = "/tmp/example.py";
  view.first_line = 1;
  view.flags = 0x03;  // optimized, new locals
  view.arg_count = arguments;
  view.local_kinds = kinds.empty() ? std::vector<uint8_t>(locals.size(), kLocalPlain) : kinds;
  view.local_names = std::move(locals);
  view.constant_reprs = {"None"};
  return view;
}

inline Instruction at_line(int line, int column = -1, int end_column = -1) {
  Instruction position;
  position.line = position.end_line = line;
  position.column = column;
  position.end_column = end_column;
  return position;
}

// The function, and again what a code object made from it decodes to.
inline Function reread(const Function& function) {
  auto assembled = assemble(function);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
  CodeView view = function.code;
  view.code = assembled->code;
  view.line_table = assembled->line_table;
  view.exception_table = assembled->exception_table;
  view.stack_size = assembled->stack_size;
  auto decoded = decode_function(view);
  EXPECT_TRUE(decoded.ok());
  return std::move(*decoded);
}

}  // namespace suture::testing
