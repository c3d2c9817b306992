#include "driver/assignment_sites.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "bytecode/continuation.h"
#include "bytecode/instruction.h"
#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"
#include "cpython/warning_filter.h"

namespace suture {
namespace {

constexpr Py_ssize_t kLongestSource =
    1 << 20;  // characters; a longer file would take longer than the compile itself

PyRef source_text_of(const std::string& file) {
  PyRef linecache = PyRef::steal(PyImport_ImportModule("linecache"));
  PyRef lines =
      linecache ? PyRef::steal(PyObject_CallMethod(linecache.get(), "getlines", "s", file.c_str())) : PyRef();
  PyRef empty = PyRef::steal(PyUnicode_FromString(""));
  PyRef text = lines && empty ? PyRef::steal(PyUnicode_Join(empty.get(), lines.get())) : PyRef();
  if (!text) discard_error();
  return text;
}

PyRef compiled(const std::string& file) {
  PyRef text = source_text_of(file);
  if (!text || PyUnicode_GET_LENGTH(text.get()) == 0 || PyUnicode_GET_LENGTH(text.get()) > kLongestSource)
    return {};
  const char* utf8 = PyUnicode_AsUTF8(text.get());
  const WarningFilter quiet(WarningAction::kIgnore);
  PyRef code = utf8 ? PyRef::steal(Py_CompileString(utf8, file.c_str(), Py_file_input)) : PyRef();
  if (!code) discard_error();  // it changed since, and is no program now
  return code;
}

using Visit = std::function<void(const Function& function, const Function* parent)>;

// `code` and every code object inside it, outermost first.
void each_code(PyView code, const Function* parent, const Visit& visit) {
  auto view = code_view(code);
  if (!view.ok()) return;
  auto function = decode_function(*view);
  if (!function.ok()) return;
  visit(*function, parent);
  PyRef constants = code_constants(code);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants.get()); ++i)
    if (PyView inner = PyTuple_GET_ITEM(constants.get(), i); PyCode_Check(inner))
      each_code(inner, &*function, visit);
}

bool is_class_body(const Function& function, const Function* parent) {
  return parent != nullptr && !(function.code.flags & kCodeOptimized);
}

// Code of our own making, which no file holds.
bool is_continuation(const CodeView& code) {
  return code.name.starts_with(kResumeName) || code.name.starts_with(kIterationName);
}

bool holds(PyView module, const CodeView& wanted) {
  bool found = false;
  each_code(module, nullptr, [&](const Function& function, const Function*) {
    found =
        found || (function.code.qualname == wanted.qualname && function.code.first_line == wanted.first_line);
  });
  return found;
}

const std::string* operand_name(const Function& function, const Instruction& instruction) {
  const OpcodeInfo* row = opcode_info(function.code.version, instruction.opcode);
  const auto& code = function.code;
  const auto at = [](const std::vector<std::string>& names, int index) {
    return index >= 0 && static_cast<size_t>(index) < names.size() ? &names[static_cast<size_t>(index)]
                                                                   : nullptr;
  };
  switch (row ? row->operand : Operand::kNone) {
    case Operand::kName: return at(code.names, instruction.arg);
    case Operand::kLocal:
    case Operand::kCell: return at(code.local_names, instruction.arg);
    default: return nullptr;
  }
}

void add_place(const Function& function, int line, std::vector<std::string>& places) {
  std::string place = function.code.filename + ":" + std::to_string(line);
  if (line > 0 && std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
}

// Instructions with one of `opcodes` that store `name`.
void add_stores(const Function& function, std::initializer_list<Opcode> opcodes, const std::string& name,
                std::vector<std::string>& places) {
  for (const Instruction& instruction : function.instructions) {
    if (std::ranges::find(opcodes, instruction.opcode) == opcodes.end()) continue;
    const std::string* stored = operand_name(function, instruction);
    if (stored && *stored == name) add_place(function, instruction.line, places);
  }
}

enum class Receiver : uint8_t { kSelf, kOther, kAny };  // kSelf: the first parameter

// `receiver.name = ...`
void add_attribute_stores(const Function& function, const std::string& name, Receiver wanted,
                          std::vector<std::string>& places) {
  for (size_t i = 1; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    const std::string* stored = operand_name(function, instruction);
    if (instruction.opcode != Opcode::STORE_ATTR || !stored || *stored != name) continue;
    const Instruction& receiver = function.instructions[i - 1];
    const bool self =
        (receiver.opcode == Opcode::LOAD_FAST || receiver.opcode == Opcode::LOAD_DEREF) && receiver.arg == 0;
    if (wanted == Receiver::kAny || self == (wanted == Receiver::kSelf))
      add_place(function, instruction.line, places);
  }
}

void add_module_level(PyView module, const std::string& name, std::vector<std::string>& places) {
  each_code(module, nullptr, [&](const Function& function, const Function* parent) {
    if (parent == nullptr)
      add_stores(function, {Opcode::STORE_NAME, Opcode::STORE_GLOBAL}, name, places);
    else
      add_stores(function, {Opcode::STORE_GLOBAL}, name, places);
  });
}

// Attribute `name` of instances of class `qualname`, or, when that is empty, of objects that no class body describes.
void add_attributes(PyView module, const std::string& qualname, const std::string& name,
                    std::vector<std::string>& places) {
  each_code(module, nullptr, [&](const Function& function, const Function* parent) {
    const auto wanted = [&](const Function& body) {
      return !qualname.empty() && body.code.qualname == qualname;
    };
    const bool method = parent != nullptr && parent->code.qualname != function.code.qualname &&
                        !(parent->code.flags & kCodeOptimized) && parent->code.name != "<module>";
    if (is_class_body(function, parent) && wanted(function))
      add_stores(function, {Opcode::STORE_NAME}, name, places);
    if (!method) return add_attribute_stores(function, name, Receiver::kAny, places);
    if (wanted(*parent)) add_attribute_stores(function, name, Receiver::kSelf, places);
    add_attribute_stores(function, name, Receiver::kOther, places);
  });
}

std::string text_item(PyView dict, const char* key) {
  PyView value = dict && PyDict_Check(dict) ? PyDict_GetItemString(dict, key) : nullptr;
  return exact_text(value).value_or("");
}

std::string module_file(PyView dict) {
  std::string file = text_item(dict, "__file__");
  return file.ends_with(".py") ? file : "";
}

// The file that defines a class, by its __module__.
std::string class_file(PyTypeObject* type) {
  const std::string name = text_item(type->tp_dict, "__module__");
  PyView modules = PyImport_GetModuleDict();
  PyView module = modules && !name.empty() ? PyDict_GetItemString(modules, name.c_str()) : nullptr;
  return module && PyModule_Check(module) ? module_file(PyModule_GetDict(module)) : "";
}

std::string class_qualname(PyTypeObject* type) {
  PyRef name = PyRef::steal(PyType_GetQualName(type));
  if (!name) discard_error();
  return name ? exact_text(name.get()).value_or("") : "";
}

std::string free_name(const CodeView& code, int cell) {
  int seen = 0;
  for (size_t i = 0; i < code.local_names.size(); ++i)
    if ((code.local_kinds[i] & kLocalFree) && seen++ == cell) return code.local_names[i];
  return "";
}

// "outer.<locals>.inner" -> "outer"
std::string enclosing(const std::string& qualname) {
  const size_t end = qualname.rfind(".<locals>.");
  return end == std::string::npos ? "" : qualname.substr(0, end);
}

bool is_parameter(const CodeView& code, size_t local) {
  return local < static_cast<size_t>(code.parameter_count());
}

// Whether `function` owns the cell `name`; a parameter is assigned by the call, so its place is the `def`.
bool add_owned_cell(const Function& function, const std::string& name, std::vector<std::string>& places) {
  const CodeView& code = function.code;
  for (size_t i = 0; i < code.local_names.size(); ++i) {
    if (code.local_names[i] != name || !(code.local_kinds[i] & kLocalCell)) continue;
    if (is_parameter(code, i)) add_place(function, code.first_line, places);
    return true;
  }
  return false;
}

}  // namespace

PyView AssignmentSites::module_code(const std::string& file) {
  if (file.empty() || !can_be_rewritten(running_python_version())) return nullptr;
  auto [at, fresh] = modules_.try_emplace(file);
  if (fresh) at->second = compiled(file);
  return at->second.get();
}

void AssignmentSites::add_global(PyView function, const std::string& name, std::vector<std::string>& places) {
  auto code = code_view(function_code(function));
  PyView module = code.ok() ? module_code(code->filename) : nullptr;
  if (module && (is_continuation(*code) || holds(module, *code))) add_module_level(module, name, places);
}

void AssignmentSites::add_closure(PyView function, int cell, std::vector<std::string>& places) {
  auto code = code_view(function_code(function));
  PyView module = code.ok() ? module_code(code->filename) : nullptr;
  const std::string name = code.ok() ? free_name(*code, cell) : "";
  if (!module || name.empty()) return;
  for (std::string scope = enclosing(code->qualname); !scope.empty(); scope = enclosing(scope)) {
    bool owned = false;
    each_code(module, nullptr, [&](const Function& inner, const Function*) {
      if (inner.code.qualname == scope) owned = add_owned_cell(inner, name, places) || owned;
    });
    if (!owned) continue;
    each_code(module, nullptr, [&](const Function& inner, const Function*) {
      const bool inside =
          inner.code.qualname == scope || inner.code.qualname.starts_with(scope + ".<locals>.");
      if (inside) add_stores(inner, {Opcode::STORE_DEREF}, name, places);
    });
    return;
  }
}

void AssignmentSites::add_attribute(PyView owner, PyView function, const std::string& name,
                                    std::vector<std::string>& places) {
  const std::string own = [&] {
    auto code = code_view(function_code(function));
    return code.ok() ? code->filename : "";
  }();
  bool seen_own = false;
  if (PyModule_Check(owner)) {
    if (PyView module = module_code(module_file(PyModule_GetDict(owner))))
      add_module_level(module, name, places);
  } else {
    PyTypeObject* type = PyType_Check(owner) ? reinterpret_cast<PyTypeObject*>(owner) : Py_TYPE(owner);
    PyView order = type->tp_mro;
    for (Py_ssize_t i = 0; order && i < PyTuple_GET_SIZE(order); ++i) {
      auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
      if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
      const std::string file = class_file(base);
      seen_own = seen_own || file == own;
      if (PyView module = module_code(file)) add_attributes(module, class_qualname(base), name, places);
    }
  }
  PyView module = seen_own ? nullptr : module_code(own);
  if (module) add_attributes(module, "", name, places);
}

std::vector<std::string> AssignmentSites::of(const SourceTable& sources, SourceId id,
                                             const FrameInput& input) {
  std::vector<std::string> places;
  if (id == kNoSource) return places;
  const Source& source = sources[id];
  const auto parent = [&] { return fetch(sources, source.parent, input); };
  switch (source.kind) {
    case SourceKind::kGlobal: add_global(input.function, source.name, places); break;
    case SourceKind::kCell: add_closure(input.function, source.index, places); break;
    case SourceKind::kCodeOf:
    case SourceKind::kFuncOf:
    case SourceKind::kContentsOf: return of(sources, source.parent, input);
    case SourceKind::kClosureOf:
      if (PyView function = parent(); function && is_python_function(function))
        add_closure(function, source.index, places);
      break;
    case SourceKind::kKey: {
      if (source.parent == kNoSource || sources[source.parent].kind != SourceKind::kGlobalsOf) break;
      PyView function = fetch(sources, sources[source.parent].parent, input);
      if (function && is_python_function(function))
        add_global(function, exact_text(source.key.get()).value_or(""), places);
      break;
    }
    case SourceKind::kAttr:
      if (PyView owner = parent()) add_attribute(owner, input.function, source.name, places);
      break;
    case SourceKind::kDefaultOf:
    case SourceKind::kKwDefaultOf:
      if (PyView function = parent(); function && is_python_function(function))
        if (auto code = code_view(function_code(function)); code.ok())
          places.push_back(code->filename + ":" + std::to_string(code->first_line));
      break;
    default: break;
  }
  return places;
}

}  // namespace suture
