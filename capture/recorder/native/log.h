// What is noted: rows and tables of a capture, and the tables of the process that rows refer to.
#pragma once

#include <ATen/core/operator_name.h>
#include <Python.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames.h"
#include "interpreter.h"

namespace cglens {

// The last node of a stream: none, one, several (then `handle` counts them in the capture's
// table), or no capture.
struct Tip {
  uint64_t handle = 0;
  int64_t count = 0;
  bool operator==(const Tip& other) const { return handle == other.handle && count == other.count; }
  bool operator!=(const Tip& other) const { return !(*this == other); }
  bool capturing() const { return count >= 0; }
};
constexpr Tip NOT_CAPTURING{0, -1};

constexpr int NONE = -1;

// A stack as a row has it: one of ours from 0 on, one of Python's table below -1.
inline int of_python(int index) { return index < 0 ? NONE : -2 - index; }

struct Row {
  int what;
  Tip before, after;
  uint64_t stream;
  unsigned long thread;
  int stack, module, label, node;
  int64_t node_number, number;
  uint64_t opened;  // rows there were when it began
  int64_t at_us;
};

// Autograd nodes with numbers from `first` until before `end`, and what made them.
struct Made {
  int64_t first, end;
  int what;  // a slot, a launch as in Row::what, or TRAILING
  int stack, module;
};
constexpr int TRAILING = -1;

struct Slot {
  int index;
  bool launches;
  int label;
  c10::OperatorName name;
};

// One thread's part of a capture; only that thread writes to it.
struct Worker {
  unsigned long ident = 0;
  PyObject* labels = nullptr;  // a list that Python keeps for ever
  int64_t number = 0;
  int last_stack = NONE, last_module = NONE;
  const Slot* latest = nullptr;
  uint64_t latest_stream = 0, latest_order = 0;
  uint64_t sampled = 0, sampled_ns = 0;
};

struct Broke {
  int slot = NONE, stack = NONE;
  unsigned long thread = 0;
  uint64_t stream = 0;
};

struct Capture {
  uint64_t id = 0;
  unsigned long thread = 0;
  Base base;
  int base_outer = NONE, base_module = NONE;
  std::atomic<uint64_t> rows_ever{0}, seen{0};

  std::mutex lock;  // of all below
  std::vector<Row> rows;
  std::vector<Made> made;
  std::unordered_map<std::string, int> calls;
  std::vector<std::pair<int, const std::string*>> new_calls;
  std::map<std::vector<uint64_t>, uint64_t> several;
  std::map<int, int> tasks;
  std::map<unsigned long, std::unique_ptr<Worker>> workers;
  Broke broke;
  int outside = NONE;
  std::string problem;

  void failed(const std::string& text) {
    std::lock_guard<std::mutex> guard(lock);
    if (problem.empty()) problem = text;
  }
};

// Stacks, modules, labels and names: each once in a process. Python objects in them are kept.
class Tables {
 public:
  using Key = std::vector<uintptr_t>;

  // Returns the number of a stack; `walked` are its frames, which run.
  int stack(const Key& key) {
    {
      std::lock_guard<std::mutex> guard(lock_);
      auto found = stacks_.find(key);
      if (found != stacks_.end()) return found->second;
    }
    Locked python;  // before our own lock: who waits for the interpreter must not hold that
    std::lock_guard<std::mutex> guard(lock_);
    auto added = stacks_.emplace(key, static_cast<int>(keys_.size()));
    if (added.second) {
      for (size_t at = 0; at + 1 < key.size(); at += 2) Py_INCREF(reinterpret_cast<PyObject*>(key[at]));
      keys_.push_back(&added.first->first);
      indices_.push_back(NONE);
    }
    return added.first->second;
  }

  const Key* key_of(int stack) {
    std::lock_guard<std::mutex> guard(lock_);
    return keys_[stack];
  }

  int index_of(int stack) {
    std::lock_guard<std::mutex> guard(lock_);
    return indices_[stack];
  }

  void set_index(int stack, int index) {
    std::lock_guard<std::mutex> guard(lock_);
    indices_[stack] = index;
  }

  // Returns whether a module is known, and its index.
  bool module(PyObject* module, int& index) {
    std::lock_guard<std::mutex> guard(lock_);
    auto found = modules_.find(module);
    if (found == modules_.end()) return false;
    // Another one may be where it was.
    if (reinterpret_cast<PyWeakReference*>(found->second.first)->wr_object != module) return false;
    index = found->second.second;
    return true;
  }

  // Holds the interpreter's lock.
  void add_module(PyObject* module, PyObject* reference, int index) {
    PyObject* old = nullptr;
    Py_INCREF(reference);
    {
      std::lock_guard<std::mutex> guard(lock_);
      std::pair<PyObject*, int>& place = modules_[module];
      old = place.first;
      place = {reference, index};
    }
    Py_XDECREF(old);
  }

  // Returns the number of a text; holds the interpreter's lock.
  int name(PyObject* text) {
    const char* read = PyUnicode_AsUTF8(text);
    if (read == nullptr) {
      PyErr_Clear();
      return NONE;
    }
    std::lock_guard<std::mutex> guard(lock_);
    auto added = names_.emplace(read, static_cast<int>(texts_.size()));
    if (added.second) {
      Py_INCREF(text);
      texts_.push_back(text);
    }
    return added.first->second;
  }

  PyObject* text(int name) {
    std::lock_guard<std::mutex> guard(lock_);
    return texts_[name];
  }

  void renew_lock() { new (&lock_) std::mutex; }

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t found = key.size();
      for (uintptr_t word : key) found = (found ^ word) * 0x9E3779B97F4A7C15ull, found ^= found >> 29;
      return found;
    }
  };

  std::mutex lock_;
  std::unordered_map<Key, int, Hash> stacks_;
  std::vector<const Key*> keys_;
  std::vector<int> indices_;  // in Python's table, once asked for
  std::unordered_map<PyObject*, std::pair<PyObject*, int>> modules_;
  std::unordered_map<std::string, int> names_;
  std::vector<PyObject*> texts_;
};

}  // namespace cglens
