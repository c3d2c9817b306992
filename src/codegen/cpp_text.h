// Pieces of C++ text: identifiers that cannot collide, literals of every dtype, indented lines with trailing
// comments.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "ops/dtype.h"

namespace suture {

// Identifiers of one kernel. Names come from the user's program, so they may be C++ keywords, prelude names
// or not ASCII.
class NameScope {
 public:
  void reserve(std::string name) { used_.insert(std::move(name)); }
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string> used_;
};

// The value as a constant expression of exactly this C++ type: "1.0", "2.5f", "int8_t(3)", "true".
std::string cpp_literal(const Scalar& value, DType dtype);

class CppWriter {
 public:
  void line(std::string_view code, std::string_view comment = "");
  void open(std::string_view head, std::string_view comment = "") {  // head {
    line(std::string(head) + (head.empty() ? "{" : " {"), comment);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  int lines() const { return lines_; }  // written so far
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0, lines_ = 0;
};

}  // namespace suture
