#include "capture/source_version.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"
#include "cpython/warning_filter.h"

namespace suture {
namespace {

constexpr Py_ssize_t kLongestSource = 1 << 20;  // characters; compiling a longer file would be felt

struct Version {
  int64_t size = 0;
  double changed = 0;  // seconds, as Python's os.stat_result has them
};

struct Noted {
  PyRef code;                      // a weak reference
  std::optional<Version> version;  // none: there was no such file
  bool compared = false;           // with the text: it fits, or cannot be compared
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

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Seconds since the epoch, rounded down; 0 when the system does not tell.
double process_start() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  constexpr int kStartTime = 20;  // behind the name, in clock ticks since the system was started
  for (int i = 0; i < kStartTime; ++i) fields >> field;
  const double since_boot = std::atof(field.c_str()) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return now(CLOCK_REALTIME) - now(CLOCK_BOOTTIME) + since_boot - 1;
}

bool was_edited_meanwhile(const Version& version) {
  static const double start = process_start();
  return version.changed > start;
}

// What linecache has read; none for texts without a file and files not yet read.
std::optional<Version> read_version(PyView linecache, const std::string& file) {
  PyRef cache = PyRef::steal(PyObject_GetAttrString(linecache, "cache"));
  PyView entry =
      cache && PyDict_Check(cache.get()) ? PyDict_GetItemString(cache.get(), file.c_str()) : nullptr;
  if (!cache) discard_error();
  if (!entry || !PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 3) return std::nullopt;
  PyView size = PyTuple_GET_ITEM(entry, 0), changed = PyTuple_GET_ITEM(entry, 1);
  if (!PyLong_Check(size) || !PyFloat_Check(changed)) return std::nullopt;
  return Version{PyLong_AsLongLong(size), PyFloat_AS_DOUBLE(changed)};
}

bool is_same(const std::optional<Version>& read, const Version& noted) {
  constexpr double kSame = 1e-6;  // seconds: doubles hold no more
  return !read || (read->size == noted.size && std::abs(read->changed - noted.changed) < kSame);
}

PyRef joined_lines(PyView linecache, const std::string& file) {
  PyRef lines = PyRef::steal(PyObject_CallMethod(linecache, "getlines", "s", file.c_str()));
  PyRef empty = PyRef::steal(lines ? PyUnicode_FromString("") : nullptr);
  PyRef text = PyRef::steal(empty ? PyUnicode_Join(empty.get(), lines.get()) : nullptr);
  if (!text) discard_error();
  return text;
}

// Of a text that is no program: empty.
PyRef module_code(PyView text, const std::string& file) {
  const char* utf8 = PyUnicode_AsUTF8(text);
  const WarningFilter quiet(WarningAction::kIgnore);
  PyRef code = PyRef::steal(utf8 ? Py_CompileString(utf8, file.c_str(), Py_file_input) : nullptr);
  if (!code) discard_error();
  return code;
}

// Whether the code object, or one inside it, is `wanted`, with the same lines and columns.
bool holds(PyView code, PyView wanted) {
  const int equal = PyObject_RichCompareBool(code, wanted, Py_EQ);
  if (equal < 0) discard_error();
  if (equal == 1) {
    auto a = code_view(code), b = code_view(wanted);
    if (a.ok() && b.ok() && a->line_table == b->line_table && a->qualname == b->qualname) return true;
  }
  PyRef constants = code_constants(code);
  for (Py_ssize_t i = 0; constants && i < PyTuple_GET_SIZE(constants.get()); ++i)
    if (PyView inner = PyTuple_GET_ITEM(constants.get(), i); PyCode_Check(inner) && holds(inner, wanted))
      return true;
  return false;
}

// pytest compiles test modules from another tree than their text gives.
bool is_rewritten(PyView code) {
  auto view = code_view(code);
  return !view.ok() || std::ranges::any_of(
                           view->names, [](const std::string& name) { return name.starts_with("@pytest"); });
}

bool compare(PyView linecache, const std::string& file, PyView code) {
  if (!code || is_rewritten(code)) return true;
  PyRef text = joined_lines(linecache, file);
  if (!text || PyUnicode_GET_LENGTH(text.get()) > kLongestSource) return true;
  PyRef module = module_code(text.get(), file);
  return module && holds(module.get(), code);
}

}  // namespace

void note_source(PyView code, const std::string& file, const std::string& function) {
  const auto [at, fresh] = noted().try_emplace({file, function});
  if (!fresh && at->second.code && weak_target(at->second.code.get()) == code) return;
  PyRef weak = make_weak_reference(code);
  if (!weak) discard_error();
  at->second = {std::move(weak), version_of(file), false};
  if (at->second.version) at->second.compared = !was_edited_meanwhile(*at->second.version);
}

SourceText source_text_of(PyView linecache, const UserSpan& where) {
  const auto found = noted().find({where.file, where.function});
  if (found == noted().end() || !found->second.version) return SourceText::kCurrent;
  Noted& function = found->second;
  SourceText text = SourceText::kCurrent;
  if (!is_same(read_version(linecache, where.file), *function.version)) {
    // It may have been read before the function was compiled.
    for (const char* step : {"checkcache", "getlines"}) {
      PyRef done = PyRef::steal(PyObject_CallMethod(linecache, step, "s", where.file.c_str()));
      if (!done) discard_error();
    }
    if (!is_same(read_version(linecache, where.file), *function.version)) return SourceText::kChanged;
    text = SourceText::kReadAnew;
  }
  if (!function.compared)
    function.compared =
        compare(linecache, where.file, function.code ? weak_target(function.code.get()) : nullptr);
  return function.compared ? text : SourceText::kChanged;
}

}  // namespace suture
