// The text form of a graph, and its JSON.
//
//   graph "graph_0" captured
//     symbol s0 "x.shape[0]" hint 32 range 2..max size
//     fact s0 <= 64 @ "f.py" "f" 3 3 4 10
//     x = placeholder() : f64[s0, 48] ; "x" @ "f.py" "f" 1 1 6 7
//     sin = sin(x) : f64[s0, 48] ; "np.sin" @ "f.py" "f" 2 2 8 17
//     inputs x
//     return sin
//
// One node per line; names stand for nodes. Strides are written when they are not C-contiguous, attributes
// when they do not have their default value. The text holds everything a Graph holds: parse_graph(to_text(g))
// == g.
#include "graph/print.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "graph/attr_text.h"

namespace suture {

namespace {

std::string place_text(const UserSpan& where) {
  if (where == UserSpan{}) return "";
  return fmt::format(" @ {} {} {} {} {} {}", quote(where.file), quote(where.function), where.line,
                     where.end_line, where.column, where.end_column);
}

std::string bound_text(int64_t bound) {
  if (bound == INT64_MIN) return "min";
  return bound == INT64_MAX ? "max" : std::to_string(bound);
}

std::string names(const Graph& graph, const std::vector<NodeId>& ids) {
  std::string out;
  for (NodeId id : ids) out += (out.empty() ? "" : ", ") + graph.node(id).name;
  return out;
}

std::string attrs_text(const Attrs& attrs) {
  std::string out;
  for (const AttrField& field : attr_fields()) {
    std::string value = field.write(attrs);
    if (!value.empty()) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", field.name, value);
  }
  return out.empty() ? "" : " {" + out + "}";
}

std::string node_text(const Graph& graph, const Node& node) {
  return fmt::format("  {} = {}({}){} : {} ; {}{}\n", node.name, info(node.op).name,
                     names(graph, node.operands), attrs_text(node.attrs), type_text(node.type),
                     quote(node.target), place_text(node.where));
}

void write_type(JsonWriter& json, const TensorType& type) {
  json.begin_object().field("text", type.str()).field("dtype", info(type.dtype).numpy_name);
  json.field("class", name(type.value_class));
  for (const auto& [key, list] : {std::pair{"shape", &type.shape}, std::pair{"strides", &type.strides}}) {
    json.key(key).begin_array();
    for (const SymInt& item : *list) json.value(item.str());
    json.end_array();
  }
  json.key("writeable").raw(type.writeable ? "true" : "false").end_object();
}

void write_place(JsonWriter& json, const UserSpan& where) {
  json.begin_object().field("file", where.file).field("function", where.function).field("line", where.line);
  json.field("end_line", where.end_line)
      .field("column", where.column)
      .field("end_column", where.end_column)
      .end_object();
}

void write_node(JsonWriter& json, const Graph& graph, const Node& node) {
  json.begin_object().field("name", node.name).field("op", info(node.op).name).field("target", node.target);
  json.key("operands").begin_array();
  for (NodeId id : node.operands) json.value(graph.node(id).name);
  json.end_array().key("attrs").begin_object();
  for (const AttrField& field : attr_fields()) {
    std::string value = field.write(node.attrs);
    if (!value.empty()) json.field(field.name, value);
  }
  json.end_object().key("type");
  write_type(json, node.type);
  json.key("where");
  write_place(json, node.where);
  json.end_object();
}

void write_names(JsonWriter& json, const char* key, const Graph& graph, const std::vector<NodeId>& ids) {
  json.key(key).begin_array();
  for (NodeId id : ids) json.value(graph.node(id).name);
  json.end_array();
}

const char* level_name(const Graph& graph) {
  return graph.level == Graph::Level::kCaptured ? "captured" : "lowered";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string out = fmt::format("graph {} {}\n", quote(graph.name), level_name(graph));
  for (const SymbolInfo& s : graph.env.symbols()) {
    out += fmt::format("  symbol {} {} hint {} range {}..{}{}\n", s.name, quote(s.source), s.hint,
                       bound_text(s.min), s.ends_at_largest() ? "max" : std::to_string(s.max),
                       s.is_size ? " size" : "");
  }
  for (const ShapeFact& fact : graph.env.facts())
    out += "  fact " + fact.str() + place_text(fact.where) + "\n";
  for (const Node& node : graph.nodes) out += node_text(graph, node);
  out += fmt::format("  inputs {}\n", names(graph, graph.placeholders));
  return out + fmt::format("  return {}\n", names(graph, graph.outputs));
}

std::string to_json(const Graph& graph) {
  JsonWriter json;
  json.begin_object().field("name", graph.name).field("level", level_name(graph));
  json.field("op_count", graph.op_count());
  json.key("symbols").begin_array();
  for (const SymbolInfo& s : graph.env.symbols()) {
    json.begin_object().field("name", s.name).field("source", s.source).field("hint", s.hint);
    json.field("min", s.min)
        .field("max", s.max)
        .key("is_size")
        .raw(s.is_size ? "true" : "false")
        .end_object();
  }
  json.end_array().key("facts").begin_array();
  for (const ShapeFact& fact : graph.env.facts()) json.value(fact.str());
  json.end_array().key("nodes").begin_array();
  for (const Node& node : graph.nodes) write_node(json, graph, node);
  json.end_array();
  write_names(json, "placeholders", graph, graph.placeholders);
  write_names(json, "outputs", graph, graph.outputs);
  return json.end_object().text();
}

}  // namespace suture
