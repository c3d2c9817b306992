// Reading event lines with simdjson. Every JSON value maps onto the EventValue of the same kind; numbers in
// lists of strings become text, objects keep their numeric members.
#include "toolbox/model/event_record.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/escaped_text.h"

namespace suture::toolbox {
namespace {

using simdjson::dom::element;

double as_number(const element& json) {
  double number = 0;
  if (json.get(number) != simdjson::SUCCESS) return 0;
  return number;
}

std::string as_text(const element& json) {
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(json);
}

EventValue to_value(const element& json) {
  bool flag = false;
  int64_t integer = 0;
  simdjson::dom::array list;
  simdjson::dom::object object;
  if (json.is_null()) return std::string();
  if (json.is_string()) return as_text(json);
  if (json.get(flag) == simdjson::SUCCESS) return flag;
  if (json.get(integer) == simdjson::SUCCESS && !json.is_double()) return integer;
  if (json.is_number()) return as_number(json);
  if (json.get(list) == simdjson::SUCCESS) {
    std::vector<std::string> items;
    for (element item : list) items.push_back(as_text(item));
    return items;
  }
  std::vector<std::pair<std::string, double>> members;
  if (json.get(object) == simdjson::SUCCESS)
    for (auto member : object) members.emplace_back(std::string(member.key), as_number(member.value));
  return members;
}

// "0/1_2" -> frame 0, compile 1, attempt 2. Anything else leaves the frame unknown.
CompileId parse_compile_id(std::string_view text) {
  CompileId id;
  const char* at = text.data();
  const char* end = at + text.size();
  auto number = [&](int& into) {
    auto [next, error] = std::from_chars(at, end, into);
    bool read = error == std::errc{};
    at = next;
    return read;
  };
  if (!number(id.frame) || at == end || *at++ != '/' || !number(id.compile)) return CompileId();
  if (at != end && *at++ == '_') number(id.attempt);
  return id;
}

void read_envelope(EventRecord& record, std::string_view key, const element& json) {
  if (key == "event") {
    record.name = as_text(json);
    record.event = event_named(record.name);
  }
  if (key == "time") record.time = as_number(json);
  std::string_view id;
  if (key == "compile_id" && json.get(id) == simdjson::SUCCESS) {
    record.id = std::string(id);
    record.compile = parse_compile_id(id);
  }
}

}  // namespace

const EventValue* EventRecord::find(std::string_view field) const {
  auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& entry) { return entry.first == field; });
  return found == fields.end() ? nullptr : &found->second;
}

std::string EventRecord::str(std::string_view field) const {
  const EventValue* value = find(field);
  const std::string* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : std::string();
}

int64_t EventRecord::integer(std::string_view field, int64_t fallback) const {
  const EventValue* value = find(field);
  if (!value) return fallback;
  if (auto* number = std::get_if<int64_t>(value)) return *number;
  if (auto* number = std::get_if<double>(value)) return static_cast<int64_t>(*number);
  return fallback;
}

double EventRecord::number(std::string_view field) const {
  const EventValue* value = find(field);
  if (!value) return 0;
  if (auto* number = std::get_if<double>(value)) return *number;
  if (auto* number = std::get_if<int64_t>(value)) return static_cast<double>(*number);
  return 0;
}

bool EventRecord::flag(std::string_view field) const {
  const EventValue* value = find(field);
  const bool* set = value ? std::get_if<bool>(value) : nullptr;
  return set && *set;
}

const std::vector<std::string>& EventRecord::list(std::string_view field) const {
  static const std::vector<std::string> empty;
  const EventValue* value = find(field);
  auto* items = value ? std::get_if<std::vector<std::string>>(value) : nullptr;
  return items ? *items : empty;
}

const std::vector<std::pair<std::string, double>>& EventRecord::dict(std::string_view field) const {
  static const std::vector<std::pair<std::string, double>> empty;
  const EventValue* value = find(field);
  auto* members = value ? std::get_if<std::vector<std::pair<std::string, double>>>(value) : nullptr;
  return members ? *members : empty;
}

namespace {

bool has_lines(EventId event, std::string_view field) {
  static const std::set<std::pair<EventId, std::string>> fields = [] {
    std::set<std::pair<EventId, std::string>> found;
    for (const EventFieldInfo& each : all_event_fields())
      if (each.type == "text") found.emplace(each.event, each.name);
    return found;
  }();
  return fields.contains({event, std::string(field)});
}

}  // namespace

EventRecord for_lines(EventRecord record) {
  for (auto& [name, value] : record.fields) {
    if (record.event && has_lines(*record.event, name)) continue;
    if (auto* text = std::get_if<std::string>(&value)) *text = escaped_line(*text);
    if (auto* list = std::get_if<std::vector<std::string>>(&value))
      for (std::string& item : *list) item = escaped_line(item);
  }
  return record;
}

Result<EventRecord> parse_event(std::string_view line) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (auto error = parser.parse(simdjson::padded_string(line)).get(object))
    return Error::unsupported("toolbox",
                              fmt::format("not an event line: {}", simdjson::error_message(error)));
  EventRecord record;
  for (auto member : object) {
    read_envelope(record, member.key, member.value);
    if (member.key != "fields") continue;
    simdjson::dom::object fields;
    if (member.value.get(fields) != simdjson::SUCCESS) continue;
    for (auto field : fields) record.fields.emplace_back(std::string(field.key), to_value(field.value));
  }
  return record;
}

}  // namespace suture::toolbox
