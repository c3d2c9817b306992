// The functions that printed guards call, as Python text: guard_support.inc, of which each file gets what it needs.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace suture {

struct GuardSupport {
  std::set<std::string> modules;  // to be imported
  std::string definitions;        // each followed by two empty lines
};
// What `code` refers to, directly or through others, in the order of the file. Names in strings and comments count,
// too: that costs a definition, and a missing one would be an error.
GuardSupport guard_support_for(std::string_view code);
// Whether one of the definitions has this name.
bool is_guard_support_name(const std::string& name);

}  // namespace suture
