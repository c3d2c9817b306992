// Options: defaults from options.def, then the environment, read once here.
#include "driver/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/nearest_name.h"

namespace suture {
namespace {

std::string_view nearest_option(std::string_view name) {
  const auto& options = all_options();
  return std::ranges::min_element(options, {},
                                  [&](const OptionInfo& o) { return edit_distance(o.name, name); })
      ->name;
}

// True/False in the spellings people use in environment variables.
Result<std::string> normalise_flag(std::string_view name, std::string value) {
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (value == "1" || value == "true" || value == "yes" || value == "on") return std::string("True");
  if (value == "0" || value == "false" || value == "no" || value == "off" || value.empty())
    return std::string("False");
  return Error::unsupported(
      "options", fmt::format("option '{}' is a bool; '{}' is neither true nor false", name, value));
}

Result<std::string> checked_value(const OptionInfo& option, std::string value) {
  if (option.type == "bool") return normalise_flag(option.name, std::move(value));
  if (option.type == "int") {
    int64_t number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size())
      return Error::unsupported(
          "options", fmt::format("option '{}' is an int; '{}' is not a number", option.name, value));
  }
  return value;
}

size_t index_of(std::string_view name) {
  const auto& options = all_options();
  auto found = std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.name == name; });
  return static_cast<size_t>(found - options.begin());
}

}  // namespace

const std::vector<OptionInfo>& all_options() {
  static const std::vector<OptionInfo> options = {
#define SUTURE_OPTION(name, type, default_text, env, scope, doc) \
  {#name, #type, default_text, env, #scope, doc},
#include "driver/options.def"
  };
  return options;
}

Options::Options() {
  for (const OptionInfo& option : all_options()) {
    std::string value(option.default_text);
    // A bad value in the environment must not stop the user's program: the default stays, and `problems`
    // tells.
    if (!option.env.empty()) {
      if (const char* text = std::getenv(std::string(option.env).c_str())) {
        auto checked = checked_value(option, text);
        if (checked.ok()) {
          value = std::move(*checked);
        } else {
          problems_.push_back(
              fmt::format("{}: {}; using {}", option.env, checked.error().message, option.default_text));
        }
      }
    }
    values_.push_back(std::move(value));
  }
}

Status Options::set(std::string_view name, std::string value) {
  size_t index = index_of(name);
  if (index == values_.size())
    return Error::unsupported(
        "options", fmt::format("unknown option '{}'. Did you mean '{}'?", name, nearest_option(name)));
  SUTURE_TRY(checked, checked_value(all_options()[index], std::move(value)));
  values_[index] = std::move(checked);
  return ok_status();
}

const std::string& Options::text(std::string_view name) const { return values_.at(index_of(name)); }
bool Options::flag(std::string_view name) const { return text(name) == "True"; }
int64_t Options::number(std::string_view name) const { return std::strtoll(text(name).c_str(), nullptr, 10); }

}  // namespace suture
