#include "toolbox/decompile/syntax_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>

#include "support/python_process.h"
#include "support/read_syntax.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {
namespace {

namespace s = suture::syntax;
using Value = suture::Constant;
using testing::HasSubstr;

constexpr PythonVersion kPython311{3, 11}, kPython312{3, 12};

std::string text(const s::Expression* node, PythonVersion version = kPython312,
                 Precedence least = Precedence::kTest) {
  auto printed = print_expression(*node, version, least);
  return printed ? *printed : "error: " + printed.error().message;
}

class SyntaxPrinter : public testing::Test {
 protected:
  s::Expression* name(std::string id) { return tree.make<s::Name>(std::move(id)); }
  s::Expression* value(Value constant) { return tree.make<s::Constant>(std::move(constant)); }
  s::Expression* str(std::string utf8) { return value(Value::str(std::move(utf8))); }
  s::Expression* binary(s::Expression* left, s::Operator op, s::Expression* right) {
    return tree.make<s::BinOp>(left, op, right);
  }
  s::Expression* field(s::Expression* inner, int conversion = -1, s::Expression* spec = nullptr) {
    return tree.make<s::FormattedValue>(inner, conversion, spec);
  }
  s::Expression* f_string(s::Expressions values) { return tree.make<s::JoinedStr>(std::move(values)); }
  s::Expression* item(s::Expression* of, s::Expression* index) { return tree.make<s::Subscript>(of, index); }
  std::string source() {
    auto printed = print_source(tree, kPython312);
    return printed ? *printed : "error: " + printed.error().message;
  }

  s::SyntaxTree tree;
};

TEST_F(SyntaxPrinter, parentheses_appear_only_where_they_change_the_meaning) {
  using enum s::Operator;
  auto* a = name("a");
  auto* minus_a = tree.make<s::UnaryOp>(s::UnaryOperator::USub, a);
  EXPECT_EQ(text(binary(binary(a, Add, a), Mult, a)), "(a + a) * a");
  EXPECT_EQ(text(binary(a, Sub, binary(a, Sub, a))), "a - (a - a)");
  EXPECT_EQ(text(binary(binary(a, Sub, a), Sub, a)), "a - a - a");
  EXPECT_EQ(text(binary(a, Pow, binary(a, Pow, a))), "a ** a ** a");
  EXPECT_EQ(text(binary(binary(a, Pow, a), Pow, a)), "(a ** a) ** a");
  EXPECT_EQ(text(binary(a, Pow, minus_a)), "a ** -a");
  EXPECT_EQ(text(binary(minus_a, Pow, a)), "(-a) ** a");
  EXPECT_EQ(text(tree.make<s::Call>(name("f"), s::Expressions{tree.make<s::GeneratorExp>(
                                                   a, std::vector<s::Comprehension>{{a, name("b")}})})),
            "f(a for a in b)");
  EXPECT_EQ(text(item(a, tree.make<s::Tuple>(s::Expressions{a}))), "a[a,]");
  EXPECT_EQ(text(tree.make<s::Attribute>(value(Value::number(1)), "real")), "1 .real");
  EXPECT_EQ(text(tree.make<s::Attribute>(value(Value::number(-1)), "real")), "(-1).real");
  EXPECT_EQ(text(tree.make<s::IfExp>(a, tree.make<s::IfExp>(a, a, a), tree.make<s::IfExp>(a, a, a))),
            "(a if a else a) if a else a if a else a");
}

TEST_F(SyntaxPrinter, tuples_stand_bare_where_the_grammar_lets_them) {
  auto* pair = tree.make<s::Tuple>(s::Expressions{name("a"), name("b")});
  tree.body = {tree.make<s::Assign>(s::Expressions{pair}, pair),
               tree.make<s::For>(pair, pair, s::Statements{tree.make<s::Return>(pair)}),
               tree.make<s::With>(std::vector<s::WithItem>{{pair, nullptr}}),
               tree.make<s::With>(std::vector<s::WithItem>{{pair, pair}}),
               tree.make<s::Delete>(s::Expressions{pair}),
               tree.make<s::Expr>(tree.make<s::Yield>(pair)),
               tree.make<s::Return>(tree.make<s::Yield>(nullptr))};
  EXPECT_EQ(source(),
            "a, b = a, b\nfor a, b in a, b:\n    return a, b\nwith ((a, b)):\n    pass\nwith (a, b) as (a, "
            "b):\n    pass\n"
            "del (a, b)\nyield a, b\nreturn (yield)\n");
}

TEST_F(SyntaxPrinter, constants_print_as_expressions_that_fold_to_the_same_bits) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(text(value(Value::floating(inf))), "1e309");
  EXPECT_EQ(text(value(Value::floating(-inf)), kPython312, Precedence::kAtom), "(-1e309)");
  EXPECT_EQ(text(value(Value::floating(-std::numeric_limits<double>::quiet_NaN()))), "1e309 - 1e309");
  EXPECT_EQ(text(value(Value::floating(-0.0))), "-0.0");
  EXPECT_EQ(text(value(Value::complex(1.5, -2))), "1.5 - 2j");
  EXPECT_EQ(text(value(Value::complex(-0.0, 0.0))), "-0.0 - 0j");
  EXPECT_EQ(text(value(Value::complex(0.0, -0.0))), "-(-0.0 - 0j)");
  EXPECT_EQ(text(value(Value::number(std::numeric_limits<int64_t>::min()))), "-9223372036854775808");
  EXPECT_EQ(text(value(Value::tuple({Value::number(1)}))), "(1,)");
  EXPECT_EQ(text(value(Value::frozenset({Value::number(1), Value::none()}))), "{1, None}");
}

TEST_F(SyntaxPrinter, strings_take_the_quotes_of_repr_and_hide_nothing) {
  EXPECT_EQ(text(str("it's")), "\"it's\"");
  EXPECT_EQ(text(str("'\"\\\n\x1b")), R"('\'"\\\n\x1b')");
  EXPECT_EQ(text(str("é面\u200b\u202e")), "'é面\\u200b\\u202e'");
  EXPECT_EQ(text(str("\xED\xA0\x80")), "'\\ud800'");  // a lone surrogate
  EXPECT_EQ(text(value(Value::bytes(std::string("a\0\xff'", 4)))), R"(b"a\x00\xff'")");
}

TEST_F(SyntaxPrinter, docstrings_keep_their_lines) {
  auto* doc = tree.make<s::Expr>(str("One.\n\n    \"Two\" \\ \"\"\"three\""));
  auto* f = tree.make<s::FunctionDef>("f");
  f->body = {doc};
  tree.body = {doc, f};
  EXPECT_EQ(source(),
            "'''One.\n\n    \"Two\" \\\\ \"\"\"three\"'''\n\n\ndef f():\n    '''One.\n\n    \"Two\" \\\\ "
            "\"\"\"three\"'''\n");
}

TEST_F(SyntaxPrinter, f_strings_choose_quotes_that_need_no_escape) {
  auto* inner = item(name("d"), str("a"));
  EXPECT_EQ(text(f_string({str("{x}"), field(inner, 'r')})), "f\"{{x}}{d['a']!r}\"");
  EXPECT_EQ(text(f_string({field(name("x"), -1, f_string({str(">"), field(name("w"))}))})), "f'{x:>{w}}'");
  auto* dict = tree.make<s::Dict>(s::Expressions{name("a")}, s::Expressions{name("b")});
  EXPECT_EQ(text(f_string({field(dict)})), "f'{ {a: b}}'");
  auto* lambda = tree.make<s::Lambda>(s::Arguments{}, name("a"));
  EXPECT_EQ(text(f_string({field(lambda)})), "f'{(lambda: a)}'");
}

TEST_F(SyntaxPrinter, f_strings_nest_as_far_as_the_version_lets_them) {
  s::Expression* node = name("x");
  for (int i = 0; i < 4; ++i) node = f_string({field(node)});
  EXPECT_EQ(text(node, kPython311), "f'''{f'{f\"\"\"{f\"{x}\"}\"\"\"}'}'''");
  node = f_string({field(node)});
  EXPECT_THAT(text(node, kPython311), HasSubstr("error: "));
  EXPECT_THAT(text(node, kPython312), HasSubstr("{x}"));
  for (int i = 0; i < 100; ++i) node = f_string({field(node)});
  EXPECT_EQ(text(node, kPython312), "error: f-strings are nested too deeply");
}

TEST_F(SyntaxPrinter, escapes_inside_f_strings_of_3_11_become_percent_formatting) {
  auto* join = tree.make<s::Call>(tree.make<s::Attribute>(str("\n"), "join"), s::Expressions{name("x")});
  auto* node = f_string({str("100% "), field(join, 's'), field(name("y"), 'r', f_string({str(">8")}))});
  EXPECT_EQ(text(node, kPython311), R"(('100%% %s%8r' % ('\n'.join(x), y)))");
  EXPECT_EQ(text(node, kPython312), R"(f"100% {'\n'.join(x)!s}{y!r:>8}")");
  EXPECT_THAT(text(f_string({field(join)}), kPython311), HasSubstr("error: "));
}

TEST_F(SyntaxPrinter, names_that_are_no_identifiers_are_refused) {
  for (const char* bad : {"", "1a", "a b", "import", "x;y", "\xED\xA0\x80", "a\u202e", ".0", "<lambda>"}) {
    EXPECT_THAT(text(name(bad)), HasSubstr("error: ")) << bad;
  }
  EXPECT_EQ(text(name("é")), "é");
  tree.body = {tree.make<s::Import>(std::vector<s::Alias>{{"os;x", ""}})};
  EXPECT_THAT(source(), HasSubstr("error: "));
}

TEST_F(SyntaxPrinter, annotations_may_be_text_that_is_one_expression) {
  for (const char* good : {"dict[str, 'a;b']", "a | None", "(a, b)", "a == b", "f('\\'')", "lambda: x"}) {
    EXPECT_TRUE(looks_like_expression(good)) << good;
  }
  for (const char* bad :
       {"", " a", "a; b", "a, b", "a = b", "a\nb", "a # b", "a)", "(a", "(a]", "'a", "a\\"}) {
    EXPECT_FALSE(looks_like_expression(bad)) << bad;
  }
  auto* f = tree.make<s::FunctionDef>("f");
  f->args.args = {{"x", name("list[int]")}};
  f->returns = name("a.b | None");
  tree.body = {f};
  EXPECT_EQ(source(), "def f(x: list[int]) -> a.b | None:\n    pass\n");
}

TEST_F(SyntaxPrinter, empty_bodies_pass_and_else_if_is_elif) {
  auto* last = tree.make<s::If>(name("b"), s::Statements{}, s::Statements{tree.make<s::Comment>("nothing")});
  tree.body = {tree.make<s::If>(name("a"), s::Statements{tree.make<s::Break>()}, s::Statements{last})};
  EXPECT_EQ(source(), "if a:\n    break\nelif b:\n    pass\nelse:\n    # nothing\n    pass\n");
}

TEST_F(SyntaxPrinter, comments_cannot_end_their_line) {
  tree.body = {tree.make<s::Comment>("a\rb\u2028c\nimport os\f")};
  EXPECT_EQ(source(), "# a\\x0db\\u2028c\n# import os\\x0c\npass\n");
}

TEST_F(SyntaxPrinter, depth_costs_no_stack_and_long_displays_cost_linear_time) {
  const auto seconds = [&](int items) {
    s::Expression* sum = name("a");
    for (int i = 0; i < items; ++i) sum = binary(sum, s::Operator::Add, name("b"));
    s::Expression* nested = name("x");
    for (int i = 0; i < items; ++i) nested = tree.make<s::UnaryOp>(s::UnaryOperator::USub, nested);
    auto* list = tree.make<s::List>(s::Expressions(static_cast<size_t>(items), nullptr));
    for (auto& elt : list->elts) elt = tree.make<s::Tuple>(s::Expressions{name("a"), str("b")});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(text(sum).size() + text(nested).size() + text(list).size(),
              1u + 4u * items + items + 1u + 10u * items);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_LT(seconds(50'000), 20.0);
}

// The tree of a file as Python's own parser reads it, in the words of support/read_syntax.h.
std::string syntax_words(const std::string& file) {
  std::string words;
  for (const std::string& line : run_python_script("tests/support/write_syntax.py", "'" + file + "'"))
    words += line + "\n";
  return words;
}

TEST(SyntaxPrinterOracle, every_construct_parses_back_to_the_same_tree) {
  const std::string words = syntax_words(SUTURE_TEST_ROOT "/tests/support/every_construct.txt");
  const auto tree = tests::SyntaxReader(words).read_module();
  const auto printed = print_source(tree, kPython311);
  ASSERT_TRUE(printed.ok()) << printed.error().message;
  const std::string file = testing::TempDir() + "printed_constructs.py";
  std::ofstream(file) << *printed;
  EXPECT_EQ(syntax_words(file), words) << *printed;
}

}  // namespace
}  // namespace suture::toolbox
