#include "graph_script.h"

#include <stdexcept>

namespace suture {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<SymInt> sizes(const std::string& text) {
  std::vector<SymInt> values;
  for (const std::string& part : split(text, ',')) values.push_back(SymInt(std::stoll(part)));
  return values;
}

ValueClass class_named(const std::string& name) {
  static const std::map<std::string, ValueClass> kClasses = {{"numpy", ValueClass::kNumpyScalar},
                                                             {"pybool", ValueClass::kPyBool},
                                                             {"pyint", ValueClass::kPyInt},
                                                             {"pyfloat", ValueClass::kPyFloat}};
  const auto found = kClasses.find(name);
  return found == kClasses.end() ? ValueClass::kArray : found->second;
}

IndexItem index_item(const std::string& word) {
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

void attribute(Attrs& attrs, const std::string& word) {
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
    attrs.dims = sizes(value);
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

}  // namespace

Graph GraphScript::read(const std::string& text) {
  graph_.name = "graph_0";
  std::stringstream stream(text);
  int number = 0;
  for (std::string current; std::getline(stream, current);) {
    ++number;
    std::vector<std::string> words = split(current, ' ');
    if (words.empty() || words[0][0] == '#') continue;
    UserSpan where;
    where.file = "/home/user/script.py";
    where.function = "f";
    where.line = where.end_line = number;
    builder_.set_place(where);
    try {
      line(words);
    } catch (const std::exception& error) {
      fail(current + ": " + error.what());
    }
  }
  return std::move(graph_);
}

void GraphScript::line(const std::vector<std::string>& words) {
  if (words[0] == "return") {
    for (size_t i = 1; i < words.size(); ++i) graph_.outputs.push_back(nodes_.at(words[i]));
    return;
  }
  if (words.size() < 3 || words[1] != "=") fail("expected `name = op ...`");
  const std::vector<std::string> rest(words.begin() + 2, words.end());
  if (rest[0] == "input") {
    nodes_[words[0]] = builder_.placeholder(words[0], [&] {
      TensorType type;
      type.dtype = *dtype_from_name(rest[1]);
      type.value_class = rest.size() > 2 ? class_named(rest[2]) : ValueClass::kArray;
      if (rest.size() > 2 && !type.scalar()) type.shape = sizes(rest[2]);
      type.strides = rest.size() > 3 ? sizes(rest[3]) : contiguous_strides(type.shape, Order::kC);
      return type;
    }());
  } else if (rest[0] == "const") {
    const DType dtype = *dtype_from_name(rest[1]);
    const Scalar value = is_float(dtype)  ? Scalar(std::stod(rest[3]))
                         : is_bool(dtype) ? Scalar(rest[3] == "True")
                                          : Scalar(int64_t{std::stoll(rest[3])});
    nodes_[words[0]] = builder_.constant(value, class_named(rest[2]), dtype);
  } else {
    nodes_[words[0]] = operation(rest);
  }
}

NodeId GraphScript::operation(const std::vector<std::string>& words) {
  const auto op = op_from_name(words[0]);
  if (!op) fail("unknown op " + words[0]);
  std::vector<NodeId> operands;
  Attrs attrs;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto known = nodes_.find(words[i]);
    if (known != nodes_.end()) {
      operands.push_back(known->second);
    } else if (*op == OpId::kSlice && words[i] != "ellipsis") {
      attrs.index.push_back(index_item(words[i]));
    } else {
      attribute(attrs, words[i]);
    }
  }
  auto node = builder_.add(*op, operands, attrs, std::string(info(*op).numpy));
  if (!node.ok()) fail(node.error().message);
  return *node;
}

}  // namespace suture
