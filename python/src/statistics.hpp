// SPDX-License-Identifier: Apache-2.0
// Options of order statistics, of arrays and of files, and what is given back to Python.
#pragma once

#include <cstdint>
#include <spansort/statistics.hpp>
#include <spansort/top_k.hpp>
#include <string>
#include <vector>

#include "binding.hpp"

namespace python {

struct statistics_options {
  spansort::summary_options all = {};

  void set(const std::string& method, const std::string& nans, const std::string& order, const std::string& devices,
           unsigned threads) {
    all.method = spansort::parse_quantile_method(method);
    all.nans = spansort::parse_nan_policy(nans);
    all.order = order == "ascending"    ? spansort::key_order::ascending
                : order == "descending" ? spansort::key_order::descending
                                        : spansort::key_order::unknown;
    all.devices = spansort::device_list(devices);
    all.threads = threads;
  }
  void set_box(double iqr_factor, const std::vector<double>& percentiles, std::uint64_t most_outliers, bool with_mean) {
    all.whiskers.iqr_factor = iqr_factor;
    if (percentiles.size() == 2) {
      all.whiskers.percentiles = spansort::percentile_pair{.low = percentiles[0], .high = percentiles[1]};
    }
    all.most_outliers = most_outliers;
    all.with_mean = with_mean;
  }

  [[nodiscard]] spansort::quantile_options of_quantiles() const {
    return {all.method, all.nans, all.order, all.devices, all.threads};
  }
  [[nodiscard]] const spansort::summary_options& of_summary() const { return all; }
  [[nodiscard]] spansort::count_options of_counts() const { return {all.order, all.devices, all.threads}; }
  [[nodiscard]] spansort::top_options of_top() const { return {all.nans, all.order, all.devices, all.threads}; }
};

nb::object array_of(const std::vector<double>& values);
nb::object array_of(const std::vector<std::uint64_t>& counts);
nb::object dictionary_of(const spansort::summary& found);

}  // namespace python
