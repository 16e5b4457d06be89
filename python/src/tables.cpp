// SPDX-License-Identifier: Apache-2.0
// Tables by the capsules of Arrow's PyCapsule interface.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <spansort/arrow.hpp>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "calls.hpp"
#include "tables.hpp"

namespace python {
namespace {

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

/// A column of NumPy's arrays: numbers, or elements of fixed width in the order of their bytes.
struct table_column {
  nb::object array;
  nb::object validity;
  std::uint64_t num_rows = 0;
  spansort::sort_column column = {};
};

/// `type` is a key type by its number, -1 for bytes; `validity` has a bit an element, or is none.
table_column make_column(nb::object array, int type, nb::object validity, const table_key& key) {
  const array_memory memory = readable(array);
  spansort::column_span values{.values = memory.data};
  if (type >= 0) {
    values.type = keys_of(memory, type, false).type;
  } else {
    values.kind = spansort::column_kind::fixed_bytes;
    values.width_bytes = static_cast<std::uint32_t>(memory.element_bytes);
  }
  if (!validity.is_none()) {
    const array_memory bits = readable(validity);
    if (bits.size_bytes() < (memory.num_elements + 7) / 8) throw nb::value_error("validity is too short");
    values.validity = bits.data;
  }
  return {std::move(array), std::move(validity), memory.num_elements, {values, key.order}};
}

nb::object order_of_columns(const std::vector<table_column>& columns, std::uint64_t num_rows,
                            const call_options& given) {
  nb::object order = new_indices(num_rows);
  auto* const indices = reinterpret_cast<std::int64_t*>(data_of(order));
  std::vector<spansort::sort_column> by;
  for (const table_column& column : columns) {
    if (column.num_rows != num_rows) throw nb::value_error("columns of a table have the same length");
    by.push_back(column.column);
  }
  run_unlocked(&given, num_rows > most_short_bytes / sizeof(std::uint64_t), [&](const spansort::sort_options& options) {
    spansort::argsort_table(by, std::span(indices, num_rows), options);
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
  std::optional<spansort::arrow_table> result;
  // Rows may be few and wide: asking costs nothing beside the columns' memory.
  run_unlocked(nullptr, true, [&](const spansort::sort_options& options) {
    result = table.take({reinterpret_cast<const std::uint64_t*>(memory.data), memory.num_elements},
                        {.threads = threads, .on_progress = options.on_progress});
  });
  return *result;
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
  nb::class_<table_column>(module, "TableColumn");
  module.def("table_column", &make_column, nb::arg("array"), nb::arg("type"), nb::arg("validity").none(),
             nb::arg("key"));
  module.def("order_of_columns", &order_of_columns, nb::arg("columns"), nb::arg("num_rows"), nb::arg("options"));
  module.def("sorted_table", &sorted, nb::arg("table"), nb::arg("by"), nb::arg("options"));
  module.def("take_table", &taken, nb::arg("table"), nb::arg("indices"), nb::arg("threads"));
}

}  // namespace python
