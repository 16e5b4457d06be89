// SPDX-License-Identifier: Apache-2.0
// This header says what tests of the ways of one GPU's own sort share: a sorter on it, and the look at a result.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/gpu_test.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {

class gpu_sort_test : public gpu_test {
 protected:
  /// Returns a sorter of GPU 0 alone whose sorts fill `report`.
  [[nodiscard]] sorter reporting_sorter(const test_tuning& world) {
    hooked_options options;
    options.devices = "gpu:0";
    options.algorithm = algorithm::single;
    options.report = &report;
    options.world = world;
    return make_sorter(options);
  }
  static void expect_sorted(sorter& s, key_type type, std::uint64_t n, const std::string& shape, const operation& op,
                            bool descending) {
    const oracle expected = make_oracle(type, n, parse_distribution(shape), seed_for(n), descending);
    ASSERT_EQ(diagnose_sort(s, expected, op), "") << describe(op) << " of " << n << " " << name(type) << ", " << shape
                                                  << (descending ? ", descending" : "") << ", seed " << seed_for(n);
  }

  sort_report report;
};

}  // namespace spansort::test
