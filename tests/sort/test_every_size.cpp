// SPDX-License-Identifier: Apache-2.0
// Every n from 0 to 4096: off-by-one errors of tiles, vectors and chunks have nowhere to hide.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

struct small_sort {
  key_type type;
  operation op;
};

const small_sort small_sorts[] = {{key_type::u32, {operation::kind::keys}},
                                  {key_type::f64, {operation::kind::keys}},
                                  {key_type::u16, {operation::kind::pairs, 4}}};

constexpr test_tuning shrunken{.radix_bits = 3,
                               .epsilon = 0.02,
                               .fuse_threshold = -1,
                               .host_inline_keys = 1,
                               .host_bucket_bytes = 512,
                               .host_radix_bits = 4,
                               .host_tile_keys = 100};
/// Every n meets one engine of each pair; neighbours meet different ones.
const engine small_engines[] = {
    {"cpu", "single"}, {"host:5", "rmg", shrunken}, {"cpu", "single", shrunken}, {"host:3", "rmg"}};

/// Sizes begin, begin + 16, ... up to 4096: sixteen tests share the sizes evenly.
class every_size_test : public testing::TestWithParam<std::tuple<small_sort, std::uint64_t>> {};

TEST_P(every_size_test, UpTo4096) {
  const auto& [sort, begin] = GetParam();
  const bool descending = sort.type == key_type::u16;
  std::vector<sorter> sorters;
  for (const engine& how : small_engines) sorters.push_back(how.make_sorter());
  const auto distributions = all_distributions();
  for (std::uint64_t n = begin; n <= 4096; n += is_small_scale() && n > 130 ? 16 * 15 : 16) {
    const distribution& d = distributions[n % distributions.size()];
    const oracle expected = make_oracle(sort.type, n, d, seed_for(n), descending);
    // Sizes of one test differ by multiples of 16: count the rounds.
    const std::size_t first = (n / 16 + n) % 2 * 2;
    for (std::size_t i = first; i < first + 2; ++i) {
      ASSERT_EQ(diagnose_sort(sorters[i], expected, sort.op), "")
          << "n " << n << ", " << to_string(d) << " of seed " << seed_for(n) << ", by " << small_engines[i].describe();
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<small_sort, std::uint64_t>>& info) {
  const auto& [sort, begin] = info.param;
  return std::string(name(sort.type)) + "_from_" + std::to_string(begin);
}

INSTANTIATE_TEST_SUITE_P(Sort, every_size_test,
                         testing::Combine(testing::ValuesIn(small_sorts),
                                          testing::Range(std::uint64_t{0}, std::uint64_t{16})),
                         name_of);

void expect_sizes_around(unsigned num_devices, const char* algorithm) {
  engine how{"host:" + std::to_string(num_devices), algorithm, shrunken};
  sorter s = how.make_sorter();
  for (std::uint64_t n = num_devices < 5 ? 0 : num_devices - 3; n <= num_devices + 3; ++n) {
    const oracle expected = make_oracle(key_type::i32, n, {distribution_kind::uniform}, seed_for(n), false);
    ASSERT_EQ(diagnose_sort(s, expected, {operation::kind::argsort, 8}), "") << how.describe() << ", n " << n;
    ASSERT_EQ(diagnose_sort(s, expected, {operation::kind::keys}), "") << how.describe() << ", n " << n;
  }
}

TEST(EverySize, AroundTheNumberOfDevices) {
  for (const unsigned num_devices : {2u, 3u, 7u, 64u, 200u}) {
    if (is_small_scale() && num_devices == 200) continue;
    expect_sizes_around(num_devices, "rmg");
    expect_sizes_around(num_devices, "het_merge");
  }
  for (const unsigned num_devices : {1u, 2u, 4u, 8u, 16u, 64u}) expect_sizes_around(num_devices, "p2p_merge");
}

}  // namespace
}  // namespace spansort::test
