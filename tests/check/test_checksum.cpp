// SPDX-License-Identifier: Apache-2.0
// The multiset checksum: the same for any order and any split, another one as soon as anything else changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <vector>

#include "spansort/check.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

using bytes = std::vector<std::byte>;

/// Shuffles elements of `element_bytes`; two arrays shuffled with one seed stay together.
void shuffle(bytes& data, std::size_t element_bytes, std::uint64_t seed) {
  test::random_words random(seed);
  for (std::size_t i = data.size() / element_bytes; i > 1; --i) {
    const std::size_t j = random.below(i);
    if (j == i - 1) continue;
    std::swap_ranges(&data[j * element_bytes], &data[j * element_bytes] + element_bytes,
                     &data[(i - 1) * element_bytes]);
  }
}

class checksum_test : public testing::TestWithParam<key_type> {
 protected:
  static constexpr std::uint64_t n = 50'000;
  key_type type = GetParam();
  std::size_t key_bytes = size_bytes(type);
  bytes keys = test::make_keys(type, n, {distribution_kind::entropy, 2}, test::seed_for(5));

  [[nodiscard]] const_key_span part(const bytes& from, std::uint64_t begin, std::uint64_t end) const {
    return {type, from.data() + begin * key_bytes, end - begin};
  }
};

TEST_P(checksum_test, IsTheSameForEveryPermutation) {
  const multiset_checksum expected = checksum(part(keys, 0, n));
  EXPECT_EQ(check(part(keys, 0, n)).checksum, expected);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    bytes shuffled = keys;
    shuffle(shuffled, key_bytes, test::seed_for(seed));
    EXPECT_EQ(checksum(part(shuffled, 0, n)), expected);
    EXPECT_EQ(check(part(shuffled, 0, n)).checksum, expected);
  }
}

TEST_P(checksum_test, IsTheSumOverAnySplit) {
  const multiset_checksum expected = checksum(part(keys, 0, n));
  test::random_words random(test::seed_for(6));
  for (int repeat = 0; repeat < 50; ++repeat) {
    multiset_checksum sum;
    for (std::uint64_t begin = 0; begin < n;) {
      const std::uint64_t end = std::min(n, begin + random.below(repeat < 25 ? 1000 : n));
      sum = sum + check(part(keys, begin, end)).checksum;
      begin = end;
    }
    ASSERT_EQ(sum, expected);
  }
}

TEST_P(checksum_test, OfPairsFollowsThePairsAndNotTheKeysAlone) {
  for (const std::uint64_t value_bytes : {1, 2, 3, 4, 5, 8, 12, 16, 24, 40}) {
    const bytes values = test::input_values(n, value_bytes);
    const multiset_checksum expected = checksum_pairs(part(keys, 0, n), values.data(), value_bytes);
    bytes shuffled_keys = keys;
    bytes shuffled_values = values;
    shuffle(shuffled_keys, key_bytes, test::seed_for(7));
    EXPECT_NE(checksum_pairs(part(shuffled_keys, 0, n), values.data(), value_bytes), expected) << value_bytes;
    shuffle(shuffled_values, value_bytes, test::seed_for(7));
    EXPECT_EQ(checksum_pairs(part(shuffled_keys, 0, n), shuffled_values.data(), value_bytes), expected) << value_bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, checksum_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Checksum, OneFlippedBitChangesAboutHalfOfTheBits) {
  std::uint64_t changed = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::vector<std::uint64_t> a{0x0123456789abcdef};
    const std::vector<std::uint64_t> b{a[0] ^ (std::uint64_t{1} << bit)};
    const multiset_checksum x = checksum(as_const_key_span(std::span(a)));
    const multiset_checksum y = checksum(as_const_key_span(std::span(b)));
    for (std::size_t i = 0; i < 2; ++i) changed += static_cast<std::uint64_t>(std::popcount(x.words[i] ^ y.words[i]));
  }
  EXPECT_GT(changed, 64 * 128 * 4 / 10);
  EXPECT_LT(changed, 64 * 128 * 6 / 10);
}

TEST(Checksum, MultisetsOfSmallKeysWithTheSameSumDiffer) {
  std::set<std::string> seen;
  std::uint64_t num_multisets = 0;
  for (std::uint8_t a = 0; a < 60; ++a) {
    for (std::uint8_t b = a; b < 60; ++b) {
      const std::vector<std::uint8_t> keys{a, b, static_cast<std::uint8_t>(200 - a - b)};
      seen.insert(to_string(checksum(as_const_key_span(std::span(keys)))));
      ++num_multisets;
    }
  }
  EXPECT_EQ(seen.size(), num_multisets);
}

TEST(Checksum, TextIs32HexadecimalDigits) {
  EXPECT_EQ(to_string(multiset_checksum{{0x1, 0xabc}}), "00000000000000010000000000000abc");
}

}  // namespace
}  // namespace spansort
