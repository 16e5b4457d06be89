// SPDX-License-Identifier: Apache-2.0
// Sorts, checks and statistics of files.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <spansort/file_statistics.hpp>
#include <spansort/files.hpp>
#include <spansort/take_file.hpp>

#include "arrays.hpp"
#include "calls.hpp"
#include "statistics.hpp"

namespace python {
namespace {

using texts = std::vector<std::string>;

std::optional<spansort::key_type> type_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return spansort::parse_key_type(name);
}

struct file_job {
  spansort::file_options options = {};

  void set(bool descending, const std::string& type, bool unique, std::optional<std::uint64_t> head, bool verify,
           bool sync, const texts& folders) {
    options.direction = descending ? spansort::direction::descending : spansort::direction::ascending;
    options.type = type_named(type);
    options.unique = unique;
    options.head = head;
    options.verify = verify;
    options.sync = sync;
    options.temporary_directories = folders;
  }
  void set_records(std::uint64_t record_bytes, const std::string& keys) {
    options.records = spansort::parse_record_format(record_bytes, keys);
  }
  void set_array(const std::string& fields, std::optional<int> axis, bool flattens) {
    if (!fields.empty()) options.array.fields = spansort::parse_field_keys(fields);
    options.array.axis = axis;
    options.array.flattens = flattens;
  }
  void set_values(const std::string& input, const std::string& output) {
    options.values = spansort::value_files{.input = input, .output = output};
  }
  void set_index_type(const std::string& name) { options.index_type = spansort::parse_key_type(name); }
};

nb::object account_of(const spansort::file_result& result) {
  return nb::make_tuple(result.num_keys_in, result.num_keys_out, result.verified, result.num_runs,
                        result.spilled_bytes);
}

nb::object sort_file(const std::string& input, const std::string& output, const file_job& job,
                     const call_options& given) {
  spansort::file_result result;
  run_unlocked(&given, true, [&](const spansort::sort_options& options) {
    result = spansort::sort_file(input, output, job.options, options);
  });
  return account_of(result);
}

nb::object argsort_file(const std::string& input, const std::string& output, const file_job& job,
                        const call_options& given) {
  spansort::file_result result;
  run_unlocked(&given, true, [&](const spansort::sort_options& options) {
    result = spansort::argsort_file(input, output, job.options, options);
  });
  return account_of(result);
}

nb::object merge_files(const texts& inputs, const std::string& output, const file_job& job, const call_options& given) {
  spansort::file_result result;
  run_unlocked(&given, true, [&](const spansort::sort_options& options) {
    result = spansort::merge_files(inputs, output, job.options, options);
  });
  return account_of(result);
}

nb::object check_file(const std::string& path, const file_job& job, const call_options& given) {
  spansort::file_check found;
  run_unlocked(&given, true, [&](const spansort::sort_options& options) {
    const spansort::check_options checking{.direction = job.options.direction,
                                           .unique = job.options.unique,
                                           .threads = options.threads,
                                           .on_progress = options.on_progress};
    found = job.options.records ? spansort::check_records_file(path, *job.options.records, checking)
                                : spansort::check_file(path, job.options.type, checking, job.options.array);
  });
  const nb::object first = found.keys.first_disorder ? nb::object(nb::int_(*found.keys.first_disorder)) : nb::none();
  return nb::make_tuple(!found.keys.first_disorder, found.elements, found.keys.num_keys, found.keys.num_duplicates,
                        first, spansort::to_string(found.keys.checksum), found.disordered, found.left_neighbour);
}

/// Runs work(options) for statistics of a file.
template <class Work>
void with_file_statistics(const std::string& type, const call_options& given, Work work) {
  run_unlocked(&given, true, [&](const spansort::sort_options& options) {
    const spansort::file_statistics_options file{.type = type_named(type),
                                                 .memory_limit_bytes = options.memory_limit_bytes,
                                                 .threads = options.threads,
                                                 .on_progress = options.on_progress};
    work(file);
  });
}

nb::object quantiles_file(const std::string& path, const std::string& type, const std::vector<double>& q,
                          const statistics_options& options, const call_options& given) {
  std::vector<double> found;
  with_file_statistics(type, given, [&](const spansort::file_statistics_options& file) {
    found = spansort::quantiles_file(path, q, options.of_quantiles(), file);
  });
  return array_of(found);
}

nb::object summarize_file(const std::string& path, const std::string& type, const statistics_options& options,
                          const call_options& given) {
  spansort::summary found;
  with_file_statistics(type, given, [&](const spansort::file_statistics_options& file) {
    found = spansort::summarize_file(path, options.of_summary(), file);
  });
  return dictionary_of(found);
}

nb::object histogram_file(const std::string& path, const std::string& type, const std::vector<double>& edges,
                          const statistics_options& options, const call_options& given) {
  std::vector<std::uint64_t> counts;
  with_file_statistics(type, given, [&](const spansort::file_statistics_options& file) {
    counts = spansort::histogram_file(path, edges, options.of_counts(), file);
  });
  return array_of(counts);
}

nb::object take_file(const std::string& data, const std::string& order, const std::string& output,
                     const std::string& type, std::uint64_t record_bytes, const std::string& index_type, bool sync,
                     const call_options& given) {
  spansort::take_file_result result;
  run_unlocked(&given, true, [&](const spansort::sort_options& options) {
    spansort::take_file_options taking;
    taking.type = type_named(type);
    taking.record_bytes = record_bytes;
    taking.index_type = spansort::parse_key_type(index_type);
    taking.memory_limit_bytes = options.memory_limit_bytes;
    taking.threads = options.threads;
    taking.sync = sync;
    taking.on_progress = options.on_progress;
    result = spansort::take_file(data, order, output, taking);
  });
  return nb::int_(result.num_taken);
}

}  // namespace

void define_files(nb::module_& module) {
  nb::class_<file_job>(module, "FileJob")
      .def(nb::init<>())
      .def("set", &file_job::set, nb::kw_only(), nb::arg("descending"), nb::arg("type"), nb::arg("unique"),
           nb::arg("head").none(), nb::arg("verify"), nb::arg("sync"), nb::arg("folders"))
      .def("set_records", &file_job::set_records, nb::arg("record_bytes"), nb::arg("keys"))
      .def("set_array", &file_job::set_array, nb::arg("fields"), nb::arg("axis").none(), nb::arg("flattens"))
      .def("set_values", &file_job::set_values, nb::arg("input"), nb::arg("output"))
      .def("set_index_type", &file_job::set_index_type, nb::arg("name"));
  module.def("sort_file", &sort_file, nb::arg("input"), nb::arg("output"), nb::arg("job"), nb::arg("options"));
  module.def("argsort_file", &argsort_file, nb::arg("input"), nb::arg("output"), nb::arg("job"), nb::arg("options"));
  module.def("merge_files", &merge_files, nb::arg("inputs"), nb::arg("output"), nb::arg("job"), nb::arg("options"));
  module.def("check_file", &check_file, nb::arg("path"), nb::arg("job"), nb::arg("options"));
  module.def("quantiles_file", &quantiles_file, nb::arg("path"), nb::arg("type"), nb::arg("q"), nb::arg("statistics"),
             nb::arg("options"));
  module.def("summarize_file", &summarize_file, nb::arg("path"), nb::arg("type"), nb::arg("statistics"),
             nb::arg("options"));
  module.def("histogram_file", &histogram_file, nb::arg("path"), nb::arg("type"), nb::arg("edges"),
             nb::arg("statistics"), nb::arg("options"));
  module.def("take_file", &take_file, nb::arg("data"), nb::arg("order"), nb::arg("output"), nb::arg("type"),
             nb::arg("record_bytes"), nb::arg("index_type"), nb::arg("sync"), nb::arg("options"));
}

}  // namespace python
