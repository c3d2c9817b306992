// The attributes of a node as text: one table, read by the printer, the parser and the JSON writer.
#pragma once

#include <span>

#include "graph/text_reader.h"

namespace suture {

struct AttrField {
  std::string_view name;
  std::string (*write)(const Attrs&);  // "" when the attribute has its default value
  void (*read)(TextReader&, Attrs&);
};
std::span<const AttrField> attr_fields();

std::string type_text(const TensorType& type);  // "f64[s0, 4] strides [1, s0] readonly"
TensorType read_type(TextReader& in);

}  // namespace suture
