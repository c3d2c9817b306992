// Marshalled code objects written byte by byte. (That those of the running Python are read as it reads them is
// tested in tests/python/test_code_reader.py.)
#include "bytecode/marshal_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bytecode/pyc_file.h"

namespace suture::testing {
namespace {

std::string number(uint32_t value, int bytes = 4) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}
std::string raw(std::string_view bytes) {
  return "s" + number(static_cast<uint32_t>(bytes.size())) + std::string(bytes);
}
std::string name(std::string_view text) {
  return "z" + number(static_cast<uint32_t>(text.size()), 1) + std::string(text);
}
std::string tuple(const std::vector<std::string>& items) {
  std::string out = "(" + number(static_cast<uint32_t>(items.size()));
  for (const std::string& item : items) out += item;
  return out;
}

// RESUME 0; RETURN_VALUE of 3.11 with these constants.
struct CodeBytes {
  uint32_t arg_count = 0, posonly = 0, kwonly = 0, stack = 1, flags = 3;
  std::string code = raw(std::string("\x97\0\x53\0", 4));
  std::string constants = tuple({"N"});
  std::string names = tuple({});
  std::string locals = tuple({}), kinds = raw("");
  std::string file = name("a.py");

  std::string text() const {
    return "c" + number(arg_count) + number(posonly) + number(kwonly) + number(stack) + number(flags) + code +
           constants + names + locals + kinds + file + name("f") + name("f") + number(7) + raw("") + raw("");
  }
};

std::string with_constant(const std::string& constant) {
  return CodeBytes{.constants = tuple({constant})}.text();
}
Constant read_constant(const std::string& constant) {
  auto code = read_code(with_constant(constant), {3, 11});
  EXPECT_TRUE(code.ok()) << (code.ok() ? "" : code.error().message);
  return code.ok() ? (*code)->constants.at(0) : Constant::str("not read");
}
std::string error_of(const std::string& bytes, const MarshalLimits& limits = {}) {
  auto code = read_code(bytes, {3, 11}, limits);
  return code.ok() ? "read" : code.error().message;
}
std::string digits(std::vector<uint16_t> base_15, bool negative = false) {
  const auto count = static_cast<int32_t>(base_15.size());
  std::string out = "l" + number(static_cast<uint32_t>(negative ? -count : count));
  for (const uint16_t digit : base_15) out += number(digit, 2);
  return out;
}

TEST(MarshalReader, TheHeaderOfACodeObject) {
  CodeBytes bytes{
      .arg_count = 1, .flags = 0x43, .locals = tuple({name("x"), name("y")}), .kinds = raw("\x20\x60")};
  auto code = read_code(bytes.text(), {3, 11});
  ASSERT_TRUE(code.ok()) << code.error().message;
  const CodeView& view = (*code)->view;
  EXPECT_EQ(view.arg_count, 1);
  EXPECT_EQ(view.flags, 0x43);
  EXPECT_EQ(view.first_line, 7);
  EXPECT_EQ(view.filename, "a.py");
  EXPECT_EQ(view.local_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(view.local_kinds, (std::vector<uint8_t>{0x20, 0x60}));
  EXPECT_EQ(view.code.size(), 4u);
}

TEST(MarshalReader, IntegersOfAnySizeAreExact) {
  EXPECT_EQ(read_constant("i" + number(0xFFFFFFFF)).integer, -1);
  EXPECT_EQ(read_constant(digits({0x7FFF, 0x7FFF, 0x7FFF, 0x7FFF, 7})).integer, INT64_MAX);
  EXPECT_EQ(read_constant(digits({0, 0, 0, 0, 8}, true)).integer, INT64_MIN);
  EXPECT_EQ(read_constant(digits({0, 0, 0, 0, 8})).text, "9223372036854775808");
  EXPECT_EQ(read_constant(digits({1, 0, 0, 0, 8}, true)).text, "-9223372036854775809");
}

TEST(MarshalReader, IntegersThatAreTooLongForADecimalLiteralAreHexadecimal) {
  std::vector<uint16_t> long_number(952, 0);  // 2 ** (951 * 15): 4295 digits
  long_number.back() = 1;
  const std::string decimal = read_constant(digits(long_number)).text;
  EXPECT_EQ(decimal.size(), 4295u);
  EXPECT_EQ(decimal.substr(0, 2), "15");
  long_number.insert(long_number.begin(), 0);  // 2 ** (952 * 15): 4299 digits
  EXPECT_EQ(read_constant(digits(long_number)).text.size(), 4299u);
  long_number.insert(long_number.begin(), 0);  // 2 ** (953 * 15): 4304 digits
  const std::string hexadecimal = read_constant(digits(long_number)).text;
  EXPECT_EQ(hexadecimal.substr(0, 6), "0x8000");
  EXPECT_EQ(hexadecimal.size(), 2u + (953 * 15) / 4 + 1);
}

TEST(MarshalReader, FloatsKeepTheirBits) {
  const Constant zero = read_constant("g" + number(0) + number(0x80000000));
  EXPECT_TRUE(std::signbit(zero.real));
  EXPECT_FALSE(same_constant(zero, Constant::floating(0.0)));
  EXPECT_EQ(repr(zero), "-0.0");
  const Constant nan = read_constant("g" + number(1) + number(0x7FF80000));
  EXPECT_FALSE(same_constant(nan, Constant::floating(std::nan(""))));
  EXPECT_EQ(repr(read_constant("f" + std::string("\3") + "1.5")), "1.5");
  EXPECT_EQ(repr(read_constant("y" + number(0) + number(0) + number(0) + number(0xBFF00000))), "-1j");
}

TEST(MarshalReader, TextKeepsLoneSurrogates) {
  EXPECT_EQ(repr(read_constant("u" + number(3) + "\xED\xA0\x80")), "'\\ud800'");
  EXPECT_EQ(repr(read_constant("u" + number(2) + "\xC3\xA9")), "'\xC3\xA9'");
  EXPECT_NE(error_of(with_constant("u" + number(1) + "\xFF")).find("not UTF-8"), std::string::npos);
}

TEST(MarshalReader, ReferencesSeeCompleteObjectsOnly) {
  const std::string flagged = std::string(1, static_cast<char>('z' | 0x80)) + number(1, 1) + "v";
  auto code = read_code(CodeBytes{.constants = tuple({flagged, "r" + number(0)})}.text(), {3, 11});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ((*code)->constants.at(1).text, "v");
  const std::string itself = std::string(1, static_cast<char>('(' | 0x80)) + number(1) + "r" + number(0);
  EXPECT_NE(error_of(with_constant(itself)).find("object 0 contains itself"), std::string::npos);
  EXPECT_NE(error_of(with_constant("r" + number(9))).find("reference to object 9 of 0"), std::string::npos);
}

TEST(MarshalReader, ATupleThatDoublesAtEveryLevelIsRefused) {
  std::string doubled(1, static_cast<char>('N' | 0x80));
  uint32_t level = 0;
  for (; level < 60; ++level)
    doubled = std::string(1, static_cast<char>('(' | 0x80)) + number(2) + doubled + "r" + number(60 - level);
  EXPECT_NE(error_of(with_constant(doubled)).find("with its references written out"), std::string::npos);
}

TEST(MarshalReader, DeepNestingIsRefused) {
  std::string deep = "N";
  for (int i = 0; i < 2000; ++i) deep = ")" + std::string(1, '\1') + deep;
  EXPECT_NE(error_of(with_constant(deep)).find("nested deeper than 500"), std::string::npos);
}

TEST(MarshalReader, EveryPrefixEndsInAnErrorWithItsPosition) {
  const std::string whole = with_constant(tuple({digits({1, 2, 3, 4, 5, 6}), name("abc"), "g12345678"}));
  ASSERT_EQ(error_of(whole), "read");
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string message = error_of(whole.substr(0, length));
    EXPECT_NE(message.find("bad marshal data at byte"), std::string::npos) << length << ": " << message;
  }
}

TEST(MarshalReader, WhatNoCompilerMakesIsNamed) {
  EXPECT_NE(error_of(with_constant("[" + number(0))).find("no constant of compiled code"), std::string::npos);
  EXPECT_NE(error_of(with_constant("@")).find("unknown type 0x40"), std::string::npos);
  EXPECT_NE(error_of("N").find("no code object"), std::string::npos);
  EXPECT_NE(error_of(CodeBytes{.arg_count = 3}.text()).find("3 + 0 parameters, but 0 locals"),
            std::string::npos);
  EXPECT_NE(error_of(CodeBytes{.posonly = 1}.text()).find("co_posonlyargcount 1"), std::string::npos);
  EXPECT_NE(error_of(CodeBytes{.code = raw("a")}.text()).find("co_code has 1 bytes"), std::string::npos);
  EXPECT_NE(error_of(CodeBytes{.names = tuple({"N"})}.text()).find("co_names holds"), std::string::npos);
}

TEST(MarshalReader, PlaceholdersAreListsOfOneNumberWhereTheyAreAllowed) {
  const std::string placeholder = with_constant("[" + number(1) + "i" + number(4));
  EXPECT_NE(error_of(placeholder), "read");
  auto code = read_code(placeholder, {3, 11}, {.placeholders = true});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ((*code)->view.constant_reprs.at(0), "_K[4]");
}

TEST(MarshalReader, UnknownVersionsAreNamed) {
  auto code = read_code(CodeBytes{}.text(), {3, 10});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().message, "code of Python 3.10 cannot be read; known are 3.11, 3.12, 3.13");
}

std::string pyc(uint32_t magic, uint32_t flags = 0, const std::string& body = CodeBytes{}.text()) {
  return number(magic, 2) + "\r\n" + number(flags) + number(11) + number(22) + body;
}

TEST(PycFile, HeaderAndCode) {
  auto file = read_pyc(pyc(3495));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version, (PythonVersion{3, 11}));
  EXPECT_EQ(file->source_time, 11u);
  EXPECT_EQ(file->source_size, 22u);
  EXPECT_EQ(file->code->view.name, "f");
  auto hashed = read_pyc(pyc(3495, 3));
  ASSERT_TRUE(hashed.ok());
  EXPECT_TRUE(hashed->hash_based && hashed->check_source);
  EXPECT_EQ(hashed->source_hash, 11u | uint64_t{22} << 32);
}

TEST(PycFile, OtherVersionsAndDamageAreNamed) {
  const auto message = [](const std::string& bytes) {
    auto file = read_pyc(bytes);
    return file.ok() ? "read" : file.error().message;
  };
  EXPECT_EQ(message(pyc(3439)), "a .pyc file of Python 3.10; files of 3.11, 3.12, 3.13 can be read");
  EXPECT_EQ(message(pyc(3490)),
            "a .pyc file of a pre-release of Python 3.11 (magic number 3490, the release has 3495)");
  EXPECT_NE(message(pyc(1)).find("no .pyc file of a known Python version (magic number 1)"),
            std::string::npos);
  EXPECT_NE(message("").find("does not begin with a magic number"), std::string::npos);
  EXPECT_NE(message(pyc(3495).substr(0, 9)).find("ends inside its header"), std::string::npos);
  EXPECT_NE(message(pyc(3495, 8)).find("unknown flags 0x8"), std::string::npos);
  EXPECT_NE(message(pyc(3495, 0, "")).find("bad marshal data at byte 0"), std::string::npos);
}

TEST(Constant, EqualMeansSameTypeAndSameValue) {
  const Constant one = Constant::number(1), yes = Constant::boolean(true),
                 one_point = Constant::floating(1.0);
  EXPECT_FALSE(same_constant(one, yes));
  EXPECT_FALSE(same_constant(one, one_point));
  EXPECT_TRUE(same_constant(Constant::tuple({one, yes}), Constant::tuple({one, yes})));
  EXPECT_FALSE(same_constant(Constant::tuple({one, yes}), Constant::tuple({yes, one})));
  EXPECT_TRUE(same_constant(Constant::frozenset({one, one_point}), Constant::frozenset({one_point, one})));
  EXPECT_FALSE(same_constant(Constant::frozenset({one}), Constant::frozenset({yes})));
  EXPECT_FALSE(same_constant(Constant::str("a"), Constant::bytes("a")));
}

TEST(Constant, PrintsAsPythonDoes) {
  EXPECT_EQ(repr(Constant::floating(1e16)), "1e+16");
  EXPECT_EQ(repr(Constant::floating(100.0)), "100.0");
  EXPECT_EQ(repr(Constant::complex(-0.0, 2)), "(-0+2j)");
  EXPECT_EQ(repr(Constant::str("it's\n\x7f")), "\"it's\\n\\x7f\"");
  EXPECT_EQ(repr(Constant::bytes("\xff'\"")), "b'\\xff\\'\"'");
  EXPECT_EQ(repr(Constant::tuple({Constant::none()})), "(None,)");
  EXPECT_EQ(repr(Constant::frozenset({})), "frozenset()");
  EXPECT_EQ(repr(Constant::str(std::string(50, 'a')), 10), "'aaaaaaaaa...");
}

}  // namespace
}  // namespace suture::testing
