// SPDX-License-Identifier: Apache-2.0
// Arrow's capsules, and columns to order by, which calls for tables and for streams share.
#pragma once

#include <memory>
#include <spansort/arrow.hpp>
#include <string>
#include <vector>

#include "binding.hpp"

namespace python {

inline constexpr const char* stream_name = "arrow_array_stream";
inline constexpr const char* schema_name = "arrow_schema";
inline constexpr const char* array_name = "arrow_array";

/// A column to order by, which owns its name.
struct table_key {
  std::string column;
  spansort::column_order order = {};
};

/// The keys are good as long as `by` is.
inline std::vector<spansort::arrow_key> keys_of(const std::vector<table_key>& by) {
  std::vector<spansort::arrow_key> keys;
  for (const table_key& key : by) keys.push_back({key.column, key.order});
  return keys;
}

template <class T>
T* struct_in(nb::handle capsule, const char* name) {
  void* const found = PyCapsule_GetPointer(capsule.ptr(), name);
  if (found == nullptr) throw nb::python_error();
  return static_cast<T*>(found);
}

/// A capsule that releases what nobody has taken.
template <class T>
nb::object capsule_of(std::unique_ptr<T> content, const char* name) {
  PyObject* const capsule = PyCapsule_New(content.get(), name, [](PyObject* of) {
    auto* const left = static_cast<T*>(PyCapsule_GetPointer(of, PyCapsule_GetName(of)));
    if (left->release != nullptr) left->release(left);
    delete left;
  });
  if (capsule == nullptr) {
    if (content->release != nullptr) content->release(content.get());
    throw nb::python_error();
  }
  content.release();
  return nb::steal(capsule);
}

}  // namespace python
