// SPDX-License-Identifier: Apache-2.0
// More than 2^32 keys: about 10 GB of memory and minutes of time, so not among the tests that every run counts.
//   SPANSORT_TEST_LARGE=1 test_sort --gtest_also_run_disabled_tests --gtest_filter='*LargeSlow*'
#include <gtest/gtest.h>

#include <vector>

#include "spansort/check.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

class DISABLED_LargeSlow : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t n = (std::uint64_t{1} << 32) + 12'345;
  void SetUp() override {
    ASSERT_TRUE(may_run_large()) << "set SPANSORT_TEST_LARGE=1; this needs about 10 GB of memory";
  }
};

TEST_P(DISABLED_LargeSlow, SortsMoreThan32BitsCount) {
  std::vector<std::uint8_t> keys(n);
  const key_span span = as_key_span(std::span(keys));
  generate(span, {distribution_kind::zipf, 0.5}, seed_for(1));
  const multiset_checksum before = checksum(span);
  sort_report report;
  sort(keys, {.devices = GetParam(), .report = &report});
  const check_result after = check(span);
  EXPECT_FALSE(after.first_disorder);
  EXPECT_EQ(after.checksum, before);
  EXPECT_EQ(after.num_duplicates, n - 256);
  EXPECT_EQ(report.num_keys, n);
}

INSTANTIATE_TEST_SUITE_P(Sort, DISABLED_LargeSlow, testing::Values("cpu", "host:3"), [](const auto& param) {
  return std::string(param.param).substr(0, 3) + (param.index == 0 ? "" : "_3");
});

}  // namespace
}  // namespace spansort::test
