// Events as JSON, one object per line.
//
//   {"schema":1,"event":"graph_break","compile_id":"0/1_2","time":1700000000.25,"fields":{"line":21,"hints":["..."]}}
//
// Invariants
//   - Every line is valid JSON in valid UTF-8 and holds no newline, whatever the fields hold (see base/json_writer.h).
//   - JSON has no NaN or infinity: they are the strings "NaN", "Infinity" and "-Infinity".
//   - An event outside every frame has "compile_id":null.
#include <charconv>
#include <cmath>

#include "base/json_writer.h"
#include "trace/event.h"

namespace suture {
namespace {

void write(JsonWriter& json, double value) {
  if (std::isnan(value))
    json.value("NaN");
  else if (std::isinf(value))
    json.value(value > 0 ? "Infinity" : "-Infinity");
  else
    json.value(value);
}

void write(JsonWriter& json, bool value) { json.value(value); }
void write(JsonWriter& json, int64_t value) { json.value(value); }
void write(JsonWriter& json, const std::string& text) { json.value(text); }

void write(JsonWriter& json, const std::vector<std::string>& list) {
  json.begin_array();
  for (const std::string& item : list) json.value(item);
  json.end_array();
}

void write(JsonWriter& json, const std::vector<std::pair<std::string, double>>& entries) {
  json.begin_object();
  for (const auto& [name, number] : entries) write(json.key(name), number);
  json.end_object();
}

// Microseconds are what the clock gives; the shortest form of the double would add noise digits.
std::string time_text(double seconds) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, seconds, std::chars_format::fixed, 6).ptr};
}

}  // namespace

std::string to_json_line(const Event& event) {
  JsonWriter json;
  json.begin_object().field("schema", kEventSchemaVersion).field("event", info(event.id).name);
  json.key("compile_id");
  if (event.compile.frame < 0)
    json.null();
  else
    json.value(event.compile.str());
  json.key("time").raw(time_text(event.time));
  json.key("fields").begin_object();
  for (const auto& [name, value] : event.fields)
    std::visit([&, &name = name](const auto& v) { write(json.key(name), v); }, value);
  json.end_object().end_object();
  return json.text();
}

}  // namespace suture
