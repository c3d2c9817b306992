// Options: the values of options.def. Environment variables are read once, in options.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace suture {

struct OptionInfo {
  std::string_view name, type, default_text, env, scope, domain, doc;
  std::string allowed() const;  // the domain in words, "" when every value of the type is allowed
};
const std::vector<OptionInfo>& all_options();

// Where files of the user's caches go: what XDG_CACHE_HOME says, or HOME; "" when there is no such place. kUnsupported: its path
// is no UTF-8, as all paths of ours are.
Result<std::string> user_cache_directory();

// Current values as text, by name; typed getters convert.
class Options {
 public:
  Options();  // defaults, then environment
  Status set(std::string_view name,
             std::string value);  // kUnsupported: unknown name (with nearest match) or bad value
  const std::string& text(std::string_view name) const;
  bool flag(std::string_view name) const;
  int64_t number(std::string_view name) const;
  // Sentences about environment variables that could not be used.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> values_;
  std::vector<std::string> problems_;
};

}  // namespace suture
