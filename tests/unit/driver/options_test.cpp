// Options: defaults, the environment, and what is refused.
#include "driver/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace suture {
namespace {

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, have_the_defaults_of_the_table) {
  Options options;
  for (const OptionInfo& option : all_options())
    if (option.env.empty() || !std::getenv(std::string(option.env).c_str()))
      EXPECT_EQ(options.text(option.name), option.default_text) << option.name;
  EXPECT_EQ(options.number("recompile_limit"), 8);
  EXPECT_TRUE(options.flag("automatic_dynamic"));
}

TEST(Options, read_the_environment_once_when_made) {
  Environment limit("SUTURE_RECOMPILE_LIMIT", "3");
  Environment disable("SUTURE_DISABLE", "yes");
  Options options;
  EXPECT_EQ(options.number("recompile_limit"), 3);
  EXPECT_TRUE(options.flag("disable"));
  EXPECT_TRUE(options.problems().empty());
}

TEST(Options, take_only_text_from_the_environment) {
  for (const OptionInfo& option : all_options()) {
    if (option.env.empty()) continue;
    const std::string name(option.env);
    Environment bytes(name.c_str(), "caf\xe9");
    Options options;
    EXPECT_EQ(options.text(option.name), option.default_text) << name;
    ASSERT_EQ(options.problems().size(), 1u) << name;
    EXPECT_EQ(options.problems()[0],
              name + ": using '" + std::string(option.default_text) + "'; 'caf\\xe9' is not UTF-8");
  }
}

TEST(Options, have_no_cache_in_a_directory_whose_path_is_no_text) {
  Environment home("XDG_CACHE_HOME", "/caf\xe9");
  EXPECT_FALSE(user_cache_directory().ok());
  const Options options;
  ASSERT_EQ(options.problems().size(), 1u);
  EXPECT_EQ(options.problems()[0],
            "XDG_CACHE_HOME: nothing is cached; '/caf\\xe9' is not UTF-8; set SUTURE_CACHE_DIR");
  Environment own("SUTURE_CACHE_DIR", "off");
  EXPECT_TRUE(Options().problems().empty());
}

TEST(Options, keep_the_default_and_tell_when_the_environment_is_wrong) {
  Environment limit("SUTURE_RECOMPILE_LIMIT", "many");
  Options options;
  EXPECT_EQ(options.number("recompile_limit"), 8);
  ASSERT_EQ(options.problems().size(), 1u);
  EXPECT_EQ(options.problems()[0],
            "SUTURE_RECOMPILE_LIMIT: using '8'; option 'recompile_limit' is an int; 'many' is not a number");
}

TEST(Options, name_the_nearest_option_for_an_unknown_one) {
  Options options;
  const Status status = options.set("recompile_limits", "4");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "no option is named 'recompile_limits'; did you mean 'recompile_limit'?");
}

TEST(Options, refuse_values_of_the_wrong_type_and_keep_the_old_one) {
  Options options;
  EXPECT_FALSE(options.set("disable", "perhaps").ok());
  EXPECT_FALSE(options.set("max_unroll", "12x").ok());
  EXPECT_FALSE(options.flag("disable"));
  EXPECT_EQ(options.number("max_unroll"), 64);
  EXPECT_TRUE(options.set("disable", "ON").ok());
  EXPECT_TRUE(options.flag("disable"));
}

std::string refusal(const char* option, const char* value) {
  Options options;
  const std::string before = options.text(option);
  const Status status = options.set(option, value);
  EXPECT_EQ(options.text(option), before);
  return status.ok() ? "" : status.error().message;
}

TEST(Options, refuse_values_outside_their_domain_and_say_what_is_allowed) {
  EXPECT_EQ(refusal("toolchain", "nonsense"),
            "option 'toolchain' cannot be 'nonsense'; allowed: auto, clang, subprocess");
  EXPECT_EQ(refusal("toolchain", "clan"),
            "option 'toolchain' cannot be 'clan'; allowed: auto, clang, subprocess; did you mean 'clang'?");
  EXPECT_EQ(refusal("numerics", ""), "option 'numerics' cannot be ''; allowed: exact, fast");
  EXPECT_EQ(refusal("recompile_limit", "-3"),
            "option 'recompile_limit' cannot be -3; allowed: 1 to 2147483647");
  EXPECT_EQ(refusal("recompile_limit", "0"),
            "option 'recompile_limit' cannot be 0; allowed: 1 to 2147483647");
  EXPECT_EQ(refusal("max_unroll", "99999999999999999999"),
            "option 'max_unroll' cannot be 99999999999999999999; allowed: 0 to 2147483647");
  EXPECT_EQ(refusal("logs_format", "colourful"),
            "option 'logs_format' cannot be 'colourful'; allowed: '', compact, full, a text with '%('");
}

TEST(Options, refuse_passes_that_do_not_exist_or_cannot_be_skipped) {
  const std::string allowed =
      "; allowed: a comma list of fold_casts, fold_constants, simplify_views, common_subexpressions, "
      "eliminate_dead_nodes, or name:occurrence";
  EXPECT_EQ(refusal("skip_passes", "x"),
            "option 'skip_passes' cannot be 'x': no pass is named 'x'" + allowed);
  EXPECT_EQ(
      refusal("skip_passes", "fold_casts,fold_cats"),
      "option 'skip_passes' cannot be 'fold_casts,fold_cats': no pass is named 'fold_cats'; did you mean "
      "'fold_casts'?" +
          allowed);
  EXPECT_EQ(refusal("skip_passes", "decompose"),
            "option 'skip_passes' cannot be 'decompose': pass 'decompose' is required and cannot be skipped" +
                allowed);
  EXPECT_EQ(refusal("skip_passes", "fold_casts:2"),
            "option 'skip_passes' cannot be 'fold_casts:2': 'fold_casts:2' does not name an occurrence; "
            "'fold_casts' runs 1 time" +
                allowed);
}

TEST(Options, take_every_value_of_their_domain) {
  Options options;
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"toolchain", "subprocess"},
                                                        {"numerics", "fast"},
                                                        {"recompile_limit", "1"},
                                                        {"max_unroll", "0"},
                                                        {"logs_format", "compact"},
                                                        {"logs_format", "%(message)s"},
                                                        {"logs_format", ""},
                                                        {"skip_passes", ""},
                                                        {"skip_passes", "fold_casts,simplify_views:1"},
                                                        {"cache_dir", "anything at all"}}) {
    EXPECT_TRUE(options.set(name, value).ok()) << name;
    EXPECT_EQ(options.text(name), value);
  }
}

TEST(Options, hold_defaults_that_are_allowed) {
  for (const OptionInfo& option : all_options())
    EXPECT_TRUE(Options().set(option.name, std::string(option.default_text)).ok()) << option.name;
}

TEST(Options, read_an_empty_variable_as_unset) {
  Environment fusion("SUTURE_FUSION", ""), limit("SUTURE_RECOMPILE_LIMIT", "");
  Options options;
  EXPECT_TRUE(options.flag("fusion"));
  EXPECT_EQ(options.number("recompile_limit"), 8);
  EXPECT_TRUE(options.problems().empty());
}

}  // namespace
}  // namespace suture
