// SPDX-License-Identifier: Apache-2.0
// Tables by the capsules of Arrow's PyCapsule interface.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <spansort/arrow.hpp>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "calls.hpp"

namespace python {
namespace {

constexpr const char* stream_name = "arrow_array_stream";
constexpr const char* schema_name = "arrow_schema";
constexpr const char* array_name = "arrow_array";

struct table_key {
  std::string column;
  spansort::column_order order = {};
};

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

spansort::arrow_table table_of_stream(nb::handle capsule) {
  auto* const stream = struct_in<ArrowArrayStream>(capsule, stream_name);
  const nb::gil_scoped_release unlocked;  // streams of Python objects take the lock themselves
  return spansort::arrow_table(stream);
}

spansort::arrow_table table_of_array(nb::handle schema, nb::handle array) {
  auto* const of_columns = struct_in<ArrowSchema>(schema, schema_name);
  auto* const batch = struct_in<ArrowArray>(array, array_name);
  const nb::gil_scoped_release unlocked;
  return {of_columns, batch};
}

nb::object stream_of(const spansort::arrow_table& table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  table.export_to(stream.get());
  return capsule_of(std::move(stream), stream_name);
}

nb::object schema_of(const spansort::arrow_table& table) {
  auto schema = std::make_unique<ArrowSchema>();
  table.export_to(schema.get(), nullptr);
  return capsule_of(std::move(schema), schema_name);
}

std::vector<spansort::arrow_key> keys_of(const std::vector<table_key>& by) {
  std::vector<spansort::arrow_key> keys;
  for (const table_key& key : by) keys.push_back({key.column, key.order});
  return keys;
}

/// Returns whether signals interrupt the sort: small ones end before anybody could wish so.
bool is_long(const spansort::arrow_table& table) { return table.num_rows() > most_short_bytes / sizeof(std::uint64_t); }

nb::object order_of(const spansort::arrow_table& table, const std::vector<table_key>& by, const call_options& given) {
  nb::object order = new_indices(table.num_rows());
  auto* const indices = reinterpret_cast<std::int64_t*>(data_of(order));
  run_unlocked(&given, is_long(table), [&](const spansort::sort_options& options) {
    spansort::argsort_table(spansort::sort_columns(table, keys_of(by)), std::span(indices, table.num_rows()), options);
  });
  return order;
}

spansort::arrow_table sorted(const spansort::arrow_table& table, const std::vector<table_key>& by,
                             const call_options& given) {
  std::optional<spansort::arrow_table> result;
  run_unlocked(&given, is_long(table), [&](const spansort::sort_options& options) {
    result = spansort::sort_table(table, keys_of(by), options);
  });
  return *result;
}

spansort::arrow_table taken(const spansort::arrow_table& table, nb::handle indices, unsigned threads) {
  const array_memory memory = readable(indices);
  if (memory.element_bytes != sizeof(std::uint64_t)) throw nb::type_error("take: indices of 64 bits are expected");
  const nb::gil_scoped_release unlocked;
  return table.take({reinterpret_cast<const std::uint64_t*>(memory.data), memory.num_elements}, {.threads = threads});
}

template <class E>
E named(const std::string& name, std::initializer_list<const char*> names, const char* what) {
  int number = 0;
  for (const char* const known : names) {
    if (name == known) return static_cast<E>(number);
    ++number;
  }
  std::string text = std::string(what) + ": '" + name + "' is none of";
  for (const char* const known : names) text += std::string(" ") + known;
  throw nb::value_error(text.c_str());
}

/// Returns a key in a preset's order, but for what is given.
table_key make_key(const std::string& column, bool descending, const std::string& preset,
                   const std::optional<std::string>& nulls, const std::optional<std::string>& nans,
                   const std::optional<std::string>& zeros) {
  const auto d = descending ? spansort::direction::descending : spansort::direction::ascending;
  spansort::column_order order = spansort::order_of(spansort::parse_table_preset(preset), d);
  if (nulls) order.nulls = named<spansort::null_order>(*nulls, {"last", "first"}, "nulls");
  if (nans) order.nans = named<spansort::nan_order>(*nans, {"last", "largest", "null"}, "nans");
  if (zeros) order.zeros = named<spansort::zero_order>(*zeros, {"tie", "negative_first"}, "zeros");
  return {column, order};
}

}  // namespace

void define_tables(nb::module_& module) {
  nb::class_<table_key>(module, "TableKey");
  module.def("table_key", &make_key, nb::arg("column"), nb::arg("descending"), nb::arg("preset"),
             nb::arg("nulls").none(), nb::arg("nans").none(), nb::arg("zeros").none());
  nb::class_<spansort::arrow_table>(module, "ArrowTable")
      .def_prop_ro("num_rows", &spansort::arrow_table::num_rows)
      .def_prop_ro("column_names",
                   [](const spansort::arrow_table& table) {
                     std::vector<std::string> names;
                     for (std::uint64_t i = 0; i < table.num_columns(); ++i) names.emplace_back(table.column_name(i));
                     return names;
                   })
      .def("stream", &stream_of)
      .def("schema", &schema_of);
  module.def("table_of_stream", &table_of_stream);
  module.def("table_of_array", &table_of_array);
  module.def("order_of_table", &order_of, nb::arg("table"), nb::arg("by"), nb::arg("options"));
  module.def("sorted_table", &sorted, nb::arg("table"), nb::arg("by"), nb::arg("options"));
  module.def("take_table", &taken, nb::arg("table"), nb::arg("indices"), nb::arg("threads"));
}

}  // namespace python
