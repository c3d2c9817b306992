// Lists that hold every item once, in the order of the first time.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace suture {

// Whether it was new.
template <class Item>
bool add_once(std::vector<Item>& list, Item item) {
  if (std::ranges::find(list, item) != list.end()) return false;
  list.push_back(std::move(item));
  return true;
}

template <class Item>
void add_once(std::vector<Item>& list, const std::vector<Item>& items) {
  for (const Item& item : items) add_once(list, item);
}

}  // namespace suture
