#include "codegen/line_table.h"

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "base/kernel_lines.h"

namespace suture {
namespace {

constexpr const char* kKinds[] = {"read", "compute", "reduce", "write"};

// Items in order of first use, each once.
template <class Item>
class Numbered {
 public:
  size_t number(const Item& item) {
    const auto [entry, fresh] = numbers_.try_emplace(item, items_.size());
    if (fresh) items_.push_back(item);
    return entry->second;
  }
  const std::vector<Item>& items() const { return items_; }

 private:
  std::map<Item, size_t> numbers_;
  std::vector<Item> items_;
};

void write_place(JsonWriter& json, const UserSpan& place, const CodegenOptions& options) {
  json.begin_object().field("file", place.file).field("function", place.function);
  json.field("line", place.line).field("end_line", place.end_line);
  json.field("column", place.column).field("end_column", place.end_column);
  json.field("source", options.source_line && place.known() ? options.source_line(place) : "");
  json.end_object();
}

void write_node(JsonWriter& json, const Node& node) {
  json.begin_object().field("name", node.name).field("op", info(node.op).name).field("target", node.target);
  json.end_object();
}

size_t kernel_of(const GeneratedCode& code, int line) {
  const auto holds = [line](const KernelInfo& kernel) { return line <= kernel.last_line; };
  return static_cast<size_t>(std::ranges::find_if(code.kernels, holds) - code.kernels.begin());
}

}  // namespace

std::string line_table_json(const GeneratedCode& code, const Graph& graph, const CodegenOptions& options) {
  Numbered<UserSpan> places;
  Numbered<NodeId> nodes;
  JsonWriter lines;
  lines.begin_array();
  for (const CodeLine& line : code.lines) {
    lines.begin_object().field("line", line.line).field("kernel", kernel_of(code, line.line));
    lines.field("kind", kKinds[static_cast<size_t>(line.kind)]).field("node", nodes.number(line.node));
    lines.field("place", places.number(line.where)).end_object();
  }
  lines.end_array();

  JsonWriter json;
  json.begin_object().field("schema", kKernelLinesSchema).field("graph", graph.name);
  json.field("line_count", code.kernels.empty() ? 0 : code.kernels.back().last_line);
  json.key("kernels").begin_array();
  for (const KernelInfo& kernel : code.kernels)
    json.begin_object()
        .field("name", kernel.name)
        .field("first_line", kernel.first_line)
        .field("last_line", kernel.last_line)
        .end_object();
  json.end_array().key("places").begin_array();
  for (const UserSpan& place : places.items()) write_place(json, place, options);
  json.end_array().key("nodes").begin_array();
  for (NodeId id : nodes.items()) write_node(json, graph.node(id));
  json.end_array().key("lines").raw(lines.text()).end_object();
  return json.text();
}

}  // namespace suture
