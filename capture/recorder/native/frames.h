// Stacks of this thread, read where the interpreter keeps them: no frame object is made, and the
// interpreter's lock is not needed, since a thread that is in here does not change its frames.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#if defined(Py_GIL_DISABLED) || PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "the frames of this Python are not known"
#endif

namespace cglens {

// The leading fields of CPython's _PyInterpreterFrame, which its public headers only name.
struct Frame {
#if PY_VERSION_HEX < 0x030C0000
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyObject* code;
  PyObject* object;
  Frame* previous;
  const uint16_t* instruction;
  int stacktop;
  bool is_entry;
  char owner;
#else
  PyObject* code;
  Frame* previous;
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyObject* object;
  const uint16_t* instruction;
  int stacktop;
  uint16_t return_offset;
  char owner;
#endif
  PyObject* variables[1];
};

constexpr char OWNED_BY_GENERATOR = 1;
constexpr char OWNED_BY_C = 3;

inline const Frame* innermost_of(PyThreadState* thread) {
#if PY_VERSION_HEX < 0x030D0000
  return thread->cframe != nullptr ? reinterpret_cast<Frame*>(thread->cframe->current_frame)
                                   : nullptr;
#else
  return reinterpret_cast<Frame*>(thread->current_frame);
#endif
}

inline PyCodeObject* code_of(const Frame* frame) {
  return reinterpret_cast<PyCodeObject*>(frame->code);
}

inline const uint16_t* instructions_of(PyCodeObject* code) {
  return reinterpret_cast<const uint16_t*>(code->co_code_adaptive);
}

// Whether Python shows a frame: not those between two of C, nor those that are being set up.
inline bool is_shown(const Frame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  if (frame->owner == OWNED_BY_C) return false;
#endif
  if (!PyCode_Check(frame->code)) return false;
  if (frame->owner == OWNED_BY_GENERATOR) return true;
  PyCodeObject* code = code_of(frame);
  return frame->instruction >= instructions_of(code) + code->_co_firsttraceable;
}

inline const Frame* shown(const Frame* frame) {
  while (frame != nullptr && !is_shown(frame)) frame = frame->previous;
  return frame;
}

inline const Frame* innermost() {
  PyThreadState* thread = PyGILState_GetThisThreadState();
  return thread != nullptr ? shown(innermost_of(thread)) : nullptr;
}

// As `frame.f_lasti`, in bytes.
inline int offset_of(const Frame* frame) {
  auto at = frame->instruction - instructions_of(code_of(frame));
  return at < 0 ? -1 : static_cast<int>(at * sizeof(uint16_t));
}

// The first argument of a function; null when it is not bound.
inline PyObject* first_argument(const Frame* frame) {
  PyObject* value = frame->variables[0];
  return value != nullptr && PyCell_Check(value) ? PyCell_GET(value) : value;
}

// A frame past which stacks need not be walked.
struct Base {
  PyCodeObject* code = nullptr;
  PyObject* frame = nullptr;
};

struct Walk {
  std::vector<uintptr_t>& key;  // code and offset of each frame, innermost first
  const Frame* marked = nullptr;
  bool based = false;
};

inline void walk(const Frame* frame, const Base& base, PyCodeObject* mark, Walk& found) {
  while (frame != nullptr) {
    PyCodeObject* code = code_of(frame);
    found.key.push_back(reinterpret_cast<uintptr_t>(code));
    found.key.push_back(static_cast<uintptr_t>(static_cast<intptr_t>(offset_of(frame))));
    if (code == base.code && frame->object == base.frame) {
      found.based = true;
      return;
    }
    if (code == mark && found.marked == nullptr) found.marked = frame;
    frame = shown(frame->previous);
  }
}

// Whether the frames read here are those that Python's own functions tell of; holds the lock.
inline bool frames_are_readable() {
  const Frame* mine = innermost();
  PyFrameObject* theirs = PyThreadState_GetFrame(PyThreadState_Get());
  bool equal = true;
  while (equal && theirs != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(theirs);
    equal = mine != nullptr && code_of(mine) == code && offset_of(mine) == PyFrame_GetLasti(theirs) &&
            mine->object == reinterpret_cast<PyObject*>(theirs);
    Py_DECREF(code);
    PyFrameObject* outer = PyFrame_GetBack(theirs);
    Py_DECREF(theirs);
    theirs = outer;
    if (equal) mine = shown(mine->previous);
  }
  Py_XDECREF(theirs);
  return equal && mine == nullptr;
}

}  // namespace cglens
