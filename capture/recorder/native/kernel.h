// The kernel that every operator of a watched thread goes through, on its way to the device.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <deque>

#include "watch.h"

namespace cglens {

constexpr uint64_t SAMPLE = 16;  // one operator of so many is timed, as in torch_origins_fallback.py
constexpr const char* REFUSED = "operation not permitted when stream is capturing";

inline c10::DispatchKey& key() {
  static c10::DispatchKey found = c10::DispatchKey::Undefined;
  return found;
}

// Has the key off: what the operator itself calls is part of it.
class KeyOff {
 public:
  KeyOff() { c10::impl::tls_set_dispatch_key_included(key(), false); }
  ~KeyOff() {
    // Off for good once nothing is captured any more: a guard of the script's may have put the key
    // back that was on when it was entered.
    if (watch().open_count.load(std::memory_order_relaxed) > 0)
      c10::impl::tls_set_dispatch_key_included(key(), true);
  }
};

// Operators of this thread that are being described; one that runs inside another has its own.
class Pages {
 public:
  Writer& open() {
    if (depth_ == pages_.size()) pages_.emplace_back();
    return pages_[depth_++];
  }
  void close() { --depth_; }

 private:
  std::deque<Writer> pages_;
  size_t depth_ = 0;
};

inline Pages& pages() {
  static thread_local Pages found;
  return found;
}

// What is noted of one operator: made before it, told of its end. Nothing of it throws.
class Observation {
 public:
  Observation(const Slot& slot, const c10::OperatorHandle& op, const torch::jit::Stack& stack) noexcept
      : slot_(slot), page_(pages().open()) {
    if (watch().open_count.load(std::memory_order_relaxed) == 0) return;
    guarded([&] {
      stream_ = stream_now(device_);
      std::shared_ptr<Capture> capture = capture_of(stream_);
      if (capture == nullptr) return;
      uint64_t order = capture->seen.fetch_add(1, std::memory_order_relaxed) + 1;
      uint64_t started = order % SAMPLE == 0 ? clock_ns(CLOCK_MONOTONIC) : 0;
      worker_ = worker_of(capture);
      worker_->latest = &slot;
      worker_->latest_stream = stream_;
      worker_->latest_order = order;
      capture_ = std::move(capture);
      page_.begin(&slot);
      if (slot.launches || slot.label != 0) {
        size_t count = op.schema().arguments().size();
        for (size_t at = stack.size() - count; at < stack.size(); ++at) page_.value(stack[at]);
      }
      if (slot.label == 1) label_ = stack[stack.size() - op.schema().arguments().size()].toStringRef();
      before_ = slot.launches ? tip_of(*capture_, stream_) : Tip{};
      opened_ = capture_->rows_ever.load(std::memory_order_relaxed);
      if (started != 0) before_ns_ = clock_ns(CLOCK_MONOTONIC) - started + 1;
    });
  }

  ~Observation() { pages().close(); }

  void ended() noexcept {
    if (capture_ == nullptr) return;
    guarded([&] {
      uint64_t started = before_ns_ != 0 ? clock_ns(CLOCK_MONOTONIC) : 0;
      Tip now = slot_.launches ? tip_of(*capture_, stream_) : before_;
      auto number = static_cast<int64_t>(at::sequence_number::peek());
      if (!now.capturing() && now == before_) {
        if (page_.on_gpu) ask("omitted", -1);
      } else {
        if (now == before_) look_elsewhere();
        if (now != before_ || number != worker_->number) made(now, number);
      }
      if (slot_.label != 0) follow_label();
      if (started != 0) {
        worker_->sampled += 1;
        worker_->sampled_ns += clock_ns(CLOCK_MONOTONIC) - started + before_ns_;
      }
    });
  }

  void raised(bool refused) noexcept {
    if (capture_ == nullptr) return;
    guarded([&] {
      if (refused && !before_.capturing()) {
        std::lock_guard<std::mutex> guard(capture_->lock);
        if (capture_->outside == NONE) capture_->outside = slot_.index;
      }
      if (!tip_of(*capture_, stream_).capturing()) broke();
    });
  }

 private:
  template <class Work>
  void guarded(Work work) noexcept {
    try {
      work();
    } catch (const std::exception& error) {
      give_up(error.what());
    } catch (...) {
      give_up("an exception of an unknown type");
    }
  }

  void give_up(const char* text) noexcept {
    try {
      if (capture_ != nullptr) capture_->failed(text);
    } catch (...) {  // no memory for a sentence
    }
    capture_ = nullptr;
  }

  void made(Tip now, int64_t number) {
    if (!now.capturing()) {
      if (before_.capturing()) broke();
      return;
    }
    int call = now != before_ ? call_of(*capture_, slot_, page_.text) : NONE;
    write_row(*capture_, *worker_, slot_.index, call, before_, now, stream_, number, opened_);
  }

  void broke() {
    {
      std::lock_guard<std::mutex> guard(capture_->lock);
      if (capture_->broke.slot != NONE) return;
    }
    int stack = where_now(*capture_, *worker_).stack;
    std::lock_guard<std::mutex> guard(capture_->lock);
    capture_->broke = {slot_.index, stack, worker_->ident, stream_};
  }

  // An operator that made no node may have worked on another GPU, outside of captures.
  void look_elsewhere() {
    if (!watch().several_gpus || !slot_.launches) return;
    if (page_.device >= 0 && page_.device != device_) ask("elsewhere", page_.device);
  }

  void ask(const char* method, int device) {
    Locked python;
    PyObject* found = PyObject_CallMethod(watch().callbacks, method, "KiKi", capture_->id,
                                          slot_.index, stream_, device);
    Py_XDECREF(found);
    std::string error = error_text();
    if (!error.empty()) capture_->failed(error);
  }

  // record_function is entered and left through operators.
  void follow_label() {
    PyObject* labels = worker_->labels;
    if (labels == nullptr) return;
    Locked python;
    if (slot_.label == 1) {
      Owned text(PyUnicode_DecodeUTF8(label_.data(), label_.size(), "replace"));
      if (text) PyList_Append(labels, text.get());
    } else if (Py_ssize_t size = PyList_GET_SIZE(labels)) {
      PyList_SetSlice(labels, size - 1, size, nullptr);
    }
    PyErr_Clear();
  }

  const Slot& slot_;
  Writer& page_;
  std::shared_ptr<Capture> capture_;
  Worker* worker_ = nullptr;
  uint64_t stream_ = 0, opened_ = 0, before_ns_ = 0;
  int device_ = -1;
  Tip before_;
  std::string label_;
};

// Whether an exception says that CUDA refused an operation in a capture.
inline bool was_refused(const std::exception& error) {
#if CGLENS_TORCH >= 208  // torch 2.8
  if (auto* known = dynamic_cast<const c10::AcceleratorError*>(&error))
    return known->get_error_code() == watch().unsupported;
#endif
  return std::strstr(error.what(), REFUSED) != nullptr;  // it came through Python, for example
}

class Kernel final : public c10::OperatorKernel {
 public:
  explicit Kernel(const Slot& slot) : slot_(slot) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    static const c10::DispatchKeySet after(c10::DispatchKeySet::FULL_AFTER, key());
    KeyOff off;
    Observation seen(slot_, op, *stack);
    try {
      op.redispatchBoxed(keys & after, stack);
    } catch (const std::exception& error) {
      seen.raised(was_refused(error));
      throw;
    }
    seen.ended();
  }

 private:
  const Slot& slot_;
};

}  // namespace cglens
