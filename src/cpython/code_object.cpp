// Code objects in and out. The only file that knows the fields of PyCodeObject and PyFunctionObject.
#include "cpython/code_object.h"

#include <fmt/format.h>

#include <string_view>

#include "cpython/discard_error.h"

namespace suture {
namespace {

std::string text_of(PyView unicode) {
  Py_ssize_t size = 0;
  const char* utf8 = unicode ? PyUnicode_AsUTF8AndSize(unicode, &size) : nullptr;
  if (utf8 == nullptr) {  // a lone surrogate: such names occur in file names only
    discard_error();
    return "?";
  }
  return std::string(utf8, static_cast<size_t>(size));
}

std::vector<std::string> texts_of(PyView tuple) {
  std::vector<std::string> result;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    result.push_back(text_of(PyTuple_GET_ITEM(tuple, i)));
  return result;
}

std::vector<uint8_t> bytes_of(PyView bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes));
  return {data, data + PyBytes_GET_SIZE(bytes)};
}

std::vector<std::string> reprs_of(PyView tuple) {
  std::vector<std::string> result;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyRef repr = PyRef::steal(PyObject_Repr(PyTuple_GET_ITEM(tuple, i)));
    if (!repr) discard_error();
    result.push_back(repr ? text_of(repr.get()) : "?");
  }
  return result;
}

PyRef bytes_object(const std::vector<uint8_t>& bytes) {
  return PyRef::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                                static_cast<Py_ssize_t>(bytes.size())));
}

PyRef string_object(std::string_view text) {
  return PyRef::steal(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

PyRef names_tuple(const std::vector<std::string>& names) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  for (size_t i = 0; tuple && i < names.size(); ++i) {
    PyRef name = string_object(names[i]);
    if (!name) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), name.release());
  }
  return tuple;
}

// local_names in the three tuples that PyCode_New takes. A cell that is also a local (an argument) stands in
// two of them.
struct LocalTuples {
  std::vector<std::string> locals, cells, frees;
};

LocalTuples split_locals(const CodeView& code) {
  LocalTuples out;
  for (size_t i = 0; i < code.local_names.size(); ++i) {
    if (code.local_kinds[i] & kLocalPlain) out.locals.push_back(code.local_names[i]);
    if (code.local_kinds[i] & kLocalCell) out.cells.push_back(code.local_names[i]);
    if (code.local_kinds[i] & kLocalFree) out.frees.push_back(code.local_names[i]);
  }
  return out;
}

#if PY_VERSION_HEX >= 0x030B0000
int parameter_count(const PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

bool same_parameters(const PyCodeObject* a, const PyCodeObject* b) {
  constexpr int kPacked = CO_VARARGS | CO_VARKEYWORDS;
  if (a->co_argcount != b->co_argcount || a->co_posonlyargcount != b->co_posonlyargcount ||
      a->co_kwonlyargcount != b->co_kwonlyargcount || (a->co_flags & kPacked) != (b->co_flags & kPacked)) {
    return false;
  }
  for (int i = 0; i < parameter_count(a); ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(a->co_localsplusnames, i),
                          PyTuple_GET_ITEM(b->co_localsplusnames, i)) != 0)
      return false;
  }
  return true;
}

bool same_closure_size(const PyCodeObject* code, PyView closure) {
  const Py_ssize_t cells = closure != nullptr ? PyTuple_GET_SIZE(closure) : 0;
  return cells == code->co_nfreevars;
}
#endif

bool copy_attribute(PyView from, PyView to, const char* name) {
  PyRef value = PyRef::steal(PyObject_GetAttrString(from, name));
  return value && PyObject_SetAttrString(to, name, value.get()) == 0;
}

PyObject* marker_repr(PyObject*) { return PyUnicode_FromString("<unbound local>"); }

}  // namespace

Result<CodeView> code_view(PyView object) {
#if PY_VERSION_HEX >= 0x030B0000
  if (!PyCode_Check(object)) return Error::internal("code_view", "not a code object");
  const auto* code = reinterpret_cast<const PyCodeObject*>(object);
  CodeView view;
  view.version = running_python_version();
  view.name = text_of(code->co_name);
  view.qualname = text_of(code->co_qualname);
  view.filename = text_of(code->co_filename);
  view.first_line = code->co_firstlineno;
  view.arg_count = code->co_argcount;
  view.posonly_count = code->co_posonlyargcount;
  view.kwonly_count = code->co_kwonlyargcount;
  view.stack_size = code->co_stacksize;
  view.flags = code->co_flags;
  view.local_names = texts_of(code->co_localsplusnames);
  view.local_kinds = bytes_of(code->co_localspluskinds);
  view.names = texts_of(code->co_names);
  view.constant_reprs = reprs_of(code->co_consts);
  PyRef bytes = PyRef::steal(PyCode_GetCode(const_cast<PyCodeObject*>(code)));
  if (!bytes) return Error::python("code_view");
  view.code = bytes_of(bytes.get());
  view.line_table = bytes_of(code->co_linetable);
  view.exception_table = bytes_of(code->co_exceptiontable);
  return view;
#else
  (void)object;
  return Error::unsupported("code_view", "code objects of this Python version are not read");
#endif
}

PyRef code_constants(PyView object) {
  return PyRef::borrow(reinterpret_cast<const PyCodeObject*>(object)->co_consts);
}

Result<PyRef> make_code_object(const Function& function, PyView constants) {
#if PY_VERSION_HEX >= 0x030B0000
  SUTURE_TRY(assembled, assemble(function));
  const CodeView& view = function.code;
  const LocalTuples locals = split_locals(view);
  PyRef code = bytes_object(assembled.code), lines = bytes_object(assembled.line_table),
        exceptions = bytes_object(assembled.exception_table);
  PyRef names = names_tuple(view.names), varnames = names_tuple(locals.locals);
  PyRef frees = names_tuple(locals.frees), cells = names_tuple(locals.cells);
  PyRef filename = string_object(view.filename), name = string_object(view.name),
        qualname = string_object(view.qualname);
  if (!code || !lines || !exceptions || !names || !varnames || !frees || !cells || !filename || !name ||
      !qualname)
    return Error::python("make_code_object");
#if PY_VERSION_HEX >= 0x030C0000  // the same function under its later name
#define PyCode_NewWithPosOnlyArgs PyUnstable_Code_NewWithPosOnlyArgs
#endif
  auto* made = PyCode_NewWithPosOnlyArgs(view.arg_count, view.posonly_count, view.kwonly_count,
                                         static_cast<int>(locals.locals.size()), assembled.stack_size,
                                         view.flags, code.get(), constants, names.get(), varnames.get(),
                                         frees.get(), cells.get(), filename.get(), name.get(), qualname.get(),
                                         assembled.first_line, lines.get(), exceptions.get());
  if (made == nullptr) return Error::python("make_code_object");
  return PyRef::steal(reinterpret_cast<PyObject*>(made));
#else
  (void)function;
  (void)constants;
  return Error::unsupported("make_code_object", "code objects of this Python version are not made");
#endif
}

Result<PyRef> make_function(PyView code, PyView like, PyView closure_or_null) {
#if PY_VERSION_HEX >= 0x030B0000
  const auto* model = reinterpret_cast<const PyFunctionObject*>(like);
  const auto* new_code = reinterpret_cast<const PyCodeObject*>(code);
  const auto* model_code = reinterpret_cast<const PyCodeObject*>(model->func_code);
  PyView closure = closure_or_null != nullptr ? closure_or_null : model->func_closure;
  if (!same_closure_size(new_code, closure))
    return Error::internal(
        "make_function",
        fmt::format("{} needs {} free variables", text_of(new_code->co_name), int{new_code->co_nfreevars}));
  PyRef made = PyRef::steal(PyFunction_NewWithQualName(code, model->func_globals, new_code->co_qualname));
  if (!made) return Error::python("make_function");
  if (closure != nullptr && new_code->co_nfreevars > 0 && PyFunction_SetClosure(made.get(), closure) != 0)
    return Error::python("make_function");
  if (!copy_attribute(like, made.get(), "__module__")) return Error::python("make_function");
  if (same_parameters(new_code, model_code)) {
    for (const char* name : {"__defaults__", "__kwdefaults__", "__annotations__"}) {
      if (!copy_attribute(like, made.get(), name)) return Error::python("make_function");
    }
  }
  return made;
#else
  (void)code;
  (void)like;
  (void)closure_or_null;
  return Error::unsupported("make_function", "functions of this Python version are not made");
#endif
}

PyView unbound_marker() {
  // One per process and never freed: code objects made long ago must go on recognising it.
  static PyObject* marker = nullptr;
  if (marker == nullptr) {
    PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(marker_repr)}, {0, nullptr}};
    PyType_Spec spec = {"suture.UnboundLocal", sizeof(PyObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyRef type = PyRef::steal(PyType_FromSpec(&spec));
    if (type) marker = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type.get()), 0);
  }
  return marker;
}

PythonVersion running_python_version() { return {PY_MAJOR_VERSION, PY_MINOR_VERSION}; }

}  // namespace suture
