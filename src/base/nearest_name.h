// The name somebody probably meant, or "" when none is near.
//
// Near is a name that typing slips lead to: one letter wrong, missing, too many, or swapped with the next, for every three letters
// of what was written (at least one); or one whose beginning was written, two thirds of it or more. Small and large letters are one, and
// so are - and _. A farther name is no hint.
#pragma once

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace suture {

// Letters to change, add, drop, or swap with the next one.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

inline std::string one_spelling(std::string_view name) {
  std::string out(name);
  for (char& letter : out)
    letter = letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

template <class Names>
std::string nearest_name(std::string_view wanted, const Names& names) {
  constexpr size_t kFar = std::numeric_limits<size_t>::max();
  const std::string written = one_spelling(wanted);
  const size_t most = std::max<size_t>(1, written.size() / 3);
  const auto distance_to = [&](const std::string& name) {
    const size_t distance = edit_distance(written, name);
    if (distance <= most && 2 * distance < std::max(written.size(), name.size()))
      return distance;  // most is right
    const bool begun =
        written.size() >= 3 && 3 * written.size() >= 2 * name.size() && name.starts_with(written);
    return begun ? distance : kFar;
  };
  std::string best;
  size_t best_distance = kFar;
  for (const auto& name : names)
    if (const size_t distance = distance_to(one_spelling(name)); distance < best_distance) {
      best = std::string(name);
      best_distance = distance;
    }
  return best;
}

// The end of a message about an unknown name: the near one, or what is to be said when there is none.
template <class Names>
std::string did_you_mean(std::string_view wanted, const Names& names, std::string otherwise = "") {
  const std::string near = nearest_name(wanted, names);
  return near.empty() ? std::move(otherwise) : fmt::format("; did you mean '{}'?", near);
}

}  // namespace suture
