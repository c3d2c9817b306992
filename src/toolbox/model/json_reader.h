// Lenient reading of JSON objects with simdjson: a missing or mistyped member reads as empty.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

namespace suture::toolbox {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;

inline std::string json_str(const JsonObject& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

inline int64_t json_int(const JsonObject& object, std::string_view key) {
  int64_t number = 0;
  if (object[key].get(number) == simdjson::SUCCESS) return number;
  return 0;
}

inline double json_number(const JsonObject& object, std::string_view key, double fallback = 0) {
  double number = 0;
  return object[key].get(number) == simdjson::SUCCESS ? number : fallback;
}

inline bool json_flag(const JsonObject& object, std::string_view key) {
  bool flag = false;
  return object[key].get(flag) == simdjson::SUCCESS && flag;
}

inline std::vector<std::string> json_list(const JsonObject& object, std::string_view key) {
  std::vector<std::string> out;
  simdjson::dom::array items;
  if (object[key].get(items) != simdjson::SUCCESS) return out;
  for (JsonElement item : items) {
    std::string_view text;
    if (item.get(text) == simdjson::SUCCESS) out.emplace_back(text);
  }
  return out;
}

inline std::vector<int64_t> json_ints(const JsonObject& object, std::string_view key) {
  std::vector<int64_t> out;
  simdjson::dom::array items;
  if (object[key].get(items) != simdjson::SUCCESS) return out;
  for (JsonElement item : items) {
    int64_t number = 0;
    if (item.get(number) == simdjson::SUCCESS) out.push_back(number);
  }
  return out;
}

// Calls `each` with every object in the list `key`.
template <class Each>
void json_objects(const JsonObject& object, std::string_view key, Each each) {
  simdjson::dom::array items;
  if (object[key].get(items) != simdjson::SUCCESS) return;
  for (JsonElement item : items) {
    JsonObject member;
    if (item.get(member) == simdjson::SUCCESS) each(member);
  }
}

}  // namespace suture::toolbox
