#include "toolbox/model/status.h"

#include <fmt/format.h>

#include "toolbox/model/json_reader.h"

namespace suture::toolbox {
namespace {

EntryStatus read_entry(const JsonObject& json) {
  EntryStatus entry{json_int(json, "number"),
                    json_int(json, "hits"),
                    json_str(json, "graph"),
                    json_list(json, "guards"),
                    {}};
  json_objects(json, "guard_costs", [&](const JsonObject& guard) {
    entry.guard_costs.push_back(
        {json_int(guard, "tested"), json_int(guard, "failures"), json_number(guard, "ns", -1)});
  });
  return entry;
}

FrameStatus read_frame(const JsonObject& json) {
  FrameStatus frame;
  frame.frame = json_int(json, "frame");
  frame.function = json_str(json, "function");
  frame.file = json_str(json, "file");
  frame.kind = json_str(json, "kind");
  frame.reason = json_str(json, "reason");
  frame.line = json_int(json, "line");
  frame.calls = json_int(json, "calls");
  frame.hits = json_int(json, "hits");
  frame.compiles = json_int(json, "compiles");
  frame.recompiles = json_int(json, "recompiles");
  frame.replays = json_int(json, "replays");
  frame.steady_calls = static_cast<int64_t>(json_number(json, "steady_calls", -1));
  frame.compile_ms = json_number(json, "compile_ms");
  frame.time_ms = json_number(json, "time_ms");
  frame.first_ms = json_number(json, "first_ms");
  frame.skipped = json_flag(json, "skipped");
  json_objects(json, "entries", [&](const JsonObject& entry) { frame.entries.push_back(read_entry(entry)); });
  return frame;
}

CallableStatus read_status(const JsonObject& json) {
  CallableStatus status;
  status.function = json_str(json, "function");
  status.file = json_str(json, "file");
  status.backend = json_str(json, "backend");
  status.numerics = json_str(json, "numerics");
  status.line = json_int(json, "line");
  status.callable = static_cast<int64_t>(json_number(json, "callable", -1));
  json_objects(json, "frames", [&](const JsonObject& frame) { status.frames.push_back(read_frame(frame)); });
  return status;
}

}  // namespace

Result<std::vector<CallableStatus>> parse_statuses(std::string_view json) {
  std::vector<CallableStatus> out;
  if (json.empty()) return out;
  simdjson::dom::parser parser;
  JsonElement root;
  if (auto error = parser.parse(simdjson::padded_string(json)).get(root))
    return Error::unsupported("toolbox", fmt::format("not a status: {}", simdjson::error_message(error)));
  JsonObject one;
  if (root.get(one) == simdjson::SUCCESS) {
    out.push_back(read_status(one));
    return out;
  }
  simdjson::dom::array many;
  if (root.get(many) != simdjson::SUCCESS)
    return Error::unsupported("toolbox", "not a status: neither object nor list");
  for (JsonElement item : many)
    if (item.get(one) == simdjson::SUCCESS) out.push_back(read_status(one));
  return out;
}

}  // namespace suture::toolbox
