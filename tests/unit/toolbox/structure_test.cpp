// Statements from instructions: what each shape of bytecode is read as, version by version. (That the text compiles to the same
// bytecode is tested in tests/python/test_decompile_*.py; these tests need no interpreter.)
#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <optional>

#include "bytecode/code_builder.h"
#include "bytecode/code_tree.h"
#include "toolbox/decompile/structure.h"
#include "toolbox/decompile/syntax_printer.h"

namespace suture::toolbox {
namespace {

std::optional<Opcode> opcode_named(std::string_view name) {
  static const std::map<std::string_view, Opcode> kByName = {
#define SUTURE_OPCODE_NAME(name) {#name, Opcode::name},
#include "bytecode/opcode_names.def"
  };
  const auto found = kByName.find(name);
  if (found == kByName.end()) return std::nullopt;
  return found->second;
}

// Reads `OPCODE`, `OPCODE argument`, `OPCODE >label`, `label:`, and `@handler,depth,lasti` (until the next one, `@`: none), each
// with a `;` behind it.
class Assembler {
 public:
  explicit Assembler(CodeBuilder& builder) : builder_(builder) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find(';');
      ASSERT_NE(end, std::string_view::npos) << text;
      statement(trimmed(text.substr(0, end)));
      text = trimmed(text.substr(end + 1));
    }
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  }
  static int number(std::string_view text) {
    int value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  CodeBuilder::Label label(std::string_view name) {
    const auto [known, fresh] = labels_.try_emplace(std::string(name), 0);
    if (fresh) known->second = builder_.new_label();
    return known->second;
  }

  void statement(std::string_view text) {
    if (text.ends_with(':')) return builder_.bind(label(text.substr(0, text.size() - 1)));
    if (text.starts_with('@')) return region(text.substr(1));
    const size_t space = text.find(' ');
    const std::optional<Opcode> opcode = opcode_named(text.substr(0, space));
    ASSERT_TRUE(opcode) << text;
    const std::string_view arg = space == std::string_view::npos ? "" : text.substr(space + 1);
    if (arg.starts_with('>'))
      builder_.jump(*opcode, label(arg.substr(1)));
    else
      builder_.emit(*opcode, arg.empty() ? 0 : number(arg));
  }

  void region(std::string_view text) {
    const size_t first = text.find(',');
    if (first == std::string_view::npos) return builder_.set_region(CodeBuilder::kNoRegion);
    const std::string_view depth = text.substr(first + 1);
    builder_.set_region(builder_.new_region(label(text.substr(0, first)), number(depth),
                                            depth.substr(depth.find(',') + 1) == "1"));
  }

  CodeBuilder& builder_;
  std::map<std::string, CodeBuilder::Label> labels_;
};

// def f(a, b) with a local variable c; the constants are None, 1 and 0.
CodeTree function_of(int minor, std::string_view text, int flags = 3) {
  CodeView view{.version = {3, minor}, .name = "f", .qualname = "f", .stack_size = 9, .flags = flags};
  view.local_names = {"a", "b", "c"};
  view.local_kinds = {kLocalPlain, kLocalPlain, kLocalPlain};
  view.arg_count = 2;
  std::vector<Constant> constants = {Constant::none(), Constant::number(1), Constant::number(0)};
  for (const Constant& each : constants) view.constant_reprs.push_back(repr(each));
  CodeBuilder builder(view);
  Assembler(builder).write(text);
  Result<Function> function = builder.finish();
  EXPECT_TRUE(function.ok()) << text;
  const AssembledCode assembled = *assemble(*function);
  CodeTree tree{function->code, std::move(constants)};
  tree.view.code = assembled.code;
  tree.view.line_table = assembled.line_table;
  tree.view.exception_table = assembled.exception_table;
  return tree;
}

// The text of the body; or, where there is none, why.
std::string body_of(const CodeTree& code) {
  const Result<syntax::SyntaxTree> tree = structure(code);
  if (!tree.ok()) return tree.error().message;
  std::string text = *print_source(*tree, code.view.version);
  const std::string header = "def f(a, b):\n";
  EXPECT_TRUE(text.starts_with(header)) << text;
  return text.substr(header.size());
}

struct Shape {
  const char* name;
  int minor;
  const char* code;
  const char* body;
  int flags = 3;
};

constexpr int kGeneratorFunction = 35;

const Shape kShapes[] = {
    {"branches", 11,
     "RESUME 0; LOAD_FAST 0; POP_JUMP_FORWARD_IF_FALSE >no; LOAD_FAST 1; RETURN_VALUE; no:; LOAD_FAST 1; "
     "POP_JUMP_FORWARD_IF_FALSE >else; LOAD_FAST 1; STORE_FAST 0; JUMP_FORWARD >end; else:; LOAD_FAST 0; "
     "STORE_FAST 1; end:; LOAD_FAST 0; RETURN_VALUE;",
     "    if a:\n        return b\n    if b:\n        a = b\n    else:\n        b = a\n    return a\n"},
    {"a loop whose test stands at both ends", 11,
     "RESUME 0; LOAD_FAST 0; POP_JUMP_FORWARD_IF_FALSE >else; body:; LOAD_FAST 1; POP_JUMP_FORWARD_IF_FALSE "
     ">on; "
     "JUMP_FORWARD >end; on:; LOAD_FAST 1; STORE_FAST 0; LOAD_FAST 0; POP_JUMP_BACKWARD_IF_TRUE >body; "
     "else:; "
     "LOAD_FAST 0; STORE_FAST 1; end:; LOAD_FAST 1; RETURN_VALUE;",
     "    while a:\n        if b:\n            break\n        a = b\n    else:\n        b = a\n    return "
     "b\n"},
    {"a loop over items", 12,
     "RESUME 0; LOAD_FAST 0; GET_ITER; next:; FOR_ITER >end; STORE_FAST 1; LOAD_FAST 1; POP_JUMP_IF_FALSE "
     ">on; "
     "JUMP_BACKWARD >next; on:; LOAD_FAST 1; STORE_FAST 0; JUMP_BACKWARD >next; end:; END_FOR; LOAD_FAST 1; "
     "RETURN_VALUE;",
     "    for b in a:\n        if not b:\n            a = b\n    return b\n"},
    {"values of tests", 12,
     "RESUME 0; LOAD_FAST 0; COPY 1; POP_JUMP_IF_FALSE >inner; POP_TOP; LOAD_FAST 1; inner:; COPY 1; "
     "POP_JUMP_IF_FALSE >end; POP_TOP; LOAD_FAST 0; LOAD_FAST 1; SWAP 2; COPY 2; COMPARE_OP 2; COPY 1; "
     "POP_JUMP_IF_FALSE >drop; POP_TOP; LOAD_FAST 0; COMPARE_OP 2; JUMP_FORWARD >end; drop:; SWAP 2; "
     "POP_TOP; end:; "
     "RETURN_VALUE;",
     "    return (a and b) and a < b < a\n"},
    {"a handler with a name, and a body that always runs", 11,
     "RESUME 0; NOP; @handler,0,0; PUSH_NULL; LOAD_FAST 0; PRECALL 0; CALL 0; POP_TOP; @last,0,0; "
     "JUMP_FORWARD >copy; @restore,1,1; handler:; PUSH_EXC_INFO; LOAD_FAST 1; CHECK_EXC_MATCH; "
     "POP_JUMP_FORWARD_IF_FALSE >other; STORE_FAST 2; @clear,1,1; PUSH_NULL; LOAD_FAST 1; LOAD_FAST 2; "
     "PRECALL 1; "
     "CALL 1; POP_TOP; @last,0,0; POP_EXCEPT; LOAD_CONST 0; STORE_FAST 2; DELETE_FAST 2; JUMP_FORWARD >copy; "
     "@restore,1,1; clear:; LOAD_CONST 0; STORE_FAST 2; DELETE_FAST 2; RERAISE 1; other:; RERAISE 0; "
     "@last,0,0; "
     "restore:; COPY 3; POP_EXCEPT; RERAISE 1; @; copy:; LOAD_FAST 1; STORE_FAST 0; JUMP_FORWARD >end; "
     "@leave,1,1; "
     "last:; PUSH_EXC_INFO; LOAD_FAST 1; STORE_FAST 0; RERAISE 0; @; leave:; COPY 3; POP_EXCEPT; RERAISE 1; "
     "end:; "
     "LOAD_FAST 0; RETURN_VALUE;",
     "    try:\n        a()\n    except b as c:\n        b(c)\n    finally:\n        a = b\n    return a\n"},
    {"a context manager", 13,
     "RESUME 0; LOAD_FAST 0; BEFORE_WITH; @handler,1,1; STORE_FAST 2; LOAD_FAST 1; @; SWAP 2; LOAD_CONST 0; "
     "LOAD_CONST 0; LOAD_CONST 0; CALL 2; POP_TOP; RETURN_VALUE; @leave,3,1; handler:; PUSH_EXC_INFO; "
     "WITH_EXCEPT_START; TO_BOOL; POP_JUMP_IF_TRUE >swallow; RERAISE 2; swallow:; POP_TOP; @; POP_EXCEPT; "
     "POP_TOP; "
     "POP_TOP; LOAD_FAST 0; RETURN_VALUE; leave:; COPY 3; POP_EXCEPT; RERAISE 1;",
     "    with a as c:\n        return b\n    return a\n"},
    {"groups of exceptions", 11,
     "RESUME 0; NOP; @handler,0,0; PUSH_NULL; LOAD_FAST 0; PRECALL 0; CALL 0; POP_TOP; @; JUMP_FORWARD >end; "
     "@leave,1,1; handler:; PUSH_EXC_INFO; COPY 1; BUILD_LIST 0; SWAP 2; LOAD_FAST 1; CHECK_EG_MATCH; COPY "
     "1; "
     "POP_JUMP_FORWARD_IF_NONE >none; STORE_FAST 2; @raised,4,1; PUSH_NULL; LOAD_FAST 1; LOAD_FAST 2; "
     "PRECALL 1; "
     "CALL 1; POP_TOP; @leave,1,1; LOAD_CONST 0; STORE_FAST 2; DELETE_FAST 2; JUMP_FORWARD >next; raised:; "
     "LOAD_CONST 0; STORE_FAST 2; DELETE_FAST 2; LIST_APPEND 3; POP_TOP; JUMP_FORWARD >next; none:; POP_TOP; "
     "next:; "
     "LOAD_FAST 0; CHECK_EG_MATCH; COPY 1; POP_JUMP_FORWARD_IF_NONE >last; POP_TOP; JUMP_FORWARD >rest; "
     "last:; "
     "POP_TOP; rest:; LIST_APPEND 1; PREP_RERAISE_STAR; COPY 1; POP_JUMP_FORWARD_IF_NOT_NONE >raise; "
     "POP_TOP; @; "
     "POP_EXCEPT; JUMP_FORWARD >end; raise:; SWAP 2; POP_EXCEPT; RERAISE 0; leave:; COPY 3; POP_EXCEPT; "
     "RERAISE 1; "
     "end:; LOAD_FAST 0; RETURN_VALUE;",
     "    try:\n        a()\n    except* b as c:\n        b(c)\n    except* a:\n        pass\n    return "
     "a\n"},
    {"groups of exceptions, the list built first", 13,
     "RESUME 0; NOP; @handler,0,0; LOAD_FAST 0; PUSH_NULL; CALL 0; POP_TOP; @; end:; LOAD_FAST 0; "
     "RETURN_VALUE; "
     "@leave,1,1; handler:; PUSH_EXC_INFO; BUILD_LIST 0; COPY 2; LOAD_FAST 1; CHECK_EG_MATCH; COPY 1; "
     "POP_JUMP_IF_NONE >last; POP_TOP; @raised,4,1; LOAD_FAST 1; PUSH_NULL; CALL 0; POP_TOP; @leave,1,1; "
     "LIST_APPEND 1; JUMP_FORWARD >rest; raised:; LIST_APPEND 3; POP_TOP; LIST_APPEND 1; JUMP_FORWARD >rest; "
     "last:; POP_TOP; LIST_APPEND 1; rest:; CALL_INTRINSIC_2 1; COPY 1; POP_JUMP_IF_NOT_NONE >raise; "
     "POP_TOP; @; "
     "POP_EXCEPT; JUMP_BACKWARD_NO_INTERRUPT >end; raise:; SWAP 2; POP_EXCEPT; RERAISE 0; leave:; COPY 3; "
     "POP_EXCEPT; RERAISE 1;",
     "    try:\n        a()\n    except* b:\n        b()\n    return a\n"},
    {"a comprehension without a function of its own", 12,
     "RESUME 0; LOAD_FAST 0; GET_ITER; LOAD_FAST_AND_CLEAR 2; SWAP 2; @restore,2,0; BUILD_LIST 0; SWAP 2; "
     "next:; "
     "FOR_ITER >end; STORE_FAST 2; LOAD_FAST 2; POP_JUMP_IF_TRUE >add; @; JUMP_BACKWARD >next; @restore,2,0; "
     "add:; "
     "LOAD_FAST 2; LIST_APPEND 2; JUMP_BACKWARD >next; end:; END_FOR; @; SWAP 2; STORE_FAST 2; RETURN_VALUE; "
     "restore:; SWAP 2; POP_TOP; SWAP 2; STORE_FAST 2; RERAISE 0;",
     "    return [c for c in a if c]\n"},
    {"patterns", 13,
     "RESUME 0; LOAD_FAST 0; COPY 1; MATCH_SEQUENCE; POP_JUMP_IF_FALSE >none; GET_LEN; LOAD_CONST 1; "
     "COMPARE_OP 172; "
     "POP_JUMP_IF_FALSE >none; COPY 1; LOAD_CONST 2; BINARY_SUBSCR; STORE_FAST 1; POP_TOP; POP_TOP; "
     "LOAD_FAST 1; "
     "RETURN_VALUE; none:; POP_TOP; POP_JUMP_IF_NOT_NONE >end; LOAD_FAST 0; RETURN_VALUE; end:; LOAD_FAST 1; "
     "RETURN_VALUE;",
     "    match a:\n        case [b, *_]:\n            return b\n        case None:\n            return a\n  "
     "  return b\n"},
    {"a generator whose yield is gone", 13,
     "RETURN_GENERATOR; POP_TOP; @stop,0,1; RESUME 0; LOAD_FAST 0; RETURN_VALUE; @; stop:; CALL_INTRINSIC_1 "
     "3; "
     "RERAISE 1;",
     "    return a\n    if False:\n        yield\n", kGeneratorFunction},
    {"a variable that nothing is assigned to", 12, "RESUME 0; LOAD_FAST_CHECK 2; RETURN_VALUE;",
     "    return c\n    if False:\n        c = None\n"},
};

TEST(Structure, EveryShapeIsReadAsTheStatementItComesFrom) {
  for (const Shape& shape : kShapes) {
    EXPECT_EQ(body_of(function_of(shape.minor, shape.code, shape.flags)), shape.body) << shape.name;
  }
}

TEST(Structure, WhatNoCompilerEmitsIsAnErrorWithItsPlace) {
  const auto why = [](const char* code) { return body_of(function_of(12, code)); };
  EXPECT_EQ(why("RESUME 0; LOAD_FAST 0; PUSH_EXC_INFO; RETURN_VALUE;"),
            "f: offset 4 (line 0): a handler without an exception");
  EXPECT_EQ(why("RESUME 0; LOAD_FAST 0; LOAD_FAST 1; LIST_APPEND 1; RETURN_VALUE;"),
            "f: offset 6 (line 0): an element is added to something other than a display");
  EXPECT_EQ(why("RESUME 0; LOAD_FAST 0; LOAD_FAST 1; SEND >end; end:; RETURN_VALUE;"),
            "f: offset 6: a SEND that the compiler emits nowhere");
}

TEST(Structure, ABodyThatFailsIsListedWhenTheCallerAsksForIt) {
  std::vector<FailedCode> failed;
  StructureOptions options;
  options.failed = &failed;
  const CodeTree code = function_of(11, "RESUME 0; LOAD_FAST 0; PUSH_EXC_INFO; RETURN_VALUE;");
  const Result<syntax::SyntaxTree> tree = structure(code, options);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(*print_source(*tree, {3, 11}), "def f(a, b):\n    ...\n");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed.front().code, &code);
  EXPECT_NE(failed.front().reason.find("a handler without an exception"), std::string::npos);
}

}  // namespace
}  // namespace suture::toolbox
