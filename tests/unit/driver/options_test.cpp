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

TEST(Options, keep_the_default_and_tell_when_the_environment_is_wrong) {
  Environment limit("SUTURE_RECOMPILE_LIMIT", "many");
  Options options;
  EXPECT_EQ(options.number("recompile_limit"), 8);
  ASSERT_EQ(options.problems().size(), 1u);
  EXPECT_EQ(options.problems()[0],
            "SUTURE_RECOMPILE_LIMIT: option 'recompile_limit' is an int; 'many' is not a number; using 8");
}

TEST(Options, name_the_nearest_option_for_an_unknown_one) {
  Options options;
  const Status status = options.set("recompile_limits", "4");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "unknown option 'recompile_limits'. Did you mean 'recompile_limit'?");
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

}  // namespace
}  // namespace suture
