// JsonWriter: writes one JSON value into a string. Commas and quoting are its business; nesting is the caller's.
//
//   JsonWriter json;  json.begin_object().field("line", 21).end_object();  json.text()
//
// Invariants
//   - The output is one line of valid JSON in valid UTF-8, whatever bytes come in: broken UTF-8 becomes U+FFFD, one per
//     maximal broken sequence; control characters are escaped.
//   - A float always looks like one ("3.0", "1e+300"), so that readers keep the type, and every bit of it comes back.
//   - Numbers that JSON cannot hold are null.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace suture {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(double number);
  template <class Number,
            std::enable_if_t<std::is_integral_v<Number> && !std::is_same_v<Number, bool>, int> = 0>
  JsonWriter& value(Number number) {
    return raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // `json` must be one JSON value
  template <class T>
  JsonWriter& field(std::string_view name, const T& item) {
    return key(name).value(item);
  }
  template <class List>
  JsonWriter& list(std::string_view name, const List& items) {
    key(name).begin_array();
    for (const auto& item : items) value(item);
    return end_array();
  }
  const std::string& text() const { return out_; }

 private:
  void separate();
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);

  std::string out_;
  bool fresh_ = true;  // nothing stands before the next item
};

}  // namespace suture
