// Whatever decides the machine code is part of the key.
#include "toolchain/kernel_key.h"

#include <gtest/gtest.h>

#include <set>

namespace suture {
namespace {

std::string key(const std::string& compiler, const std::string& prelude, const std::string& cpp,
                bool fast = false, std::vector<std::string> symbols = {"f"}) {
  KernelSource source;
  source.cpp = cpp;
  source.fast_math = fast;
  source.symbols = std::move(symbols);
  return to_hex(kernel_key(compiler, sha256(prelude), source));
}

TEST(KernelKey, is_the_same_for_the_same_source) {
  EXPECT_EQ(key("clang", "prelude", "code"), key("clang", "prelude", "code"));
}

TEST(KernelKey, differs_with_compiler_prelude_code_numerics_and_symbols) {
  const std::set<std::string> keys = {key("clang", "prelude", "code"),
                                      key("g++", "prelude", "code"),
                                      key("clang", "other", "code"),
                                      key("clang", "prelude", "other"),
                                      key("clang", "prelude", "code", true),
                                      key("clang", "prelude", "code", false, {"g"}),
                                      key("clang", "prelude", "code", false, {"f", "g"})};
  EXPECT_EQ(keys.size(), 7u);
}

TEST(KernelKey, differs_with_the_level_of_optimisation) {
  KernelSource source;
  std::set<std::string> keys;
  for (source.opt = 0; source.opt <= 3; ++source.opt)
    keys.insert(to_hex(kernel_key("clang", sha256("prelude"), source)));
  EXPECT_EQ(keys.size(), 4u);
}

TEST(KernelKey, differs_with_debug_info_and_the_function_it_names) {
  KernelSource source;
  source.cpp = "code";
  const auto text = [&] { return to_hex(kernel_key("clang", sha256("prelude"), source)); };
  std::set<std::string> keys = {text()};
  source.debug_info = true;
  keys.insert(text());
  source.function = "f";
  keys.insert(text());
  EXPECT_EQ(keys.size(), 3u);
}

}  // namespace
}  // namespace suture
