// What an operator was called with: a short key before the call, objects of Python once a call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <Python.h>

#include <complex>
#include <cstring>
#include <string>

namespace cglens {

constexpr size_t LIST_TENSORS = 4;  // as torch_origins_reading.py has them
constexpr size_t LIST_VALUES = 32;

// Writes keys. A key holds no tensor, and equal calls have equal keys.
class Writer {
 public:
  std::string text;
  bool on_gpu = false;  // a tensor or a device among the arguments is on a GPU
  int device = -1;      // of the first tensor on a GPU

  void begin(const void* slot) {
    text.clear();
    on_gpu = false;
    device = -1;
    raw(&slot, sizeof slot);
  }

  void value(const c10::IValue& item) {
    if (item.isTensor()) return tensor(item.unsafeToTensorImpl());
    if (item.isNone()) return tag('N');
    if (item.isInt()) return number('i', item.toInt());
    if (item.isDouble()) return number('d', item.toDouble());
    if (item.isBool()) return number('b', static_cast<char>(item.toBool()));
    if (item.isComplexDouble()) {
      c10::complex<double> z = item.toComplexDouble();
      double parts[2] = {z.real(), z.imag()};
      tag('c');
      return raw(parts, sizeof parts);
    }
    if (item.isString()) return string('s', item.toStringRef());
    if (item.isDevice()) {
      if (item.toDevice().is_cuda()) on_gpu = true;
      return string('D', item.toDevice().str());
    }
    if (item.isList()) return list(item.toListRef());
    string('o', item.tagKind());
  }

 private:
  void raw(const void* from, size_t size) { text.append(static_cast<const char*>(from), size); }
  void tag(char which) { text.push_back(which); }

  template <class T>
  void number(char which, T given) {
    tag(which);
    raw(&given, sizeof given);
  }

  void string(char which, const std::string& given) {
    number(which, static_cast<uint32_t>(given.size()));
    raw(given.data(), given.size());
  }

  void tensor(c10::TensorImpl* impl) {
    if (impl == nullptr || impl == c10::UndefinedTensorImpl::singleton()) return tag('N');
    if (impl->is_wrapped_number() && !impl->is_python_dispatch() && impl->is_cpu() && wrapped(impl))
      return;
    if (impl->is_cuda()) {
      on_gpu = true;
      if (device < 0) device = impl->get_device();
    }
    auto type = static_cast<uint8_t>(c10::typeMetaToScalarType(impl->dtype()));
    if (impl->has_symbolic_sizes_strides()) return number('t', type);
    if (impl->is_python_dispatch()) {  // it may answer for its sizes in Python
      number('S', type);
      return integers(impl->sizes_default());
    }
    c10::IntArrayRef sizes, strides;
    try {
      sizes = impl->sizes();
      strides = impl->strides();
    } catch (const c10::Error&) {  // nested and sparse ones have none
      return number('t', type);
    }
    number('T', type);
    integers(sizes);
    raw(strides.data(), strides.size() * sizeof(int64_t));
  }

  void integers(c10::IntArrayRef values) {
    auto count = static_cast<uint32_t>(values.size());
    raw(&count, sizeof count);
    raw(values.data(), values.size() * sizeof(int64_t));
  }

  // A number that torch made a tensor of: it is a number for Python.
  bool wrapped(c10::TensorImpl* impl) {
    const void* from = impl->data();
    if (from == nullptr) return false;
    switch (c10::typeMetaToScalarType(impl->dtype())) {
      case c10::ScalarType::Long:
        number('i', *static_cast<const int64_t*>(from));
        return true;
      case c10::ScalarType::Double:
        number('d', *static_cast<const double*>(from));
        return true;
      case c10::ScalarType::Bool:
        number('b', *static_cast<const char*>(from));
        return true;
      case c10::ScalarType::ComplexDouble:
        tag('c');
        raw(from, 2 * sizeof(double));
        return true;
      default:
        return false;
    }
  }

  void list(c10::ArrayRef<c10::IValue> items) {
    bool tensors = false;  // there may be holes before the first
    for (size_t at = 0; at < items.size() && !tensors; ++at) tensors = items[at].isTensor();
    number(tensors ? 'L' : 'l', static_cast<uint32_t>(items.size()));
    size_t kept = items.size() < LIST_VALUES ? items.size() : 0;
    if (tensors) kept = std::min(items.size(), LIST_TENSORS);
    for (const c10::IValue& item : items.slice(0, kept)) value(item);
  }
};

// Makes objects of Python from a key, in the form that torch_origins_reading.py gives them; holds
// the interpreter's lock. Null with an error set when memory is short.
class Reader {
 public:
  Reader(const char* from, const char* end) : at_(from), end_(end) {}

  const char* at() const { return at_; }

  PyObject* value(c10::TypeKind kind) {
    char which = take<char>();
    switch (which) {
      case 'T': {
        PyObject* name = dtype(take<uint8_t>());
        uint32_t count = take<uint32_t>();
        PyObject* sizes = integers(count);
        return Py_BuildValue("(NNN)", name, sizes, integers(count));
      }
      case 'S': {
        PyObject* name = dtype(take<uint8_t>());
        return Py_BuildValue("(NN())", name, integers(take<uint32_t>()));
      }
      case 't':
        return Py_BuildValue("(N()())", dtype(take<uint8_t>()));
      case 'L': {
        uint32_t count = take<uint32_t>();
        return Py_BuildValue("(sIN)", "tensors", count, several(std::min<size_t>(count, LIST_TENSORS)));
      }
      case 'l': {
        uint32_t count = take<uint32_t>();
        if (count >= LIST_VALUES) return pair(PyUnicode_FromFormat("%u values", count));
        PyObject* list = plain_list(count);
        PyObject* text = list != nullptr ? PyObject_Str(list) : nullptr;
        Py_XDECREF(list);
        return pair(text);
      }
      default:
        return pair(plain(which, kind));
    }
  }

 private:
  template <class T>
  T take() {
    T found{};
    if (at_ + sizeof(T) <= end_) std::memcpy(&found, at_, sizeof(T));
    at_ += sizeof(T);
    return found;
  }

  static PyObject* pair(PyObject* value) {
    return value != nullptr ? Py_BuildValue("(sN)", "", value) : nullptr;
  }

  static std::string name_of(int type) {
    return std::string(c10::getDtypeNames(static_cast<c10::ScalarType>(type)).first);
  }

  static PyObject* dtype(int type) { return PyUnicode_FromString(name_of(type).c_str()); }

  PyObject* integers(uint32_t count) {
    PyObject* found = PyTuple_New(count);
    for (uint32_t at = 0; found != nullptr && at < count; ++at)
      PyTuple_SET_ITEM(found, at, PyLong_FromLongLong(take<int64_t>()));
    return found;
  }

  PyObject* several(size_t count) {
    PyObject* found = PyTuple_New(count);
    for (size_t at = 0; found != nullptr && at < count; ++at)
      PyTuple_SET_ITEM(found, at, value(c10::TypeKind::AnyType));
    return found;
  }

  PyObject* plain_list(uint32_t count) {
    PyObject* found = PyList_New(count);
    for (uint32_t at = 0; found != nullptr && at < count; ++at) {
      PyObject* item = plain(take<char>(), c10::TypeKind::AnyType);
      if (item == nullptr) Py_CLEAR(found);
      else PyList_SET_ITEM(found, at, item);
    }
    return found;
  }

  std::string take_string() {
    uint32_t size = take<uint32_t>();
    std::string found(at_, size);
    at_ += size;
    return found;
  }

  PyObject* plain(char which, c10::TypeKind kind) {
    switch (which) {
      case 'i': {
        int64_t number = take<int64_t>();
        if (kind == c10::TypeKind::ScalarTypeType)
          return PyUnicode_FromFormat("torch.%s", name_of(static_cast<int>(number)).c_str());
        if (kind == c10::TypeKind::LayoutType) return layout(number);
        if (kind == c10::TypeKind::MemoryFormatType) return memory_format(number);
        return PyLong_FromLongLong(number);
      }
      case 'd':
        return PyFloat_FromDouble(take<double>());
      case 'b':
        return PyBool_FromLong(take<char>());
      case 'c': {
        double real = take<double>();
        return PyComplex_FromDoubles(real, take<double>());
      }
      case 's':
      case 'D': {
        std::string text = take_string();
        return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace");
      }
      case 'o':
        return PyUnicode_FromFormat("<%s>", take_string().c_str());
      case 'l': {  // a list in a list
        PyObject* list = plain_list(take<uint32_t>());
        return list;
      }
      default:
        Py_RETURN_NONE;
    }
  }

  static PyObject* layout(int64_t number) {
    static const char* const names[] = {"strided",    "sparse_coo", "sparse_csr", "_mkldnn",
                                        "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
    return PyUnicode_FromFormat("torch.%s", number >= 0 && number < 8 ? names[number] : "layout");
  }

  static PyObject* memory_format(int64_t number) {
    static const char* const names[] = {"contiguous_format", "preserve_format", "channels_last",
                                        "channels_last_3d"};
    return PyUnicode_FromFormat("torch.%s", number >= 0 && number < 4 ? names[number] : "memory_format");
  }

  const char* at_;
  const char* end_;
};

}  // namespace cglens
