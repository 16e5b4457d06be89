// SPDX-License-Identifier: Apache-2.0
// This header says what tests of the ways of one GPU's own sort share: a sorter on it, and the look at a result.
#pragma once

#include <cstdint>
#include <string>

#include "base/test_hooks.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {

/// Returns a number that looks like chance.
[[nodiscard]] inline std::uint64_t random_word(std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

[[nodiscard]] inline std::string buckets_name(base::gpu_buckets buckets) {
  constexpr const char* names[] = {"by_size", "where_even", "always", "never", "by_spread", "by_wide_spread"};
  return names[static_cast<std::size_t>(buckets)];
}

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
