// SPDX-License-Identifier: Apache-2.0
// Enumerators that there are not, as they come from a cast of what somebody else wrote, and counts near the ends of
// their type: refused before anything is read or written.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "spansort/check.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

TEST(UnknownValues, KeyTypes) {
  std::vector<std::uint8_t> bytes{3, 2, 1, 0};
  const std::vector<std::uint8_t> before = bytes;
  for (const int value : {12, 13, 100, 255}) {
    const auto type = static_cast<key_type>(value);
    const key_span keys(type, bytes.data(), bytes.size());
    EXPECT_THROW(sort(keys), invalid_argument);
    EXPECT_THROW(sort(keys, {.devices = "host:2"}), invalid_argument);
    std::vector<std::uint64_t> order(keys.num_keys);
    EXPECT_THROW(sorter().argsort(keys, order.data(), 8), invalid_argument);
    EXPECT_THROW(static_cast<void>(is_sorted(const_key_span(keys))), invalid_argument);
    EXPECT_THROW(static_cast<void>(check(keys)), invalid_argument);
    EXPECT_THROW(static_cast<void>(checksum(keys)), invalid_argument);
    EXPECT_THROW(spansort::generate(keys, {distribution_kind::uniform}, 1), invalid_argument);
    EXPECT_THROW(static_cast<void>(summarize(keys)), invalid_argument);
    EXPECT_THROW(sort_file("/dev/null", "/dev/null", {.type = type}), invalid_argument);
    EXPECT_THROW(argsort_file("/dev/null", "/dev/null", {.type = key_type::u8, .index_type = type}), invalid_argument);
    EXPECT_EQ(name(type), "unknown");
  }
  EXPECT_EQ(bytes, before);
}

TEST(UnknownValues, MethodsAndDistributions) {
  std::vector<float> keys{3, 2, 1, 0};
  EXPECT_THROW(static_cast<void>(quantiles(keys, {0.5}, {.method = static_cast<quantile_method>(14)})),
               invalid_argument);
  EXPECT_EQ(name(static_cast<quantile_method>(14)), "unknown");
  EXPECT_EQ(name(static_cast<nan_policy>(3)), "unknown");
  EXPECT_THROW(
      spansort::generate(key_span(key_type::f32, keys.data(), keys.size()), {static_cast<distribution_kind>(13)}, 1),
      invalid_argument);
}

TEST(UnknownValues, NumbersOfBins) {
  for (const std::uint64_t num_bins : {largest, largest - 1, largest / 2, largest / 8, largest / 8 - 1}) {
    EXPECT_THROW(static_cast<void>(equal_width_edges(0, 1, num_bins)), error) << num_bins;
  }
  EXPECT_EQ(equal_width_edges(0, 1, 2), (std::vector<double>{0, 0.5, 1}));
}

TEST(UnknownValues, IndicesThatWrapAround) {
  std::vector<std::uint64_t> memory(2);
  // Eight times as many bytes of indices are 0, or few.
  for (const std::uint64_t num_keys : {largest / 8 + 1, largest / 8 + 2, largest / 4 + 1}) {
    const const_key_span keys(key_type::u8, memory.data(), num_keys);
    EXPECT_THROW(sorter().argsort(keys, memory.data() + 1, 8), invalid_argument) << num_keys;
  }
}

}  // namespace
}  // namespace spansort::test
