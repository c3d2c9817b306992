// parse_graph: the inverse of to_text. Line by line; names must be defined before they are used, symbols must
// be declared. The result is whatever the text says; verify() judges whether it is a lawful graph.
#include <fmt/format.h>

#include <charconv>
#include <unordered_map>

#include "graph/attr_text.h"
#include "graph/print.h"

namespace suture {

namespace {

class GraphReader {
 public:
  Result<Graph> read(const std::string& text);

 private:
  void header(TextReader& in);
  void line(TextReader& in);
  void symbol(TextReader& in);
  void fact(TextReader& in);
  void node(TextReader& in, std::string name);
  std::vector<NodeId> ids(TextReader& in);
  NodeId known(TextReader& in, const std::string& name);
  static UserSpan place(TextReader& in);
  static int64_t bound(TextReader& in);

  Graph graph_;
  std::unordered_map<std::string, NodeId> names_;
};

Result<Graph> GraphReader::read(const std::string& text) {
  int number = 0;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    TextReader in(std::string_view(text).substr(start, end - start), ++number, graph_.env.symbols().size());
    start = end + 1;
    if (in.at_end()) continue;
    number == 1 ? header(in) : line(in);
    if (!in.failed() && !in.at_end()) in.fail("unexpected text at the end of the line");
    if (in.failed()) return Error::unsupported("parse", in.error());
  }
  if (number == 0) return Error::unsupported("parse", "empty text");
  return std::move(graph_);
}

void GraphReader::header(TextReader& in) {
  in.expect("graph");
  graph_.name = in.quoted();
  if (in.accept("lowered")) {
    graph_.level = Graph::Level::kLowered;
  } else {
    in.expect("captured");
  }
}

void GraphReader::line(TextReader& in) {
  std::string first = in.word();
  // A node may be called like a keyword of this text: only nodes have '='.
  if (in.accept("=")) return node(in, std::move(first));
  if (first == "symbol") return symbol(in);
  if (first == "fact") return fact(in);
  if (first == "inputs") {
    graph_.placeholders = ids(in);
  } else if (first == "return") {
    graph_.outputs = ids(in);
  } else {
    in.fail("expected a node, symbol, fact, inputs or return");
  }
}

int64_t GraphReader::bound(TextReader& in) {
  if (in.accept("min")) return INT64_MIN;
  if (in.accept("max")) return INT64_MAX;
  return in.integer();
}

void GraphReader::symbol(TextReader& in) {
  std::string name = in.word();
  if (name != fmt::format("s{}", graph_.env.symbols().size()))
    return in.fail("symbols are declared in order");
  std::string source = in.quoted();
  in.expect("hint");
  int64_t hint = in.integer();
  in.expect("range");
  int64_t min = bound(in);
  in.expect("..");
  int64_t max = bound(in);
  bool is_size = in.accept("size");
  if (!in.failed()) graph_.env.create_symbol(std::move(source), hint, min, max, is_size);
}

void GraphReader::fact(TextReader& in) {
  ShapeFact fact;
  fact.lhs = in.sym();
  if (in.accept("fits")) {
    in.expect("int64");
    fact.relation = Relation::kFits;
    fact.where = place(in);
    if (!in.failed()) graph_.env.assume(std::move(fact));
    return;
  }
  if (in.accept("==")) {
    fact.relation = Relation::kEq;
  } else if (in.accept("!=")) {
    fact.relation = Relation::kNe;
  } else if (in.accept("<=")) {
    fact.relation = Relation::kLe;
  } else {
    in.expect("<");
    fact.relation = Relation::kLt;
  }
  fact.rhs = in.sym();
  fact.where = place(in);
  if (!in.failed()) graph_.env.assume(std::move(fact));
}

UserSpan GraphReader::place(TextReader& in) {
  UserSpan where;
  if (!in.accept("@")) return where;
  where.file = in.quoted();
  where.function = in.quoted();
  for (int* field : {&where.line, &where.end_line, &where.column, &where.end_column}) {
    *field = static_cast<int>(in.integer());
  }
  return where;
}

NodeId GraphReader::known(TextReader& in, const std::string& name) {
  auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  in.fail("unknown value " + name);
  return kNoNode;
}

std::vector<NodeId> GraphReader::ids(TextReader& in) {
  std::vector<NodeId> out;
  if (in.at_end()) return out;
  do out.push_back(known(in, in.word()));
  while (!in.failed() && in.accept(","));
  return out;
}

void GraphReader::node(TextReader& in, std::string name) {
  Node node;
  node.id = static_cast<NodeId>(graph_.nodes.size());
  std::string op = in.word();
  std::optional<OpId> found = op_from_name(op);
  if (!found) return in.fail("unknown op " + op);
  node.op = *found;
  in.list("(", ")", [&] { node.operands.push_back(known(in, in.word())); });
  if (in.accept("{")) {
    do {
      std::string attr = in.word();
      in.expect("=");
      bool read = false;
      for (const AttrField& field : attr_fields()) {
        if (field.name != attr) continue;
        field.read(in, node.attrs);
        read = true;
      }
      if (!read) in.fail("unknown attribute " + attr);
    } while (!in.failed() && in.accept(","));
    in.expect("}");
  }
  in.expect(":");
  node.type = read_type(in);
  in.expect(";");
  node.target = in.quoted();
  node.where = place(in);
  if (!names_.emplace(name, node.id).second) return in.fail("a second value called " + name);
  node.name = std::move(name);
  if (!in.failed()) graph_.nodes.push_back(std::move(node));
}

}  // namespace

Result<Graph> parse_graph(const std::string& text) { return GraphReader().read(text); }

Result<TensorType> parse_type(const std::string& text, size_t symbol_count) {
  TextReader in(text, 1, symbol_count);
  TensorType type = read_type(in);
  if (!in.failed() && !in.at_end()) in.fail("unexpected text behind the type");
  if (in.failed()) return Error::unsupported("parse", in.error());
  return type;
}

}  // namespace suture
