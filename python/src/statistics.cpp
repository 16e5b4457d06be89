// SPDX-License-Identifier: Apache-2.0
// Order statistics of arrays, and the first k keys.
#include "statistics.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <spansort/top_k.hpp>

#include "arrays.hpp"
#include "calls.hpp"

namespace python {
namespace {

spansort::const_key_span span_of(nb::handle array, int type) { return keys_of(readable(array), type, false).all(); }

std::span<const double> doubles_of(nb::handle array) {
  const array_memory memory = readable(array);
  if (memory.element_bytes != sizeof(double)) throw nb::type_error("an array of doubles is expected");
  return {reinterpret_cast<const double*>(memory.data), memory.num_elements};
}

nb::object quantiles(nb::handle array, int type, nb::handle q_array, const statistics_options& options) {
  const spansort::const_key_span keys = span_of(array, type);
  const std::span<const double> q = doubles_of(q_array);
  std::vector<double> found;
  {
    const nb::gil_scoped_release unlocked;
    found = spansort::quantiles(keys, q, options.of_quantiles());
  }
  return array_of(found);
}

/// Returns the quantiles of each row, one behind the other. A signal is heeded between some rows and the next.
nb::object row_quantiles(nb::handle array, int type, nb::handle q_array, const statistics_options& options) {
  const array_keys keys = keys_of(readable(array), type, false);
  const std::span<const double> q = doubles_of(q_array);
  const std::uint64_t num_rows = keys.memory.num_rows();
  const std::uint64_t row_bytes = keys.memory.row_elements * keys.memory.element_bytes;
  call_options of_rows;
  of_rows.sorting.devices = options.all.devices;
  // Devices are opened for each part.
  const std::uint64_t bytes_at_once = std::uint64_t{1} << (of_rows.opens_devices() ? 30 : 26);
  const std::uint64_t rows_at_once = std::max<std::uint64_t>(1, bytes_at_once / std::max<std::uint64_t>(1, row_bytes));
  nb::object found = new_doubles(num_rows * q.size());
  auto* const to = reinterpret_cast<double*>(data_of(found));
  run_unlocked(&of_rows, num_rows > rows_at_once, [&](const spansort::sort_options& asked) {
    for (std::uint64_t row = 0; row < num_rows; row += rows_at_once) {
      const std::uint64_t count = std::min(rows_at_once, num_rows - row);
      const spansort::const_key_span some{keys.type, keys.memory.data + row * row_bytes,
                                          count * keys.memory.row_elements};
      std::ranges::copy(spansort::quantiles_rows(some, keys.memory.row_elements, q, options.of_quantiles()),
                        to + row * q.size());
      const double done = static_cast<double>(row + count) / static_cast<double>(num_rows);
      if (asked.on_progress && !asked.on_progress({"count", done})) throw spansort::cancelled("stopped between rows");
    }
  });
  return found;
}

nb::object summarize(nb::handle array, int type, const statistics_options& options) {
  const spansort::const_key_span keys = span_of(array, type);
  spansort::summary found;
  {
    const nb::gil_scoped_release unlocked;
    found = spansort::summarize(keys, options.of_summary());
  }
  return dictionary_of(found);
}

nb::object histogram(nb::handle array, int type, nb::handle edge_array, const statistics_options& options) {
  const spansort::const_key_span keys = span_of(array, type);
  const std::span<const double> edges = doubles_of(edge_array);
  std::vector<std::uint64_t> counts;
  {
    const nb::gil_scoped_release unlocked;
    counts = spansort::histogram(keys, edges, options.of_counts());
  }
  return array_of(counts);
}

nb::object rank_of(nb::handle array, int type, nb::handle value, const statistics_options& options) {
  const spansort::const_key_span keys = span_of(array, type);
  const array_keys wanted = keys_of(readable(value), type, false);
  if (wanted.memory.num_elements != 1) throw nb::value_error("one value is expected");
  spansort::key_rank rank;
  {
    const nb::gil_scoped_release unlocked;
    rank = spansort::rank_of(keys, wanted.memory.data, options.of_counts());
  }
  return nb::make_tuple(rank.num_less, rank.num_equal, rank.num_greater, rank.num_nans);
}

nb::object first_keys(nb::handle array, int type, std::uint64_t k, bool largest, const statistics_options& options) {
  const spansort::const_key_span keys = span_of(array, type);
  std::vector<std::byte> first;
  {
    const nb::gil_scoped_release unlocked;
    first = largest ? spansort::top_k(keys, k, options.of_top()) : spansort::bottom_k(keys, k, options.of_top());
  }
  nb::object bytes = new_bytes(first.size());
  if (!first.empty()) std::memcpy(data_of(bytes), first.data(), first.size());
  return bytes;
}

nb::object first_indices(nb::handle array, int type, std::uint64_t k, bool largest, const statistics_options& options) {
  const spansort::const_key_span keys = span_of(array, type);
  std::vector<std::uint64_t> first;
  {
    const nb::gil_scoped_release unlocked;
    first = largest ? spansort::top_k_indices(keys, k, options.of_top())
                    : spansort::bottom_k_indices(keys, k, options.of_top());
  }
  return array_of(first);
}

nb::object equal_width_edges(double low, double high, std::uint64_t num_bins) {
  return array_of(spansort::equal_width_edges(low, high, num_bins));
}

}  // namespace

nb::object array_of(const std::vector<double>& values) {
  nb::object array = new_doubles(values.size());
  if (!values.empty()) std::memcpy(data_of(array), values.data(), values.size() * sizeof(double));
  return array;
}

nb::object array_of(const std::vector<std::uint64_t>& counts) {
  nb::object array = new_indices(counts.size());
  if (!counts.empty()) std::memcpy(data_of(array), counts.data(), counts.size() * sizeof(std::uint64_t));
  return array;
}

nb::object dictionary_of(const spansort::summary& found) {
  nb::dict fields;
  fields["count"] = found.count;
  fields["nan_count"] = found.nan_count;
  fields["minimum"] = found.minimum;
  fields["lower_quartile"] = found.lower_quartile;
  fields["median"] = found.median;
  fields["upper_quartile"] = found.upper_quartile;
  fields["maximum"] = found.maximum;
  fields["mean"] = found.mean;
  fields["iqr"] = found.iqr;
  fields["fence_low"] = found.fence_low;
  fields["fence_high"] = found.fence_high;
  fields["whisker_low"] = found.whisker_low;
  fields["whisker_high"] = found.whisker_high;
  fields["num_outliers_below"] = found.num_outliers_below;
  fields["num_outliers_above"] = found.num_outliers_above;
  fields["outliers"] = array_of(found.outliers);
  return fields;
}

void define_statistics(nb::module_& module) {
  nb::class_<statistics_options>(module, "StatisticsOptions")
      .def(nb::init<>())
      .def("set", &statistics_options::set, nb::kw_only(), nb::arg("method"), nb::arg("nan"), nb::arg("order"),
           nb::arg("devices"), nb::arg("threads"))
      .def("set_box", &statistics_options::set_box, nb::kw_only(), nb::arg("iqr_factor"), nb::arg("percentiles"),
           nb::arg("most_outliers"), nb::arg("with_mean"));
  module.def("quantiles", &quantiles, nb::arg("array"), nb::arg("type"), nb::arg("q"), nb::arg("options"));
  module.def("row_quantiles", &row_quantiles, nb::arg("array"), nb::arg("type"), nb::arg("q"), nb::arg("options"));
  module.def("summarize", &summarize, nb::arg("array"), nb::arg("type"), nb::arg("options"));
  module.def("histogram", &histogram, nb::arg("array"), nb::arg("type"), nb::arg("edges"), nb::arg("options"));
  module.def("rank_of", &rank_of, nb::arg("array"), nb::arg("type"), nb::arg("value"), nb::arg("options"));
  module.def("first_keys", &first_keys, nb::arg("array"), nb::arg("type"), nb::arg("k"), nb::arg("largest"),
             nb::arg("options"));
  module.def("first_indices", &first_indices, nb::arg("array"), nb::arg("type"), nb::arg("k"), nb::arg("largest"),
             nb::arg("options"));
  module.def("equal_width_edges", &equal_width_edges, nb::arg("low"), nb::arg("high"), nb::arg("num_bins"));
}

}  // namespace python
