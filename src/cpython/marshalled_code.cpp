#include "cpython/marshalled_code.h"

#include <marshal.h>

#include "cpython/code_object.h"
#include "cpython/discard_error.h"

namespace suture {
namespace {

constexpr int kDeepest = 200;

bool is_plain(PyView object) {
  return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
         PyBytes_CheckExact(object);
}

// Copies what has constants that cannot be marshalled; new references, empty with an exception set.
class Placeholders {
 public:
  PyRef code(PyView object, int depth) {
    const PyRef constants = code_constants(object);
    PyRef replaced = tuple(constants.get(), depth);
    if (!replaced) return {};
    if (replaced.get() == constants.get()) return PyRef::borrow(object);
    PyRef replace = PyRef::steal(PyObject_GetAttrString(object, "replace"));
    PyRef arguments = PyRef::steal(PyTuple_New(0));
    PyRef names = PyRef::steal(Py_BuildValue("{sO}", "co_consts", replaced.get()));
    if (!replace || !arguments || !names) return {};
    return PyRef::steal(PyObject_Call(replace.get(), arguments.get(), names.get()));
  }

 private:
  PyRef constant(PyView object, int depth) {
    if (is_plain(object)) return PyRef::borrow(object);
    if (depth < kDeepest) {
      if (PyCode_Check(object)) return code(object, depth + 1);
      if (PyTuple_CheckExact(object)) return tuple(object, depth + 1);
      if (PyFrozenSet_CheckExact(object) && holds_plain(object)) return PyRef::borrow(object);
    }
    return PyRef::steal(Py_BuildValue("[i]", count_++));
  }

  PyRef tuple(PyView object, int depth) {
    const Py_ssize_t size = PyTuple_GET_SIZE(object);
    PyRef out = PyRef::steal(PyTuple_New(size));
    bool changed = false;
    for (Py_ssize_t i = 0; out && i < size; ++i) {
      PyRef item = constant(PyTuple_GET_ITEM(object, i), depth);
      if (!item) return {};
      changed |= item.get() != PyTuple_GET_ITEM(object, i);
      PyTuple_SET_ITEM(out.get(), i, item.release());
    }
    return changed || !out ? std::move(out) : PyRef::borrow(object);
  }

  static bool holds_plain(PyView frozenset) {
    PyRef items = PyRef::steal(PySequence_Tuple(frozenset));
    bool plain = static_cast<bool>(items);
    for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(items.get()); ++i)
      plain = is_plain(PyTuple_GET_ITEM(items.get(), i));
    if (!items) discard_error();
    return plain;
  }

  int count_ = 0;
};

}  // namespace

Result<std::string> marshalled_code(PyView code) {
  PyRef plain = Placeholders().code(code, 0);
  PyRef bytes =
      plain ? PyRef::steal(PyMarshal_WriteObjectToString(plain.get(), Py_MARSHAL_VERSION)) : PyRef();
  if (!bytes) {
    discard_error();
    return Error::unsupported("marshal", "the code object cannot be marshalled");
  }
  return std::string(PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get())));
}

}  // namespace suture
