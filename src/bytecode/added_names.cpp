#include "bytecode/added_names.h"

#include <algorithm>

namespace suture {

int AddedNames::global(std::string_view name) {
  const auto found = std::ranges::find(view_.names, name);
  const auto index = static_cast<int>(found - view_.names.begin());
  if (found == view_.names.end()) view_.names.emplace_back(name);
  return index << 1;
}

int AddedNames::new_local(const std::string& name) {
  std::string unique = name;
  const auto taken = [&] { return std::ranges::find(view_.local_names, unique) != view_.local_names.end(); };
  for (int n = 1; taken(); ++n) unique = name + "_" + std::to_string(n);
  view_.local_names.push_back(unique);
  view_.local_kinds.push_back(kLocalPlain);
  return static_cast<int>(view_.local_names.size()) - 1;
}

Function AddedNames::put_into(Function function) {
  function.code.names = std::move(view_.names);
  function.code.local_names = std::move(view_.local_names);
  function.code.local_kinds = std::move(view_.local_kinds);
  return function;
}

}  // namespace suture
