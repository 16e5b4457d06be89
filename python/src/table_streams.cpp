// SPDX-License-Identifier: Apache-2.0
// Sorted streams of tables that are larger than memory.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <memory>
#include <spansort/table_stream.hpp>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "tables.hpp"

namespace python {
namespace {

/// A stream that has one consumer, or none: then what it holds is given back with this object.
class sorted_stream {
 public:
  sorted_stream() = default;
  sorted_stream(sorted_stream&& other) noexcept
      : stream_(std::exchange(other.stream_, {})), report_(other.report_), names_(std::move(other.names_)) {}
  sorted_stream(const sorted_stream&) = delete;
  sorted_stream& operator=(const sorted_stream&) = delete;
  ~sorted_stream() { close(); }

  /// Called without the interpreter's lock.
  void sort(ArrowArrayStream* source, const std::vector<table_key>& by, const std::vector<std::string>& folders,
            const spansort::sort_options& options) {
    report_ = spansort::sort_stream(source, keys_of(by), &stream_, {.temporary_directories = folders}, options);
    ArrowSchema schema{};
    if (stream_.get_schema(&stream_, &schema) != 0) throw std::bad_alloc();
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      names_.emplace_back(schema.children[i]->name == nullptr ? "" : schema.children[i]->name);
    }
    schema.release(&schema);
  }

  void close() noexcept {
    if (stream_.release != nullptr) stream_.release(&stream_);
    stream_.release = nullptr;
  }

  nb::object take() {
    require_open();
    return capsule_of(std::make_unique<ArrowArrayStream>(std::exchange(stream_, {})), stream_name);
  }

  nb::object schema() {
    require_open();
    auto schema = std::make_unique<ArrowSchema>();
    if (stream_.get_schema(&stream_, schema.get()) != 0) throw std::bad_alloc();
    return capsule_of(std::move(schema), schema_name);
  }

  [[nodiscard]] bool is_open() const { return stream_.release != nullptr; }
  [[nodiscard]] const spansort::table_stream_report& report() const { return report_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  void require_open() const {
    if (!is_open()) throw nb::value_error("a sorted stream is read once, and this one was read or closed");
  }

  ArrowArrayStream stream_{};
  spansort::table_stream_report report_ = {};
  std::vector<std::string> names_;
};

sorted_stream sort_stream(nb::handle capsule, const std::vector<table_key>& by, const std::vector<std::string>& folders,
                          const call_options& given) {
  auto* const source = struct_in<ArrowArrayStream>(capsule, stream_name);
  sorted_stream sorted;
  // Streams of Python objects take the interpreter's lock themselves.
  run_unlocked(&given, true, [&](const spansort::sort_options& options) { sorted.sort(source, by, folders, options); });
  return sorted;
}

}  // namespace

void define_table_streams(nb::module_& module) {
  nb::class_<sorted_stream>(module, "SortedStream")
      .def_prop_ro("num_rows", [](const sorted_stream& of) { return of.report().num_rows; })
      .def_prop_ro("num_runs", [](const sorted_stream& of) { return of.report().num_runs; })
      .def_prop_ro("spilled_bytes", [](const sorted_stream& of) { return of.report().spilled_bytes; })
      .def_prop_ro("column_names", &sorted_stream::names)
      .def_prop_ro("is_open", &sorted_stream::is_open)
      .def("take", &sorted_stream::take)
      .def("schema", &sorted_stream::schema)
      .def("close", &sorted_stream::close);
  module.def("sort_stream", &sort_stream, nb::arg("capsule"), nb::arg("by"), nb::arg("folders"), nb::arg("options"));
}

}  // namespace python
