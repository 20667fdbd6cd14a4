// The captures that are open, and what is noted of an operator or a launch in one of them.
#pragma once

#include <ATen/SequenceNumber.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Stream.h>

#include <algorithm>
#include <ctime>

#include "arguments.h"
#include "log.h"

namespace torch::autograd {
int get_current_graph_task_id();
struct Node;
#if CGLENS_NODE == 1
std::shared_ptr<Node> get_current_node();
#elif CGLENS_NODE == 2
// The same in memory, and all that is done with it is to see whether it is null.
c10::intrusive_ptr<c10::intrusive_ptr_target> get_current_node();
#endif
}  // namespace torch::autograd

namespace cglens {

// c10::cuda::CUDAStream, which needs CUDA's headers, holds nothing but this.
struct CudaStream {
  c10::Stream stream;
};

using CaptureInfo = int (*)(void* stream, int* status, uint64_t* id, void** graph,
                            const void*** nodes, const void** edges, size_t* count);
using CurrentStream = CudaStream (*)(c10::DeviceIndex);
using StreamHandle = void* (*)(const CudaStream*);
using AnyStream = uint64_t (*)();

struct Watch {
  // From Python, before the first capture.
  PyObject* callbacks = nullptr;
  PyObject* current_node = nullptr;
  PyCodeObject* mark = nullptr;
  CaptureInfo capture_info = nullptr;
  CurrentStream current_stream = nullptr;
  StreamHandle stream_handle = nullptr;
  AnyStream any_stream = nullptr;  // in place of both
  bool several_gpus = false;
  int unsupported = 0;

  std::atomic<uint64_t> generation{1};  // changes when a capture is opened or closed
  std::atomic<int> open_count{0};
  std::mutex lock;
  std::vector<std::shared_ptr<Capture>> open;
  Tables tables;
};

inline Watch& watch() {
  static Watch* found = new Watch;  // never destroyed: threads may end after everything else
  return *found;
}

inline uint64_t clock_ns(clockid_t which) {
  timespec now{};
  clock_gettime(which, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ull + static_cast<uint64_t>(now.tv_nsec);
}

// The handle of this thread's current stream, and its GPU.
inline uint64_t stream_now(int& device) {
  Watch& w = watch();
  if (w.any_stream != nullptr) return w.any_stream();
  CudaStream found = w.current_stream(-1);
  device = found.stream.device_index();
  return reinterpret_cast<uint64_t>(w.stream_handle(&found));
}

inline Tip tip_of(Capture& capture, uint64_t stream) {
  int status = 0;
  const void** nodes = nullptr;
  const void* edges = nullptr;
  size_t count = 0;
  int code = watch().capture_info(reinterpret_cast<void*>(stream), &status, nullptr, nullptr, &nodes,
                                  &edges, &count);
  if (code != 0 || status != 1) return NOT_CAPTURING;
  if (count == 0) return Tip{};
  if (count == 1) return Tip{reinterpret_cast<uint64_t>(nodes[0]), 1};
  std::vector<uint64_t> all(count);
  for (size_t at = 0; at < count; ++at) all[at] = reinterpret_cast<uint64_t>(nodes[at]);
  std::lock_guard<std::mutex> guard(capture.lock);
  auto added = capture.several.emplace(std::move(all), capture.several.size());
  return Tip{added.first->second, static_cast<int64_t>(count)};
}

// What a thread found last; good until captures are opened or closed.
struct Local {
  uint64_t generation = 0;
  bool several = false;
  std::shared_ptr<Capture> capture;
  Worker* worker = nullptr;
};

inline Local& local() {
  static thread_local Local found;
  return found;
}

inline std::shared_ptr<Capture> capture_of(uint64_t stream) {
  Watch& w = watch();
  Local& mine = local();
  uint64_t generation = w.generation.load(std::memory_order_acquire);
  if (mine.generation != generation) {
    std::lock_guard<std::mutex> guard(w.lock);
    mine.several = w.open.size() > 1;
    mine.capture = w.open.size() == 1 ? w.open.front() : nullptr;
    mine.worker = nullptr;
    mine.generation = generation;
  }
  if (!mine.several) return mine.capture;
  int status = 0;
  uint64_t id = 0;
  size_t count = 0;
  const void** nodes = nullptr;
  const void* edges = nullptr;
  int code = w.capture_info(reinterpret_cast<void*>(stream), &status, &id, nullptr, &nodes, &edges,
                            &count);
  if (code != 0 || status != 1) return nullptr;
  std::lock_guard<std::mutex> guard(w.lock);
  for (const std::shared_ptr<Capture>& capture : w.open)
    if (capture->id == id) return capture;
  return nullptr;
}

inline Worker* worker_of(const std::shared_ptr<Capture>& capture) {
  Local& mine = local();
  if (mine.worker != nullptr && mine.capture == capture) return mine.worker;
  unsigned long ident = PyThread_get_thread_ident();
  Worker* worker = nullptr;
  {
    std::lock_guard<std::mutex> guard(capture->lock);
    auto found = capture->workers.find(ident);
    if (found != capture->workers.end()) worker = found->second.get();
  }
  if (worker == nullptr) {
    auto made = std::make_unique<Worker>();
    made->ident = ident;
    made->number = static_cast<int64_t>(at::sequence_number::peek());
    {
      Locked python;
      Owned labels(PyObject_CallMethod(watch().callbacks, "opened", "K", capture->id));
      // Python keeps the list for ever.
      if (labels && PyList_Check(labels.get())) made->labels = labels.get();
      std::string error = error_text();
      if (!error.empty()) capture->failed(error);
    }
    worker = made.get();
    std::lock_guard<std::mutex> guard(capture->lock);
    capture->workers[ident] = std::move(made);
  }
  if (!mine.several && mine.capture == capture) mine.worker = worker;
  return worker;
}

struct Where {
  int stack = NONE, module = NONE, label = NONE, node = NONE;
  int64_t node_number = -1;
};

inline bool in_backward() {
#if CGLENS_NODE
  return static_cast<bool>(torch::autograd::get_current_node());
#else
  return torch::autograd::get_current_graph_task_id() != -1;
#endif
}

// Reads the autograd node that runs in this thread, and where that backward was called.
inline int read_node(Capture& capture, Worker& worker, Where& where) {
  Watch& w = watch();
  Locked python;
  {
    Owned node(PyObject_CallNoArgs(w.current_node));
    if (node && node.get() != Py_None) {
      Owned name(PyObject_CallMethod(node.get(), "name", nullptr));
      Owned number(PyObject_CallMethod(node.get(), "_sequence_nr", nullptr));
      if (name) where.node = w.tables.name(name.get());
      if (number) where.node_number = static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(number.get()));
    }
  }
  int outer = NONE;
  if (where.node != NONE && worker.ident != capture.thread) {
    int task = torch::autograd::get_current_graph_task_id();
    bool known = false;
    {
      std::lock_guard<std::mutex> guard(capture.lock);
      auto found = capture.tasks.find(task);
      known = found != capture.tasks.end();
      if (known) outer = found->second;
    }
    if (!known) {
      Owned index(PyObject_CallMethod(w.callbacks, "called_backward", "K", capture.id));
      if (index) outer = of_python(static_cast<int>(PyLong_AsLong(index.get())));
      std::lock_guard<std::mutex> guard(capture.lock);
      capture.tasks[task] = outer;
    }
  }
  std::string error = error_text();
  if (!error.empty()) capture.failed(error);
  return outer;
}

inline int module_of(Capture& capture, const Frame* marked) {
  Watch& w = watch();
  PyObject* module = first_argument(marked);
  if (module == nullptr) return NONE;
  int index = NONE;
  if (w.tables.module(module, index)) return index;
  Locked python;
  {
    Owned found(PyObject_CallMethod(w.callbacks, "module", nullptr));  // (index, weak reference)
    PyObject* reference = nullptr;
    if (found && PyArg_ParseTuple(found.get(), "iO", &index, &reference) &&
        PyWeakref_CheckRef(reference) &&
        reinterpret_cast<PyWeakReference*>(reference)->wr_object == module)
      w.tables.add_module(module, reference, index);
  }
  std::string error = error_text();
  if (!error.empty()) capture.failed(error);
  return index;
}

inline int label_of(Worker& worker) {
  if (worker.labels == nullptr || PyList_GET_SIZE(worker.labels) == 0) return NONE;
  Locked python;  // another thread may end the capture, which cuts the list
  Py_ssize_t size = PyList_GET_SIZE(worker.labels);
  return size != 0 ? watch().tables.name(PyList_GET_ITEM(worker.labels, size - 1)) : NONE;
}

inline Where where_now(Capture& capture, Worker& worker) {
  Where found;
  int outer = in_backward() ? read_node(capture, worker, found) : NONE;
  const Frame* frame = innermost();
  if (frame == nullptr) {
    found.stack = outer;
  } else {
    static thread_local Tables::Key key;
    key.clear();
    Walk walked{key};
    walk(frame, capture.base, watch().mark, walked);
    if (walked.based) outer = of_python(capture.base_outer);
    if (outer != NONE) key.push_back(static_cast<uintptr_t>(static_cast<intptr_t>(outer)));
    found.stack = watch().tables.stack(key);
    if (walked.marked != nullptr) found.module = module_of(capture, walked.marked);
    else if (walked.based) found.module = capture.base_module;
  }
  found.label = label_of(worker);
  return found;
}

// Writes the row of what made nodes, of the graph or of autograd's; `name` is as in Made.
inline void write_row(Capture& capture, Worker& worker, int name, int what, Tip before, Tip now,
                      uint64_t stream, int64_t number, uint64_t opened) {
  Where where = where_now(capture, worker);
  Row row{what,         before,       now,        stream,     worker.ident,      where.stack,
          where.module, where.label,  where.node, where.node_number, number,     opened,
          static_cast<int64_t>(clock_ns(CLOCK_REALTIME) / 1000)};
  std::lock_guard<std::mutex> guard(capture.lock);
  capture.rows.push_back(row);
  capture.rows_ever.fetch_add(1, std::memory_order_relaxed);
  int64_t first = worker.number;
  if (number != first) {
    if (number != first + 1)
      capture.made.push_back({first, number - 1, TRAILING, worker.last_stack, worker.last_module});
    capture.made.push_back({first, number, name, where.stack, where.module});
    worker.number = number;
  }
  worker.last_stack = where.stack;
  worker.last_module = where.module;
}

inline int call_of(Capture& capture, const Slot& slot, const std::string& key) {
  std::lock_guard<std::mutex> guard(capture.lock);
  auto found = capture.calls.find(key);
  if (found == capture.calls.end()) {
    found = capture.calls.emplace(key, static_cast<int>(capture.calls.size())).first;
    capture.new_calls.emplace_back(slot.index, &found->first);
  }
  return found->second;
}

}  // namespace cglens
