// See source_text.h.
#include "capture/source_text.h"

#include <sys/stat.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/source_line.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

struct Version {
  int64_t size = 0;
  double changed = 0;  // seconds, as Python's os.stat_result has them
};

struct Noted {
  Py_hash_t code = 0;
  std::optional<Version> version;  // none: there was no such file
};

// By file and function. Under the interpreter lock.
std::map<std::pair<std::string, std::string>, Noted>& noted() {
  static auto* const map = new std::map<std::pair<std::string, std::string>, Noted>;
  return *map;
}

std::optional<Version> version_of(const std::string& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return Version{status.st_size, static_cast<double>(status.st_mtim.tv_sec) +
                                     1e-9 * static_cast<double>(status.st_mtim.tv_nsec)};
}

std::string stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// What linecache has read; none for texts without a file and files not yet read.
std::optional<Version> read_version(PyView linecache, const std::string& file) {
  PyRef cache = PyRef::steal(PyObject_GetAttrString(linecache, "cache"));
  PyView entry =
      cache && PyDict_Check(cache.get()) ? PyDict_GetItemString(cache.get(), file.c_str()) : nullptr;
  if (!entry || !PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 3) return std::nullopt;
  PyView size = PyTuple_GET_ITEM(entry, 0), changed = PyTuple_GET_ITEM(entry, 1);
  if (!PyLong_Check(size) || !PyFloat_Check(changed)) return std::nullopt;
  return Version{PyLong_AsLongLong(size), PyFloat_AS_DOUBLE(changed)};
}

bool fits(const std::optional<Version>& read, const Version& compiled) {
  constexpr double kSame = 1e-6;  // seconds: doubles hold no more
  return !read || (read->size == compiled.size && std::abs(read->changed - compiled.changed) < kSame);
}

PyRef read_line(PyView linecache, const UserSpan& where) {
  return PyRef::steal(PyObject_CallMethod(linecache, "getline", "si", where.file.c_str(), where.line));
}

// Nothing when the file is no longer what was compiled.
std::optional<std::string> raw_line(const UserSpan& where) {
  PyRef linecache = PyRef::steal(PyImport_ImportModule("linecache"));
  PyRef line = linecache ? read_line(linecache.get(), where) : PyRef();
  const auto known = noted().find({where.file, where.function});
  if (!line || known == noted().end() || !known->second.version)  // nothing to compare
    return exact_text(line.get()).value_or("");
  const Version compiled = *known->second.version;
  if (!fits(read_version(linecache.get(), where.file), compiled)) {
    // It may have been read before the function was compiled.
    PyRef checked = PyRef::steal(PyObject_CallMethod(linecache.get(), "checkcache", "s", where.file.c_str()));
    line = checked ? read_line(linecache.get(), where) : PyRef();
    if (!fits(read_version(linecache.get(), where.file), compiled)) return std::nullopt;
  }
  return exact_text(line.get()).value_or("");
}

bool starts_with_word(const std::string& line, const std::string& word) {
  return line.rfind(word + " ", 0) == 0;
}

}  // namespace

void note_source(PyView code, const std::string& file, const std::string& function) {
  const Py_hash_t hash = PyObject_Hash(code);
  if (hash == -1) return discard_error();
  const auto [at, fresh] = noted().try_emplace({file, function});
  if (fresh || at->second.code != hash) at->second = {hash, version_of(file)};
}

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
