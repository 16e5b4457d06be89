// SPDX-License-Identifier: Apache-2.0
// The multiway merge of the host's threads: many and few runs, empty ones among them, in one piece and in many, against
// the stable sort of the runs one behind the other.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "algorithms/multiway_merge.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

struct merge_of_many {
  key_type type = key_type::u64;
  bool descending = false;
  unsigned value_bytes = 0;
  std::vector<std::uint64_t> sizes;
  distribution keys = {};
  std::uint64_t num_pieces = 1;
  std::uint64_t seed = 0;
};

/// A value is the position of its record in the runs one behind the other.
std::string diagnose(const merge_of_many& c) {
  const std::size_t key_bytes = size_bytes(c.type);
  const bool has_values = c.value_bytes != 0;
  std::vector<std::byte> keys;
  for (const std::uint64_t size : c.sizes) {
    const oracle run = make_oracle(c.type, size, c.keys, c.seed + keys.size(), c.descending);
    const auto sorted = has_values ? run.keys_of_pairs() : run.keys_alone();
    keys.insert(keys.end(), sorted.begin(), sorted.end());
  }
  const std::uint64_t n = keys.size() / key_bytes;
  const oracle expected({c.type, keys.data(), n}, c.descending);
  std::vector<std::byte> values = input_values(n, c.value_bytes);
  guarded_array merged_keys(n * key_bytes, key_bytes);
  guarded_array merged_values(n * c.value_bytes, 1);
  const keys::tie_rule ties = has_values ? keys::tie_rule::by_input_order : keys::tie_rule::by_bits;
  const device::record_shape shape{{c.type, c.descending, ties}, c.value_bytes};
  std::vector<algorithms::host_run> runs;
  std::uint64_t begin = 0;
  for (const std::uint64_t size : c.sizes) {
    runs.push_back({advance(shape, {keys.data(), has_values ? values.data() : nullptr}, begin), size});
    begin += size;
  }
  algorithms::merge_runs(shape, runs, {merged_keys.data(), has_values ? merged_values.data() : nullptr}, c.num_pieces);
  return diagnose_bytes("key", has_values ? expected.keys_of_pairs() : expected.keys_alone(), merged_keys.bytes(),
                        key_bytes) +
         diagnose_bytes("value", values_in_order(expected.order(), c.value_bytes), merged_values.bytes(),
                        c.value_bytes) +
         merged_keys.corruption() + merged_values.corruption();
}

TEST(MultiwayMerge, RunsAndPieces) {
  const std::vector<std::uint64_t> all_sizes[] = {{},
                                                  {0},
                                                  {5},
                                                  {1, 1},
                                                  {700, 900},
                                                  {0, 7, 0},
                                                  {100, 3, 50},
                                                  {1000, 1000, 1000, 1000},
                                                  {9, 0, 8, 0, 7, 0, 600, 1, 2}};
  const distribution all_keys[] = {{distribution_kind::uniform},
                                   {distribution_kind::zero},
                                   {distribution_kind::special_floats},
                                   {distribution_kind::entropy, 3}};
  std::uint64_t number = 0;
  for (const key_type type : varied_key_types()) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
      for (const std::vector<std::uint64_t>& sizes : all_sizes) {
        for (const distribution& keys : all_keys) {
          ++number;
          const merge_of_many c{type, number % 2 == 0, value_bytes, sizes, keys, 1 + number % 7, seed_for(number)};
          ASSERT_EQ(diagnose(c), "") << name(type) << ", " << sizes.size() << " runs, " << to_string(keys)
                                     << ", values of " << value_bytes << " bytes, seed " << c.seed;
        }
      }
    }
  }
}

TEST(MultiwayMerge, HighestKeysComeBeforeRunsThatHaveEnded) {
  const std::vector<std::uint64_t> sizes(5, 300);
  const distribution sorted_up_to_the_highest{distribution_kind::entropy, 1};
  for (const bool descending : {false, true}) {
    EXPECT_EQ(diagnose({key_type::u8, descending, 4, sizes, sorted_up_to_the_highest, 3, seed_for(1)}), "");
  }
}

}  // namespace
}  // namespace spansort::test
