// Hands what was noted to Python, as lists and tuples. All in here hold the interpreter's lock.
#pragma once

#include "kernel.h"

namespace cglens {

// Appends what was made; false with an error set when that failed.
inline bool append(PyObject* list, PyObject* made) {
  if (made == nullptr) return false;
  bool done = PyList_Append(list, made) == 0;
  Py_DECREF(made);
  return done;
}

inline int argument_kind(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return static_cast<int>(type->kind());
}

// (positional, named) arguments from a key, without those that torch leaves to their defaults when
// it calls Python.
inline PyObject* arguments_of(const c10::FunctionSchema& schema, const std::string& key) {
  Reader reader(key.data() + sizeof(void*), key.data() + key.size());
  Owned positional(PyList_New(0)), named(PyList_New(0));
  if (!positional || !named) return nullptr;
  Py_ssize_t needed = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    const char* from = reader.at();
    PyObject* value = reader.value(static_cast<c10::TypeKind>(argument_kind(argument)));
    if (value == nullptr) return nullptr;
    bool is_default = false;
    if (argument.default_value().has_value()) {
      Writer writer;
      writer.value(*argument.default_value());
      is_default = writer.text == std::string(from, reader.at());
    }
    if (argument.kwarg_only()) {
      if (is_default) Py_DECREF(value);
      else if (!append(named.get(), Py_BuildValue("(sN)", argument.name().c_str(), value))) return nullptr;
      continue;
    }
    if (!append(positional.get(), value)) return nullptr;
    if (!is_default) needed = PyList_GET_SIZE(positional.get());
  }
  if (PyList_SetSlice(positional.get(), needed, PyList_GET_SIZE(positional.get()), nullptr) != 0)
    return nullptr;
  return Py_BuildValue("(NN)", PyList_AsTuple(positional.get()), PyList_AsTuple(named.get()));
}

// The index of a stack in Python's table, to which it is added; -1 for none.
inline int stack_in_python(int stack) {
  if (stack < 0) return stack == NONE ? NONE : -2 - stack;
  Tables& tables = watch().tables;
  int known = tables.index_of(stack);
  if (known != NONE) return known;
  const Tables::Key& key = *tables.key_of(stack);
  size_t frames = key.size() / 2;
  Owned words(PyList_New(0)), codes(PyList_New(0));
  for (size_t at = 0; at < frames; ++at) {
    auto* code = reinterpret_cast<PyObject*>(key[2 * at]);
    Py_INCREF(code);
    append(words.get(), PyLong_FromVoidPtr(code));
    append(words.get(), PyLong_FromLong(static_cast<long>(static_cast<intptr_t>(key[2 * at + 1]))));
    append(codes.get(), code);
  }
  if (key.size() % 2 != 0) {
    int outer = static_cast<int>(static_cast<intptr_t>(key.back()));
    append(words.get(), PyLong_FromLong(~stack_in_python(outer)));
  }
  Owned index(PyObject_CallMethod(watch().callbacks, "adopt", "NN", PyList_AsTuple(words.get()),
                                  PyList_AsTuple(codes.get())));
  if (!index) throw std::runtime_error(error_text());
  known = static_cast<int>(PyLong_AsLong(index.get()));
  tables.set_index(stack, known);
  return known;
}

inline PyObject* tip_in_python(const Tip& tip, const std::vector<const std::vector<uint64_t>*>& several) {
  if (!tip.capturing()) return PyLong_FromLong(-1);
  if (tip.count <= 1) return PyLong_FromUnsignedLongLong(tip.handle);
  const std::vector<uint64_t>& all = *several[tip.handle];
  PyObject* found = PyTuple_New(static_cast<Py_ssize_t>(all.size()));
  for (size_t at = 0; found != nullptr && at < all.size(); ++at)
    PyTuple_SET_ITEM(found, static_cast<Py_ssize_t>(at), PyLong_FromUnsignedLongLong(all[at]));
  return found;
}

inline PyObject* text_of(int name) {
  if (name == NONE) return PyUnicode_FromString("");
  PyObject* found = watch().tables.text(name);
  Py_INCREF(found);
  return found;
}

// take(capture) -> (rows, times in us, calls, made, broke, outside, latest, timed, problem): what
// is new since it was asked last, rows flat and in the order of Row in origins/log.py.
inline PyObject* take_from(Capture& capture, const std::deque<Slot>& slots) {
  std::vector<Row> rows;
  std::vector<Made> made;
  std::vector<std::pair<int, const std::string*>> calls;
  std::vector<const std::vector<uint64_t>*> several;
  Broke broke;
  std::string problem;
  int outside = NONE;
  Worker last;
  uint64_t sampled = 0, sampled_ns = 0;
  {
    std::lock_guard<std::mutex> guard(capture.lock);
    rows.swap(capture.rows);
    made.swap(capture.made);
    calls.swap(capture.new_calls);
    several.resize(capture.several.size());
    for (const auto& entry : capture.several) several[entry.second] = &entry.first;
    broke = capture.broke;
    problem = capture.problem;
    outside = capture.outside;
    for (const auto& entry : capture.workers) {
      const Worker& worker = *entry.second;
      sampled += worker.sampled;
      sampled_ns += worker.sampled_ns;
      if (worker.latest_order > last.latest_order) last = worker;
    }
  }
  Owned flat(PyList_New(0)), times(PyList_New(0)), called(PyList_New(0)), makers(PyList_New(0));
  bool good = flat && times && called && makers;
  auto number = [&](int64_t value) { good = good && append(flat.get(), PyLong_FromLongLong(value)); };
  for (const Row& row : rows) {
    number(row.what);
    good = good && append(flat.get(), tip_in_python(row.before, several));
    good = good && append(flat.get(), tip_in_python(row.after, several));
    good = good && append(flat.get(), PyLong_FromUnsignedLongLong(row.stream));
    good = good && append(flat.get(), PyLong_FromUnsignedLong(row.thread));
    number(stack_in_python(row.stack));
    number(row.module);
    good = good && append(flat.get(), text_of(row.label));
    good = good && append(flat.get(), text_of(row.node));
    if (row.node == NONE) number(-1);
    else good = good && append(flat.get(), PyLong_FromUnsignedLongLong(static_cast<uint64_t>(row.node_number)));
    number(row.number);
    good = good && append(flat.get(), PyLong_FromUnsignedLongLong(row.opened));
    good = good && append(times.get(), PyLong_FromLongLong(row.at_us));
  }
  for (const auto& call : calls) {
    auto op = c10::Dispatcher::singleton().findSchema(slots[call.first].name);
    if (!op.has_value()) throw std::runtime_error("an operator is no longer known");
    good = good && append(called.get(), Py_BuildValue("(iN)", call.first,
                                                      arguments_of(op->schema(), *call.second)));
  }
  for (const Made& item : made)
    good = good && append(makers.get(), Py_BuildValue("(LLiii)", static_cast<long long>(item.first),
                                                      static_cast<long long>(item.end), item.what,
                                                      stack_in_python(item.stack), item.module));
  if (!good) return nullptr;
  return Py_BuildValue(
      "(OOOO(iikK)i(iKkK)(KK)s)", flat.get(), times.get(), called.get(), makers.get(), broke.slot,
      stack_in_python(broke.stack), broke.thread, static_cast<unsigned long long>(broke.stream), outside,
      last.latest != nullptr ? last.latest->index : NONE,
      static_cast<unsigned long long>(last.latest_stream), last.ident,
      static_cast<unsigned long long>(last.latest_order), static_cast<unsigned long long>(sampled),
      static_cast<unsigned long long>(sampled_ns), problem.c_str());
}

}  // namespace cglens
