#include "toolbox/logs/log_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace suture::toolbox {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LogSettings parse(std::string_view text) {
  auto result = parse_log_settings(text);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : LogSettings{};
}

TEST(LogSettings, artifacts_are_on_when_named_and_nothing_else_is) {
  EXPECT_THAT(parse("graph_breaks,recompiles").artifacts(), ElementsAre("graph_breaks", "recompiles"));
  EXPECT_THAT(parse("").artifacts(), IsEmpty());
}

TEST(LogSettings, blanks_empty_items_and_hyphens_are_accepted) {
  EXPECT_THAT(parse(" graph-breaks , ,+ recompiles,").artifacts(), ElementsAre("graph_breaks", "recompiles"));
}

TEST(LogSettings, component_levels_are_info_debug_and_error) {
  auto settings = parse("capture,+passes,-cache");
  EXPECT_EQ(settings.level("capture"), Level::kInfo);
  EXPECT_EQ(settings.level("passes"), Level::kDebug);
  EXPECT_EQ(settings.level("cache"), Level::kError);
  EXPECT_EQ(settings.level("runtime"), Level::kWarning);
}

TEST(LogSettings, a_component_at_debug_switches_on_its_artifacts_but_not_the_long_ones) {
  auto artifacts = parse("+capture").artifacts();
  EXPECT_THAT(artifacts, Contains("graph_breaks"));
  EXPECT_THAT(artifacts, Contains("guards"));
  EXPECT_THAT(artifacts, Not(Contains("bytecode")));
}

TEST(LogSettings, minus_switches_an_artifact_off_wherever_it_stands) {
  EXPECT_THAT(parse("+capture,-guards").artifacts(), Not(Contains("guards")));
  EXPECT_THAT(parse("-guards,+capture").artifacts(), Not(Contains("guards")));
  EXPECT_THAT(parse("guards,-guards").artifacts(), IsEmpty());
  EXPECT_THAT(parse("-guards,guards").artifacts(), ElementsAre("guards"));
}

TEST(LogSettings, unknown_names_are_errors_that_name_the_nearest) {
  auto result = parse_log_settings("graph_break");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("'graph_break'"), HasSubstr("did you mean 'graph_breaks'?")));
  auto far = parse_log_settings("zzzzzzzzzz");
  ASSERT_FALSE(far.ok());
  EXPECT_THAT(far.error().message, Not(HasSubstr("did you mean")));
}

TEST(LogSettings, help_lists_names_and_goes_on) {
  auto settings = parse("help,recompiles");
  EXPECT_THAT(settings.help(), AllOf(HasSubstr("\n  graph_breaks "), HasSubstr("\n  toolchain "),
                                     HasSubstr("\n  bytecode "), Not(HasSubstr("frame_start"))));
  EXPECT_THAT(settings.artifacts(), ElementsAre("recompiles"));
  EXPECT_THAT(parse("+help").help(), HasSubstr("part of capture; from the events output_bytecode\n"));
}

TEST(LogSettings, every_artifact_belongs_to_a_component) {
  for (const ArtifactInfo& artifact : all_artifacts()) {
    bool component_exists = false;
    for (const ComponentInfo& component : all_components())
      component_exists |= artifact.component == component.name;
    EXPECT_TRUE(component_exists) << artifact.name << " belongs to unknown component " << artifact.component;
  }
}

TEST(LogSettings, events_are_those_the_settings_need) {
  EXPECT_THAT(parse("recompiles").events(), AllOf(Contains("recompile"), Not(Contains("pass_done"))));
  EXPECT_THAT(parse("").events(), ElementsAre("cache_trouble", "fault_injected", "frame_skipped",
                                              "internal_error", "profile_trouble", "recompile_limit"));
  EXPECT_THAT(parse("+passes").events(), Contains("pass_done"));
}

TEST(LogSettings, globs) {
  EXPECT_TRUE(matches_glob("f*", "forward"));
  EXPECT_TRUE(matches_glob("*/model.py", "/a/b/model.py"));
  EXPECT_TRUE(matches_glob("?", "x"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("f", "forward"));
  EXPECT_FALSE(matches_glob("?", ""));
  EXPECT_TRUE(matches_glob("*a*a*a*a*a*a*a*b*", std::string(2000, 'a') + "b"));
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST(LogSettings, a_bad_filter_is_an_error_that_names_the_nearest) {
  for (const char* text : {"@funtcion=f", "@function", "@function=", "-@function=f", "@", "@=x"})
    EXPECT_FALSE(parse_log_settings(text).ok()) << text;
  EXPECT_THAT(parse_log_settings("@funtcion=f").error().message, HasSubstr("did you mean '@function='"));
}

TEST(LogSettings, a_name_that_is_artifact_and_component_means_both) {
  EXPECT_THAT(parse("+cache").artifacts(), ElementsAre("cache"));
  EXPECT_EQ(parse("+cache").level("cache"), Level::kDebug);
  EXPECT_THAT(parse("-cache").artifacts(), IsEmpty());
  EXPECT_EQ(parse("-cache").level("cache"), Level::kError);
}

TEST(LogSettings, filters_alone_switch_nothing_on) {
  EXPECT_THAT(parse("@function=f").artifacts(), IsEmpty());
  EXPECT_TRUE(parse("@function=f").filters());
}

}  // namespace
}  // namespace suture::toolbox
