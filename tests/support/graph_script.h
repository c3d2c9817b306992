// Graphs for tests, written as a short script:
//
//   x = input float64 32,32              array, C-contiguous; "float64 32,32 1,32" gives strides in elements
//   rows = symbol 32                     a symbolic size and its value in this call; then "float64 rows,32"
//   n = input float64 pyfloat            also numpy (NumPy scalar), pyint, pybool
//   c = const float64 pyfloat 1.5
//   y = sin x                            any op of ops.def by its table name, then operands, then attributes
//   s = sum y axes=0,1 keepdims dtype=float64
//   v = slice y 0:2:16 1:1:31 new 3      start:step:length | index | new
//   return y s
#pragma once

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/graph_builder.h"

namespace suture {

class GraphScript {
 public:
  // Throws std::runtime_error with the line that is wrong; tests and tools may use exceptions.
  static Graph build(const std::string& text) { return GraphScript().read(text); }

 private:
  Graph read(const std::string& text);
  void line(const std::vector<std::string>& words);
  NodeId operation(const std::vector<std::string>& words);

  Graph graph_;
  GraphBuilder builder_{graph_};
  std::map<std::string, NodeId> nodes_;
  std::map<std::string, SymInt> symbols_;
};

namespace graph_script {

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

using Symbols = std::map<std::string, SymInt>;

inline std::vector<SymInt> sizes(const std::string& text, const Symbols& symbols) {
  std::vector<SymInt> values;
  for (const std::string& part : split(text, ',')) {
    const auto known = symbols.find(part);
    values.push_back(known != symbols.end() ? known->second : SymInt(std::stoll(part)));
  }
  return values;
}

inline ValueClass class_named(const std::string& name) {
  static const std::map<std::string, ValueClass> kClasses = {{"numpy", ValueClass::kNumpyScalar},
                                                             {"pybool", ValueClass::kPyBool},
                                                             {"pyint", ValueClass::kPyInt},
                                                             {"pyfloat", ValueClass::kPyFloat}};
  const auto found = kClasses.find(name);
  return found == kClasses.end() ? ValueClass::kArray : found->second;
}

inline IndexItem index_item(const std::string& word) {
  IndexItem item;
  if (word == "new") {
    item.kind = IndexItem::Kind::kNewAxis;
    return item;
  }
  const std::vector<std::string> parts = split(word, ':');
  item.start = SymInt(std::stoll(parts[0]));
  if (parts.size() == 1) {
    item.kind = IndexItem::Kind::kInt;
  } else {
    item.step = SymInt(std::stoll(parts[1]));
    item.length = SymInt(std::stoll(parts[2]));
  }
  return item;
}

inline void attribute(Attrs& attrs, const std::string& word, const Symbols& symbols) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals),
                    value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (name == "axes") {
    for (const std::string& part : split(value, ',')) attrs.axes.push_back(std::stoi(part));
  } else if (name == "all") {
    attrs.all_axes = true;
  } else if (name == "keepdims") {
    attrs.keepdims = true;
  } else if (name == "dims") {
    attrs.dims = sizes(value, symbols);
  } else if (name == "dtype") {
    attrs.dtype = dtype_from_name(value);
  } else if (name == "order") {
    attrs.order = value == "C" ? Order::kC : value == "F" ? Order::kF : Order::kKeep;
  } else if (name == "ellipsis") {
    attrs.ellipsis = true;
  } else {
    fail("unknown attribute " + word);
  }
}

}  // namespace graph_script

inline Graph GraphScript::read(const std::string& text) {
  graph_.name = "graph_0";
  std::stringstream stream(text);
  int number = 0;
  for (std::string current; std::getline(stream, current);) {
    ++number;
    std::vector<std::string> words = graph_script::split(current, ' ');
    if (words.empty() || words[0][0] == '#') continue;
    UserSpan where;
    where.file = "/home/user/script.py";
    where.function = "f";
    where.line = where.end_line = number;
    builder_.set_place(where);
    try {
      line(words);
    } catch (const std::exception& error) {
      graph_script::fail(current + ": " + error.what());
    }
  }
  return std::move(graph_);
}

inline void GraphScript::line(const std::vector<std::string>& words) {
  if (words[0] == "return") {
    for (size_t i = 1; i < words.size(); ++i) graph_.outputs.push_back(nodes_.at(words[i]));
    return;
  }
  if (words.size() < 3 || words[1] != "=") graph_script::fail("expected `name = op ...`");
  const std::vector<std::string> rest(words.begin() + 2, words.end());
  if (rest[0] == "symbol") {
    symbols_.emplace(words[0], graph_.env.create_symbol(words[0], std::stoll(rest[1]), 2, INT64_MAX, true));
  } else if (rest[0] == "input") {
    nodes_[words[0]] = builder_.placeholder(words[0], [&] {
      TensorType type;
      type.dtype = *dtype_from_name(rest[1]);
      type.value_class = rest.size() > 2 ? graph_script::class_named(rest[2]) : ValueClass::kArray;
      if (rest.size() > 2 && !type.scalar() && rest[2] != "array")
        type.shape = graph_script::sizes(rest[2], symbols_);
      type.strides = rest.size() > 3 ? graph_script::sizes(rest[3], symbols_)
                                     : contiguous_strides(type.shape, Order::kC);
      return type;
    }());
  } else if (rest[0] == "const") {
    const DType dtype = *dtype_from_name(rest[1]);
    const Scalar value = is_float(dtype)  ? Scalar(std::stod(rest[3]))
                         : is_bool(dtype) ? Scalar(rest[3] == "True")
                                          : Scalar(int64_t{std::stoll(rest[3])});
    nodes_[words[0]] = builder_.constant(value, graph_script::class_named(rest[2]), dtype);
  } else {
    nodes_[words[0]] = operation(rest);
  }
}

inline NodeId GraphScript::operation(const std::vector<std::string>& words) {
  const auto op = op_from_name(words[0]);
  if (!op) graph_script::fail("unknown op " + words[0]);
  std::vector<NodeId> operands;
  Attrs attrs;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto known = nodes_.find(words[i]);
    if (known != nodes_.end()) {
      operands.push_back(known->second);
    } else if (*op == OpId::kSlice && words[i] != "ellipsis") {
      attrs.index.push_back(graph_script::index_item(words[i]));
    } else {
      graph_script::attribute(attrs, words[i], symbols_);
    }
  }
  auto node = builder_.add(*op, operands, attrs, std::string(info(*op).numpy));
  if (!node.ok()) graph_script::fail(node.error().message);
  return *node;
}

}  // namespace suture
