// Options: defaults from options.def, then the environment, read once here. What is allowed is told by the table's domain
// column; every refusal names the option, the value, what is allowed and, where there is one, the name that was probably
// meant.
#include "driver/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/escaped_text.h"
#include "base/nearest_name.h"
#include "base/utf8.h"
#include "driver/fault_text.h"
#include "passes/pass_runner.h"

namespace suture {
namespace {

using Texts = std::vector<std::string>;

constexpr int64_t kLargestInt = std::numeric_limits<int32_t>::max();

Texts split(std::string_view text, char separator) {
  Texts parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

Error refused(std::string message) { return Error::unsupported("options", std::move(message)); }

// True/False in the spellings people use in environment variables.
Result<std::string> checked_flag(const OptionInfo& option, std::string value) {
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (value == "1" || value == "true" || value == "yes" || value == "on") return std::string("True");
  if (value == "0" || value == "false" || value == "no" || value == "off") return std::string("False");
  return refused(fmt::format("option '{}' is a bool; '{}' is neither true nor false", option.name, value));
}

int64_t least(const OptionInfo& option) {
  int64_t number = std::numeric_limits<int32_t>::min();
  std::from_chars(option.domain.data(), option.domain.data() + option.domain.size(), number);
  return number;
}

int64_t greatest(const OptionInfo& option) {
  int64_t number = kLargestInt;
  const size_t dots = option.domain.find("..");
  if (dots != std::string_view::npos)
    std::from_chars(option.domain.data() + dots + 2, option.domain.data() + option.domain.size(), number);
  return number;
}

Result<std::string> checked_number(const OptionInfo& option, std::string value) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc::invalid_argument || end != value.data() + value.size())
    return refused(fmt::format("option '{}' is an int; '{}' is not a number", option.name, value));
  if (error != std::errc{} || number < least(option) || number > greatest(option))
    return refused(
        fmt::format("option '{}' cannot be {}; allowed: {}", option.name, value, option.allowed()));
  return value;
}

Texts skippable_passes() {
  Texts names;
  for (const PassInfo& pass : all_passes())
    if (!pass.required) names.emplace_back(pass.name);
  return names;
}

// "fold_casts" or "fold_casts:1"; nothing, or what is wrong with it.
std::optional<std::string> wrong_pass(const std::string& item) {
  const Texts parts = split(item, ':');
  const auto same = [&](const PassInfo& pass) { return pass.name == parts[0]; };
  const auto passes = all_passes();
  const auto runs = std::ranges::count_if(passes, same);
  if (runs == 0)
    return fmt::format("no pass is named '{}'{}", parts[0], did_you_mean(parts[0], skippable_passes()));
  if (std::ranges::find_if(passes, same)->required)
    return fmt::format("pass '{}' is required and cannot be skipped", parts[0]);
  int64_t occurrence = 1;
  if (parts.size() > 1) {
    auto [end, error] = std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), occurrence);
    if (error != std::errc{} || end != parts[1].data() + parts[1].size()) occurrence = 0;
  }
  if (parts.size() > 2 || occurrence < 1 || occurrence > runs)
    return fmt::format("'{}' does not name an occurrence; '{}' runs {} time{}", item, parts[0], runs,
                       runs == 1 ? "" : "s");
  return std::nullopt;
}

Result<std::string> checked_passes(const OptionInfo& option, std::string value) {
  for (const std::string& item : split(value, ',')) {
    if (item.empty()) continue;
    if (auto wrong = wrong_pass(item))
      return refused(fmt::format("option '{}' cannot be '{}': {}; allowed: {}", option.name, value, *wrong,
                                 option.allowed()));
  }
  return value;
}

Result<std::string> checked_fault(const OptionInfo& option, std::string value) {
  if (value.empty()) return value;
  auto fault = parse_fault(value);
  if (fault.ok()) return value;
  return refused(fmt::format("option '{}' cannot be '{}': {}", option.name, value, fault.error().message));
}

Result<std::string> checked_choice(const OptionInfo& option, std::string value) {
  const Texts choices = split(option.domain, '|');
  for (const std::string& choice : choices) {
    const bool pattern = choice.starts_with('*');
    if (pattern ? value.find(choice.substr(1)) != std::string::npos : value == choice) return value;
  }
  return refused(fmt::format("option '{}' cannot be '{}'; allowed: {}{}", option.name, value,
                             option.allowed(), did_you_mean(value, choices)));
}

Result<std::string> checked_value(const OptionInfo& option, std::string value) {
  if (option.type == "bool") return checked_flag(option, std::move(value));
  if (option.type == "int") return checked_number(option, std::move(value));
  if (option.domain == "{passes}") return checked_passes(option, std::move(value));
  if (option.domain == "{fault}") return checked_fault(option, std::move(value));
  if (option.domain.empty() || option.domain.starts_with('{')) return value;
  return checked_choice(option, std::move(value));
}

// An environment may hold any bytes; values are text.
Result<std::string> environment_value(const OptionInfo& option, std::string_view bytes) {
  if (!is_utf8(bytes)) return refused(fmt::format("'{}' is not UTF-8", escaped_line(bytes)));
  return checked_value(option, std::string(bytes));
}

size_t index_of(std::string_view name) {
  const auto& options = all_options();
  auto found = std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.name == name; });
  return static_cast<size_t>(found - options.begin());
}

}  // namespace

std::string OptionInfo::allowed() const {
  if (domain.empty()) return "";
  if (type == "int") return fmt::format("{} to {}", least(*this), greatest(*this));
  if (domain == "{backends}") return "what suture.list_backends() names";
  if (domain == "{overrides}")
    return "name=value of options of a function, backend and numerics, joined by ';'";
  if (domain == "{fault}") return "what docs/reference/inject_fault.md describes";
  if (domain == "{logs}") return "what SUTURE_LOGS=help lists";
  if (domain == "{passes}")
    return fmt::format("a comma list of {}, or name:occurrence", fmt::join(skippable_passes(), ", "));
  Texts words = split(domain, '|');
  for (std::string& word : words) {
    if (word.starts_with('*')) word = fmt::format("a text with '{}'", word.substr(1));
    if (word.empty()) word = "''";
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

const std::vector<OptionInfo>& all_options() {
  static const std::vector<OptionInfo> options = {
#define SUTURE_OPTION(name, type, default_text, env, scope, domain, doc) \
  {#name, #type, default_text, env, #scope, domain, doc},
#include "driver/options.def"
  };
  return options;
}

Result<std::string> user_cache_directory() {
  const auto path = [](const char* name, std::string_view rest) -> Result<std::string> {
    const char* bytes = std::getenv(name);
    if (!bytes || !*bytes) return std::string();
    if (!is_utf8(bytes))
      return refused(fmt::format("{}: nothing is cached; '{}' is not UTF-8; set SUTURE_CACHE_DIR", name,
                                 escaped_line(bytes)));
    return std::string(bytes) + std::string(rest);
  };
  SUTURE_TRY(directory, path("XDG_CACHE_HOME", "/suture"));
  return directory.empty() ? path("HOME", "/.cache/suture") : directory;
}

Options::Options() {
  for (const OptionInfo& option : all_options()) {
    values_.emplace_back(option.default_text);
    const char* text = option.env.empty() ? nullptr : std::getenv(std::string(option.env).c_str());
    if (!text || !*text) continue;
    // A bad value in the environment must not stop the user's program: the default stays, `problems` tells.
    auto checked = environment_value(option, text);
    if (checked.ok())
      values_.back() = std::move(*checked);
    else
      problems_.push_back(
          fmt::format("{}: using '{}'; {}", option.env, option.default_text, checked.error().message));
  }
  if (!text("cache_dir").empty()) return;
  if (const auto cache = user_cache_directory(); !cache.ok()) problems_.push_back(cache.error().message);
}

Status Options::set(std::string_view name, std::string value) {
  const size_t index = index_of(name);
  if (index == values_.size()) {
    Texts names;
    for (const OptionInfo& option : all_options()) names.emplace_back(option.name);
    return refused(fmt::format("no option is named '{}'{}", name, did_you_mean(name, names)));
  }
  SUTURE_TRY(checked, checked_value(all_options()[index], std::move(value)));
  values_[index] = std::move(checked);
  return ok_status();
}

const std::string& Options::text(std::string_view name) const { return values_.at(index_of(name)); }
bool Options::flag(std::string_view name) const { return text(name) == "True"; }
int64_t Options::number(std::string_view name) const { return std::strtoll(text(name).c_str(), nullptr, 10); }

}  // namespace suture
