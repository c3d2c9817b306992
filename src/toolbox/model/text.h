// Text for people: source quotes with carets, indentation, and making control characters harmless.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace suture::toolbox {

// One line of a source file, "" when unknown. Given by the caller: the toolbox opens no path that an event
// names.
using SourceLine = std::function<std::string(const std::string& file, int line)>;

std::string indent(std::string_view text, std::string_view prefix);

// "1 graph", "2 graphs"
std::string count_of(int64_t count, std::string_view noun);

// "10,000", "2.5": a count or a mean of counts, readable at every size.
std::string grouped(double amount);

// "1.50 s", "12.0 ms", "3.85 us"
std::string duration(double ms);

// A comma list with repeats counted, in order of first sight: "a,b,a" is "a x2, b".
std::string counted_list(std::string_view comma_list);

std::string place(const std::string& file, int64_t line);

// A source line and a caret line under bytes [column, end_column) of it; column -1: no caret line. "" without
// source.
//   21 |     if y.sum() > 0:
//      |        ^^^^^^^^^^^
std::string quote_source(const SourceLine& source_line, const std::string& file, int64_t line, int64_t column,
                         int64_t end_column);

}  // namespace suture::toolbox
