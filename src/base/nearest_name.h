// The name somebody probably meant: smallest edit distance, or "" when nothing is close.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace suture {

inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], next);
    }
  }
  return row.back();
}

template <class Names>
std::string nearest_name(std::string_view wanted, const Names& names) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, wanted.size() / 2);
  for (const auto& name : names) {
    size_t distance = edit_distance(wanted, name);
    if (distance <= best_distance && (best.empty() || distance < best_distance)) {
      best = std::string(name);
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace suture
