// Where line tables come from.
#include "base/json_writer.h"
#include "toolbox/model/event_record.h"
#include "toolbox/model/json_reader.h"
#include "toolbox/where/where.h"

namespace suture::toolbox {

std::vector<LineTable> line_tables_of_trace(const std::vector<std::string>& lines) {
  std::vector<LineTable> tables;
  for (const std::string& line : lines) {
    if (line.find("\"kernel_source\"") == std::string::npos) continue;  // most lines are of other events
    auto event = parse_event(line);
    if (!event.ok() || !event->is(EventId::kKernelSource) || event->str("lines").empty()) continue;
    const std::string path = event->str("path");
    tables.push_back({path.empty() ? event->str("graph") + ".cpp" : path, 1, event->str("lines")});
  }
  return tables;
}

std::vector<LineTable> line_table_of_dump(const std::string& path, const std::string& text) {
  simdjson::dom::parser parser;
  JsonObject object;
  JsonElement table;
  if (parser.parse(text).get(object) != simdjson::SUCCESS || object["table"].get(table) != simdjson::SUCCESS)
    return {};
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  return {{directory + json_str(object, "file"), json_int(object, "first_line"), simdjson::to_string(table)}};
}

}  // namespace suture::toolbox
