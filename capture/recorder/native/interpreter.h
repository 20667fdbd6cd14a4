// What has to be asked of Python, rarely: the interpreter's lock, and calls of our own methods.
#pragma once

#include <Python.h>

#include <stdexcept>
#include <string>

namespace cglens {

// Holds the interpreter's lock, and keeps an exception that is on its way apart from ours.
class Locked {
 public:
  // Raises where the interpreter is ending, and would end the thread that waits for it.
  Locked() : state_(ready()) { PyErr_Fetch(&type_, &value_, &trace_); }
  ~Locked() {
    PyErr_Restore(type_, value_, trace_);
    PyGILState_Release(state_);
  }
  Locked(const Locked&) = delete;

 private:
  static PyGILState_STATE ready() {
#if PY_VERSION_HEX < 0x030D0000
    if (_Py_IsFinalizing()) throw std::runtime_error("the interpreter is ending");
#else
    if (Py_IsFinalizing()) throw std::runtime_error("the interpreter is ending");
#endif
    return PyGILState_Ensure();
  }

  PyGILState_STATE state_;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// A reference to an object, given up while the lock is held.
class Owned {
 public:
  explicit Owned(PyObject* object) : object_(object) {}
  ~Owned() { Py_XDECREF(object_); }
  Owned(const Owned&) = delete;
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// Clears the error of Python that is set and returns what it says.
inline std::string error_text() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (type == nullptr) return "";
  // Somebody's Ctrl-C that arrived in here is theirs: it comes again when we are out.
  if (PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  std::string found = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  PyObject* text = value != nullptr ? PyObject_Str(value) : nullptr;
  const char* read = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
  if (read != nullptr) found += std::string(": ") + read;
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return found;
}

}  // namespace cglens
