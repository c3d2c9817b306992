// TextReader: a cursor over graph text, with the small grammars that several readers share. Never throws; the
// first error is kept and everything after it reads as empty, so callers check once per line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace suture {

class TextReader {
 public:
  TextReader(std::string_view text, int line, size_t symbol_count)
      : text_(text), line_(line), symbols_(symbol_count) {}

  bool accept(std::string_view token);  // skips blanks; identifiers match whole words only
  void expect(std::string_view token);
  bool at_end();
  std::string word();    // [A-Za-z_][A-Za-z0-9_.]*
  std::string quoted();  // "..." with \" \\ \n \xHH
  int64_t integer();
  double real();
  SymInt sym();
  Scalar scalar();
  DType dtype();  // "f64"
  // open item, item, ... close
  template <class Fn>
  void list(std::string_view open, std::string_view close, const Fn& item) {
    expect(open);
    if (accept(close)) return;
    do item();
    while (!failed() && accept(","));
    expect(close);
  }
  std::vector<SymInt> syms();  // [a, b]

  bool failed() const { return !error_.empty(); }
  void fail(const std::string& message);
  const std::string& error() const { return error_; }

 private:
  void skip_blanks();
  std::string number_text();
  SymInt sym_term(int depth);
  SymInt sym_atom(int depth);
  SymInt sym_sum(int depth);
  SymInt sym_selection(bool minimum, int depth);
  std::string_view text_;
  size_t at_ = 0;
  int line_;
  size_t symbols_;
  std::string error_;
};

// The writing half of the same grammars.
std::string quote(std::string_view text);
std::string text_of(double value);  // shortest digits that read back; always with '.', 'e', inf or nan
std::string text_of(const Scalar& value);
std::string text_of(const std::vector<SymInt>& list);

}  // namespace suture
