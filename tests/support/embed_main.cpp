// main() of the test programs of PYTHON rooms: an embedded interpreter around GoogleTest. See embed.h.
#include <gtest/gtest.h>

#include <cstdio>

#include "bytecode/instruction.h"
#include "cpython/code_object.h"
#include "support/embed.h"

namespace suture::testing {

namespace {

PyRef fresh_namespace() {
  PyRef dict = PyRef::steal(PyDict_New());
  PyDict_SetItemString(dict.get(), "__name__", PyRef::steal(PyUnicode_FromString("__suture_test__")).get());
  PyDict_SetItemString(dict.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef numpy = PyRef::steal(PyImport_ImportModule("numpy"));
  if (numpy) PyDict_SetItemString(dict.get(), "np", numpy.get());
  return dict;
}

PyRef run(const std::string& source, int start, PyView dict) {
  PyRef code = PyRef::steal(Py_CompileString(source.c_str(), "<test>", start));
  PyRef result = code ? PyRef::steal(PyEval_EvalCode(code.get(), dict, dict)) : PyRef();
  if (!result) {
    PyErr_Print();
    ADD_FAILURE() << "Python failed on:\n" << source;
  }
  return result;
}

}  // namespace

PyRef run_python(const std::string& source) {
  PyRef dict = fresh_namespace();
  return run(source, Py_file_input, dict.get()) ? dict : PyRef();
}

PyRef python_object(const std::string& source, const char* name) {
  PyRef dict = run_python(source);
  if (!dict) return {};
  PyView object = PyDict_GetItemString(dict.get(), name);
  if (object == nullptr) ADD_FAILURE() << "no object '" << name << "' after:\n" << source;
  return PyRef::borrow(object);
}

PyRef evaluate_python(const std::string& expression, PyView namespace_dict) {
  PyRef fresh = namespace_dict ? PyRef() : fresh_namespace();
  return run(expression, Py_eval_input, namespace_dict ? namespace_dict : fresh.get());
}

PyView item(PyView dict, const char* key) { return PyDict_GetItemString(dict, key); }

std::string repr(PyView object) {
  if (object == nullptr) return "<null>";
  PyRef text = PyRef::steal(PyObject_Repr(object));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  return utf8 ? utf8 : "<repr failed>";
}

std::string take_exception() {
  if (!PyErr_Occurred()) return "";
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyRef text = PyRef::steal(PyObject_Str(value));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string all = std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " + (utf8 ? utf8 : "");
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_Clear();
  return all;
}

}  // namespace suture::testing

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in cmake/suture_room.cmake

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 1;
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, SUTURE_TEST_PYTHON);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) Py_ExitStatusException(status);
  if (!suture::can_be_rewritten(suture::running_python_version())) {
    std::puts("SKIPPED: these tests read and make code objects, and this Python has no opcode tables");
    return kSkipped;
  }
  const int failed = RUN_ALL_TESTS();
  // The interpreter is left as it is: static PyRefs of tests may outlive any finalisation.
  return failed;
}
