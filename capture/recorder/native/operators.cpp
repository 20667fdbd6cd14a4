// Operators of torch, observed from a dispatch key: the module that Python loads.
//
//   frames.h       stacks, read where the interpreter keeps them
//   interpreter.h  what has to be asked of Python
//   arguments.h    what an operator was called with
//   log.h          rows and tables
//   watch.h        the open captures, and the rows of what makes nodes in them
//   kernel.h       the kernel that operators go through
//   hand_over.h    rows as Python has them
//
// capture/recorder/torch_native.py uses it, torch_native_build.py compiles it.
#include "hand_over.h"

namespace cglens {
namespace {

std::deque<Slot>& slots() {
  static auto* found = new std::deque<Slot>;
  return *found;
}

std::vector<c10::RegistrationHandleRAII>& registered() {
  static auto* found = new std::vector<c10::RegistrationHandleRAII>;
  return *found;
}

template <class Work>
PyObject* answered(Work work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* none() { Py_RETURN_NONE; }

template <class Function>
Function as_function(unsigned long long address) {
  return reinterpret_cast<Function>(static_cast<uintptr_t>(address));
}

// setup(callbacks, current_node, mark, key, current_stream, stream_handle, any_stream,
//       several_gpus, unsupported)
PyObject* setup(PyObject*, PyObject* args) {
  PyObject *callbacks, *node, *mark;
  const char* name;
  unsigned long long current, handle, any;
  int several, unsupported;
  if (!PyArg_ParseTuple(args, "OOO!sKKKpi", &callbacks, &node, &PyCode_Type, &mark, &name, &current,
                        &handle, &any, &several, &unsupported))
    return nullptr;
  return answered([&] {
    if (!frames_are_readable()) throw std::runtime_error("frames of this Python are not as expected");
    key() = c10::parseDispatchKey(name);
    Watch& w = watch();
    for (PyObject* item : {callbacks, node, mark}) Py_INCREF(item);  // kept: few, and for good
    w.callbacks = callbacks;
    w.current_node = node;
    w.mark = reinterpret_cast<PyCodeObject*>(mark);
    w.current_stream = as_function<CurrentStream>(current);
    w.stream_handle = as_function<StreamHandle>(handle);
    w.any_stream = as_function<AnyStream>(any);
    w.several_gpus = several != 0;
    w.unsupported = unsupported;
    return none();
  });
}

// stream() -> handle of this thread's current stream
PyObject* stream(PyObject*, PyObject*) {
  return answered([] {
    int device = -1;
    return PyLong_FromUnsignedLongLong(stream_now(device));
  });
}

// register(name, overload, launches, label) -> number, -1 for an operator that takes no kernel
PyObject* add(PyObject*, PyObject* args) {
  const char *name, *overload;
  int launches, label;
  if (!PyArg_ParseTuple(args, "sspi", &name, &overload, &launches, &label)) return nullptr;
  return answered([&] {
    int index = static_cast<int>(slots().size());
    slots().push_back({index, launches != 0, label, c10::OperatorName(name, overload)});
    registered().push_back(c10::Dispatcher::singleton().registerImpl(
        slots().back().name, key(),
        c10::KernelFunction::makeFromBoxedFunctor<Kernel>(std::make_unique<Kernel>(slots().back())),
        std::nullopt, nullptr, "cglens"));
    return PyLong_FromLong(index);
  });
}

PyObject* remove(PyObject*, PyObject*) {
  return answered([] {
    registered().clear();
    return none();
  });
}

using Held = std::shared_ptr<Capture>;
constexpr const char* HELD = "cglens.capture";

Held* held(PyObject* capsule) { return static_cast<Held*>(PyCapsule_GetPointer(capsule, HELD)); }

void changed(Watch& w) {
  w.open_count.store(static_cast<int>(w.open.size()), std::memory_order_relaxed);
  w.generation.fetch_add(1, std::memory_order_release);
}

// begin(id, thread, labels, number of the next autograd node, base code or None, base frame,
//       base outer, base module, capture_info) -> capture
PyObject* begin(PyObject*, PyObject* args) {
  unsigned long long id, frame, info;
  unsigned long thread;
  long long number;
  PyObject *labels, *code;
  int outer, module;
  if (!PyArg_ParseTuple(args, "KkO!LOKiiK", &id, &thread, &PyList_Type, &labels, &number, &code,
                        &frame, &outer, &module, &info))
    return nullptr;
  return answered([&] {
    Held capture = std::make_shared<Capture>();
    capture->id = id;
    capture->thread = thread;
    if (code != Py_None)
      capture->base = {reinterpret_cast<PyCodeObject*>(code),
                       reinterpret_cast<PyObject*>(static_cast<uintptr_t>(frame))};
    capture->base_outer = outer;
    capture->base_module = module;
    auto worker = std::make_unique<Worker>();
    worker->ident = thread;
    worker->labels = labels;
    worker->number = number;
    capture->workers[thread] = std::move(worker);
    watch().capture_info = as_function<CaptureInfo>(info);
    return PyCapsule_New(new Held(capture), HELD, [](PyObject* capsule) { delete held(capsule); });
  });
}

PyObject* open(PyObject*, PyObject* capsule) {
  Held* capture = held(capsule);
  if (capture == nullptr) return nullptr;
  return answered([&] {
    Watch& w = watch();
    std::lock_guard<std::mutex> guard(w.lock);
    if (std::find(w.open.begin(), w.open.end(), *capture) == w.open.end()) w.open.push_back(*capture);
    changed(w);
    return none();
  });
}

PyObject* close(PyObject*, PyObject* capsule) {
  Held* capture = held(capsule);
  if (capture == nullptr) return nullptr;
  return answered([&] {
    Watch& w = watch();
    std::lock_guard<std::mutex> guard(w.lock);
    w.open.erase(std::remove(w.open.begin(), w.open.end(), *capture), w.open.end());
    changed(w);
    return none();
  });
}

// In a forked child: locks may be held by threads that are not there.
PyObject* abandon(PyObject*, PyObject*) {
  return answered([] {
    Watch& w = watch();
    new (&w.lock) std::mutex;
    w.tables.renew_lock();
    for (const Held& capture : w.open) new (&capture->lock) std::mutex;
    w.open.clear();
    changed(w);
    return none();
  });
}

PyObject* length(PyObject*, PyObject* capsule) {
  Held* capture = held(capsule);
  return capture != nullptr ? PyLong_FromUnsignedLongLong((*capture)->rows_ever.load()) : nullptr;
}

PyObject* seen(PyObject*, PyObject* capsule) {
  Held* capture = held(capsule);
  return capture != nullptr ? PyLong_FromUnsignedLongLong((*capture)->seen.load()) : nullptr;
}

// A tip as Python has it: a handle, several, 0 for none.
Tip tip_from(Capture& capture, PyObject* given) {
  if (!PyTuple_Check(given)) {
    uint64_t handle = PyLong_AsUnsignedLongLongMask(given);
    return handle != 0 ? Tip{handle, 1} : Tip{};
  }
  std::vector<uint64_t> all;
  for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(given); ++at)
    all.push_back(PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(given, at)));
  std::lock_guard<std::mutex> guard(capture.lock);
  auto count = static_cast<int64_t>(all.size());
  return Tip{capture.several.emplace(std::move(all), capture.several.size()).first->second, count};
}

// write(capture, what, before, after, stream, rows when it began)
PyObject* write(PyObject*, PyObject* args) {
  PyObject *capsule, *before, *after;
  int what;
  unsigned long long stream, opened;
  if (!PyArg_ParseTuple(args, "OiOOKK", &capsule, &what, &before, &after, &stream, &opened))
    return nullptr;
  Held* capture = held(capsule);
  if (capture == nullptr) return nullptr;
  return answered([&] {
    Capture& into = **capture;
    write_row(into, *worker_of(*capture), what, what, tip_from(into, before), tip_from(into, after),
              stream, static_cast<int64_t>(at::sequence_number::peek()), opened);
    return none();
  });
}

PyObject* take(PyObject*, PyObject* capsule) {
  Held* capture = held(capsule);
  if (capture == nullptr) return nullptr;
  return answered([&] { return take_from(**capture, slots()); });
}

PyMethodDef METHODS[] = {
    {"setup", setup, METH_VARARGS, nullptr},   {"stream", stream, METH_NOARGS, nullptr},
    {"register", add, METH_VARARGS, nullptr},  {"unregister", remove, METH_NOARGS, nullptr},
    {"begin", begin, METH_VARARGS, nullptr},   {"open", open, METH_O, nullptr},
    {"close", close, METH_O, nullptr},         {"abandon", abandon, METH_NOARGS, nullptr},
    {"length", length, METH_O, nullptr},       {"seen", seen, METH_O, nullptr},
    {"write", write, METH_VARARGS, nullptr},   {"take", take, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "cglens_operators", nullptr, -1, METHODS};

}  // namespace
}  // namespace cglens

PyMODINIT_FUNC PyInit_cglens_operators() { return PyModule_Create(&cglens::MODULE); }
