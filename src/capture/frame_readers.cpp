// How it works
//   Known callables are compared by identity. A Python function is also searched for the names of frame readers,
//   and with it the functions of its own module that it names: evaluators of expression strings find their
//   variables in the caller's frame that way. Loggers, which reach the frame through methods of objects, want no
//   more of it than name and line, and those are right.
#include "capture/frame_readers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "capture/known_modules.h"
#include "cpython/code_object.h"
#include "cpython/objects.h"

namespace suture {
namespace {

constexpr size_t kAnyCount = 1000;
constexpr size_t kMostFunctions = 16;  // looked into for one question

struct Reader {
  const char* module;
  const char* name;
  size_t most_arguments;  // with more, it reads those instead
  FrameUse use;
};
constexpr Reader kReaders[] = {
    {"builtins", "locals", kAnyCount, FrameUse::kContents},
    {"builtins", "vars", 0, FrameUse::kContents},
    {"builtins", "dir", 0, FrameUse::kContents},
    {"builtins", "eval", 1, FrameUse::kContents},
    {"builtins", "exec", 1, FrameUse::kContents},
    {"builtins", "breakpoint", kAnyCount, FrameUse::kContents},
    {"sys", "settrace", kAnyCount, FrameUse::kContents},
    {"sys", "setprofile", kAnyCount, FrameUse::kContents},
    {"sys", "_getframe", kAnyCount, FrameUse::kContents},
    {"inspect", "currentframe", kAnyCount, FrameUse::kContents},
    {"inspect", "stack", kAnyCount, FrameUse::kContents},
    {"traceback", "extract_stack", kAnyCount, FrameUse::kDepth},
    {"traceback", "format_stack", kAnyCount, FrameUse::kDepth},
    {"traceback", "print_stack", kAnyCount, FrameUse::kDepth},
    {"warnings", "warn", kAnyCount, FrameUse::kDepth},
};

FrameUse known_use(PyView callable, size_t arguments) {
  for (const Reader& reader : kReaders)
    if (arguments <= reader.most_arguments && module_object(reader.module, reader.name) == callable)
      return reader.use;
  return FrameUse::kNone;
}

// The function itself, then the functions of its module that those found so far name.
bool names_a_reader(PyView function) {
  std::vector<PyView> functions = {function};
  for (size_t i = 0; i < functions.size(); ++i) {
    auto code = code_view(function_code(functions[i]));
    if (!code.ok()) continue;
    for (const std::string& name : code->names) {
      if (name == "_getframe" || name == "currentframe") return true;
      PyView named = PyDict_GetItemString(function_globals(functions[i]), name.c_str());
      const bool follow = named && is_python_function(named) && functions.size() < kMostFunctions &&
                          function_globals(named) == function_globals(function) &&
                          std::find(functions.begin(), functions.end(), named) == functions.end();
      if (follow) functions.push_back(named);
    }
  }
  return false;
}

}  // namespace

std::string named_frame_reader(PyView function) {
  auto code = code_view(function_code(function));
  if (!code.ok()) return "";
  // Whether it is called with arguments that make it read something else is not known here.
  const auto reads = [](PyView object) { return frame_use(object, 0) == FrameUse::kContents; };
  for (const std::string& name : code->names) {
    PyView object = PyDict_GetItemString(function_globals(function), name.c_str());
    if (object && reads(object)) return name;
    if (!object || !PyModule_Check(object)) continue;
    for (const std::string& attribute : code->names) {
      PyView member = PyDict_GetItemString(PyModule_GetDict(object), attribute.c_str());
      if (member && reads(member)) return name + "." + attribute;
    }
  }
  return "";
}

FrameUse frame_use(PyView callable, size_t arguments) {
  const FrameUse known = known_use(callable, arguments);
  if (known != FrameUse::kNone || !is_python_function(callable)) return known;
  return names_a_reader(callable) ? FrameUse::kContents : FrameUse::kNone;
}

}  // namespace suture
