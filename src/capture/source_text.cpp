// See source_text.h.
#include "capture/source_text.h"

#include <optional>

#include "base/source_line.h"
#include "capture/source_version.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

std::string stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Nothing when the file is no longer what was compiled.
std::optional<std::string> raw_line(const UserSpan& where) {
  PyRef linecache = PyRef::steal(PyImport_ImportModule("linecache"));
  if (!linecache) return discard_error(), "";
  const auto read = [&] {
    PyRef line =
        PyRef::steal(PyObject_CallMethod(linecache.get(), "getline", "si", where.file.c_str(), where.line));
    if (!line) discard_error();
    return line;
  };
  PyRef line = read();
  const SourceText text = source_text_of(linecache.get(), where);
  if (text == SourceText::kChanged) return std::nullopt;
  if (text == SourceText::kReadAnew) line = read();
  return exact_text(line.get()).value_or("");
}

bool starts_with_word(const std::string& line, const std::string& word) {
  return line.rfind(word + " ", 0) == 0;
}

}  // namespace

std::string raw_source_line(const UserSpan& where) {
  if (!where.known()) return "";
  auto line = raw_line(where);
  return line ? bounded_source_line(std::move(*line)) : std::string(kChangedSource);
}

std::string source_line(const UserSpan& where) {
  return where.known() ? stripped(raw_source_line(where)) : "";
}

std::string statement_text(const UserSpan& where, const std::string& otherwise) {
  const std::string text = source_line(where);
  return text.empty() || text == kChangedSource ? otherwise : text;
}

std::string condition_text(const UserSpan& where) {
  const std::string raw = raw_line(where).value_or("");
  const std::string line = stripped(bounded_source_line(raw));
  if (line.empty()) return "this condition";
  const bool has_columns = where.line == where.end_line && where.column >= 0 &&
                           where.end_column > where.column &&
                           where.end_column <= static_cast<int>(raw.size());
  const std::string expression = has_columns
                                     ? raw.substr(static_cast<size_t>(where.column),
                                                  static_cast<size_t>(where.end_column - where.column))
                                     : "";
  for (const char* word : {"if", "elif", "while", "assert"}) {
    if (!starts_with_word(line, word)) continue;
    return std::string(word) + " " +
           (expression.empty() ? stripped(line.substr(std::string(word).size())) : expression);
  }
  return expression.empty() ? line : expression;
}

}  // namespace suture
