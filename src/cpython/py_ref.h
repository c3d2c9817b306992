// Ownership of Python objects is in the type: PyRef owns one reference, PyView borrows.
#pragma once

#include <Python.h>

#include <atomic>
#include <utility>

namespace suture {

using PyView = PyObject*;  // borrowed

// True from the moment the interpreter starts to end (interpreter_end.h).
inline std::atomic<bool> interpreter_ends{false};
void stop_thread_without_lock() noexcept;  // does not return in a thread that lost the interpreter's lock for good

// First in every destructor that uses Python and may run while a stack is unwound.
inline void stop_if_interpreter_is_gone() noexcept {
  if (interpreter_ends.load(std::memory_order_acquire)) [[unlikely]]
    stop_thread_without_lock();
}

// Lets go of an owned reference.
inline void let_go(PyObject* object) noexcept {
  if (object == nullptr) return;
  stop_if_interpreter_is_gone();
  Py_DECREF(object);
}

class PyRef {
 public:
  PyRef() = default;
  static PyRef steal(PyObject* object) { return PyRef(object); }
  static PyRef borrow(PyObject* object) {
    Py_XINCREF(object);
    return PyRef(object);
  }
  PyRef(const PyRef& other) : object_(other.object_) { Py_XINCREF(object_); }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { let_go(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit PyRef(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

}  // namespace suture
