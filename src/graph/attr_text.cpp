// The table of attributes, and the text of types.
#include "graph/attr_text.h"

#include <fmt/format.h>

#include "graph/graph_builder.h"

namespace suture {

namespace {

constexpr std::string_view kOrderLetters = "CFKA";  // by Order

std::string ints(const std::vector<int>& list) {
  std::string out = "[";
  for (int item : list) out += fmt::format("{}{}", out.size() > 1 ? ", " : "", item);
  return out + "]";
}

std::string index_text(const IndexItem& item) {
  switch (item.kind) {
    case IndexItem::Kind::kNewAxis: return "None";
    case IndexItem::Kind::kInt: return item.start.str();
    case IndexItem::Kind::kSlice: break;
  }
  return fmt::format("slice({}, {}, {})", item.start.str(), item.length.str(), item.step.str());
}

IndexItem read_index_item(TextReader& in) {
  IndexItem item;
  if (in.accept("None")) {
    item.kind = IndexItem::Kind::kNewAxis;
  } else if (in.accept("slice")) {
    in.expect("(");
    item.start = in.sym();
    in.expect(",");
    item.length = in.sym();
    in.expect(",");
    item.step = in.sym();
    in.expect(")");
  } else {
    item.kind = IndexItem::Kind::kInt;
    item.start = in.sym();
  }
  return item;
}

std::string index_list(const Attrs& a) {
  if (a.index.empty()) return "";
  std::string out;
  for (const IndexItem& item : a.index) out += (out.empty() ? "" : ", ") + index_text(item);
  return "[" + out + "]";
}

std::string flag(bool value, bool standard) { return value == standard ? "" : (value ? "true" : "false"); }
bool read_flag(TextReader& in) {
  if (in.accept("true")) return true;
  in.expect("false");
  return false;
}

ValueClass read_value_class(TextReader& in) {
  std::string word = in.word();
  for (ValueClass c : {ValueClass::kArray, ValueClass::kNumpyScalar, ValueClass::kPyBool, ValueClass::kPyInt,
                       ValueClass::kPyFloat}) {
    if (name(c) == word) return c;
  }
  in.fail("unknown class " + word);
  return ValueClass::kArray;
}

Order read_order(TextReader& in) {
  std::string word = in.word();
  size_t found = kOrderLetters.find(word);
  if (word.size() != 1 || found == std::string_view::npos) in.fail("unknown order " + word);
  return static_cast<Order>(found == std::string_view::npos ? 0 : found);
}

using R = TextReader;
constexpr AttrField kFields[] = {
    {"value", [](const Attrs& a) { return a.scalar ? text_of(*a.scalar) : ""; },
     [](R& in, Attrs& a) { a.scalar = in.scalar(); }},
    {"sym", [](const Attrs& a) { return a.sym == SymInt(0) ? "" : a.sym.str(); },
     [](R& in, Attrs& a) { a.sym = in.sym(); }},
    {"axes", [](const Attrs& a) { return a.axes.empty() ? "" : ints(a.axes); },
     [](R& in, Attrs& a) { in.list("[", "]", [&] { a.axes.push_back(static_cast<int>(in.integer())); }); }},
    {"all_axes", [](const Attrs& a) { return flag(a.all_axes, false); },
     [](R& in, Attrs& a) { a.all_axes = read_flag(in); }},
    {"keepdims", [](const Attrs& a) { return flag(a.keepdims, false); },
     [](R& in, Attrs& a) { a.keepdims = read_flag(in); }},
    {"dims", [](const Attrs& a) { return a.dims.empty() ? "" : text_of(a.dims); },
     [](R& in, Attrs& a) { a.dims = in.syms(); }},
    {"index", index_list,
     [](R& in, Attrs& a) { in.list("[", "]", [&] { a.index.push_back(read_index_item(in)); }); }},
    {"ellipsis", [](const Attrs& a) { return flag(a.ellipsis, false); },
     [](R& in, Attrs& a) { a.ellipsis = read_flag(in); }},
    {"copies", [](const Attrs& a) { return flag(a.copies, false); },
     [](R& in, Attrs& a) { a.copies = read_flag(in); }},
    {"dtype", [](const Attrs& a) { return a.dtype ? short_name(*a.dtype) : ""; },
     [](R& in, Attrs& a) { a.dtype = in.dtype(); }},
    {"class", [](const Attrs& a) { return a.value_class ? std::string(name(*a.value_class)) : ""; },
     [](R& in, Attrs& a) { a.value_class = read_value_class(in); }},
    {"order",
     [](const Attrs& a) {
       return a.order == Order::kKeep ? "" : std::string(1, kOrderLetters[static_cast<size_t>(a.order)]);
     },
     [](R& in, Attrs& a) { a.order = read_order(in); }},
    {"strides", [](const Attrs& a) { return a.strides.empty() ? "" : text_of(a.strides); },
     [](R& in, Attrs& a) { a.strides = in.syms(); }},
    {"decimals", [](const Attrs& a) { return a.decimals == 0 ? "" : std::to_string(a.decimals); },
     [](R& in, Attrs& a) { a.decimals = static_cast<int>(in.integer()); }},
    {"ddof", [](const Attrs& a) { return a.ddof == 0 ? "" : text_of(a.ddof); },
     [](R& in, Attrs& a) { a.ddof = in.real(); }},
    {"endpoint", [](const Attrs& a) { return flag(a.endpoint, true); },
     [](R& in, Attrs& a) { a.endpoint = read_flag(in); }},
    {"has_min", [](const Attrs& a) { return flag(a.has_min, true); },
     [](R& in, Attrs& a) { a.has_min = read_flag(in); }},
    {"has_max", [](const Attrs& a) { return flag(a.has_max, true); },
     [](R& in, Attrs& a) { a.has_max = read_flag(in); }},
    {"checked", [](const Attrs& a) { return flag(a.checked, false); },
     [](R& in, Attrs& a) { a.checked = read_flag(in); }},
};

}  // namespace

std::span<const AttrField> attr_fields() { return kFields; }

std::string type_text(const TensorType& type) {
  std::string out = type.str();
  if (type.strides != contiguous_strides(type.shape, Order::kC)) out += " strides " + text_of(type.strides);
  return type.writeable ? out : out + " readonly";
}

TensorType read_type(TextReader& in) {
  TensorType type;
  if (in.accept("py_bool")) {
    type.dtype = DType::kBool;
    type.value_class = ValueClass::kPyBool;
    return type;
  }
  if (in.accept("py_int")) {
    type.dtype = DType::kInt64;
    type.value_class = ValueClass::kPyInt;
    return type;
  }
  if (in.accept("py_float")) {
    type.value_class = ValueClass::kPyFloat;
    return type;
  }
  type.dtype = in.dtype();
  if (in.accept("scalar")) {
    type.value_class = ValueClass::kNumpyScalar;
    return type;
  }
  type.shape = in.syms();
  type.strides = in.accept("strides") ? in.syms() : contiguous_strides(type.shape, Order::kC);
  if (in.accept("readonly")) type.writeable = false;
  return type;
}

}  // namespace suture
