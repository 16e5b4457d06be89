// SPDX-License-Identifier: Apache-2.0
// Strength of the checker: correct outputs are corrupted in the ways a wrong sort would corrupt them, 10,000 times;
// order, count and checksum together must catch every one. This is also the proof that the checker can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/check.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort {
namespace {

/// A sorted output of pairs.
struct output {
  key_type type;
  bool descending = false;
  std::uint64_t value_bytes = 0;
  std::vector<std::byte> keys;
  std::vector<std::byte> values;

  [[nodiscard]] std::size_t key_bytes() const { return size_bytes(type); }
  [[nodiscard]] std::uint64_t num_keys() const { return keys.size() / key_bytes(); }
  [[nodiscard]] const_key_span span() const { return {type, keys.data(), num_keys()}; }
  [[nodiscard]] std::byte* key(std::uint64_t i) { return keys.data() + i * key_bytes(); }
  [[nodiscard]] std::byte* value(std::uint64_t i) { return values.data() + i * value_bytes; }
  [[nodiscard]] bool same_key(std::uint64_t i, std::uint64_t j) {
    return std::memcmp(key(i), key(j), key_bytes()) == 0;
  }
};

/// What is known of the input.
struct fingerprint {
  std::uint64_t num_keys;
  multiset_checksum checksum;
};

fingerprint take_fingerprint(const output& o) {
  return {o.num_keys(), checksum_pairs(o.span(), o.values.data(), o.value_bytes)};
}

bool passes(const output& o, const fingerprint& expected) {
  return o.num_keys() == expected.num_keys &&
         !check(o.span(), {.direction = keys::direction_of(o.descending)}).first_disorder &&
         checksum_pairs(o.span(), o.values.data(), o.value_bytes) == expected.checksum;
}

/// The right output for `num_keys` generated keys and the values of test::input_values().
output make_output(key_type type, std::uint64_t num_keys, bool descending, std::uint64_t value_bytes,
                   const distribution& d, std::uint64_t seed) {
  const test::oracle sorted = test::make_oracle(type, num_keys, d, seed, descending);
  const auto keys = sorted.keys_of_pairs();
  return {
      type, descending, value_bytes, {keys.begin(), keys.end()}, test::values_in_order(sorted.order(), value_bytes)};
}

enum class mutation {
  swap_keys,
  drop,
  duplicate,
  flip_key_bit,
  flip_value_bit,
  swap_values,
  replace_key,
  replace_value
};
constexpr int num_mutations = 8;

void flip_random_bit(std::byte* bytes, std::uint64_t size_bytes, test::random_words& random) {
  const std::uint64_t bit = random.below(size_bytes * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
}

/// Changes the bytes at `at` to other random ones.
void replace(std::byte* at, std::uint64_t size_bytes, test::random_words& random) {
  const std::vector<std::byte> before(at, at + size_bytes);
  while (std::equal(before.begin(), before.end(), at)) {
    for (std::uint64_t i = 0; i < size_bytes; ++i) at[i] = static_cast<std::byte>(random());
  }
}

/// False where the drawn places make the mutation change nothing: equal keys or equal values swapped, or copied.
bool mutate(output& o, mutation m, test::random_words& random) {
  const std::uint64_t i = random.below(o.num_keys());
  const std::uint64_t j = random.below(o.num_keys());
  const bool same_value = std::memcmp(o.value(i), o.value(j), o.value_bytes) == 0;
  switch (m) {
    case mutation::swap_keys:  // the values stay
      if (o.same_key(i, j) || same_value) return false;
      std::swap_ranges(o.key(i), o.key(i) + o.key_bytes(), o.key(j));
      return true;
    case mutation::drop:
      std::copy(o.key(i) + o.key_bytes(), o.keys.data() + o.keys.size(), o.key(i));
      std::copy(o.value(i) + o.value_bytes, o.values.data() + o.values.size(), o.value(i));
      o.keys.resize(o.keys.size() - o.key_bytes());
      o.values.resize(o.values.size() - o.value_bytes);
      return true;
    case mutation::duplicate:  // one pair twice, another one lost
      if (o.same_key(i, j) && same_value) return false;
      std::copy_n(o.key(i), o.key_bytes(), o.key(j));
      std::copy_n(o.value(i), o.value_bytes, o.value(j));
      return true;
    case mutation::flip_key_bit: flip_random_bit(o.key(i), o.key_bytes(), random); return true;
    case mutation::flip_value_bit: flip_random_bit(o.value(i), o.value_bytes, random); return true;
    case mutation::swap_values:  // a value moves to another key
      if (o.same_key(i, j) || same_value) return false;
      std::swap_ranges(o.value(i), o.value(i) + o.value_bytes, o.value(j));
      return true;
    case mutation::replace_key: replace(o.key(i), o.key_bytes(), random); return true;
    default: replace(o.value(i), o.value_bytes, random); return true;
  }
}

TEST(Mutations, TenThousandDamagedOutputsAreAllCaught) {
  constexpr std::array<std::uint64_t, 8> widths{1, 2, 3, 4, 8, 12, 16, 24};
  const auto types = test::all_key_types();
  const auto distributions = all_distributions();
  const int goal = 10'000;
  int num_caught = 0;
  int num_made = 0;
  for (std::uint64_t number = 0; num_made < goal; ++number) {
    test::random_words random(test::seed_for(number));
    const output correct = make_output(types[number % types.size()], 2 + random.below(300), number % 2 == 1,
                                       widths[random.below(widths.size())],
                                       distributions[random.below(distributions.size())], test::seed_for(number));
    const fingerprint expected = take_fingerprint(correct);
    ASSERT_TRUE(passes(correct, expected)) << "case " << number << ": the correct output";
    for (int m = 0; m < num_mutations && num_made < goal; ++m) {
      output corrupted = correct;
      if (!mutate(corrupted, static_cast<mutation>(m), random)) continue;
      ++num_made;
      const bool caught = !passes(corrupted, expected);
      num_caught += caught;
      EXPECT_TRUE(caught) << "case " << number << ", mutation " << m << ", seed " << test::base_seed();
    }
  }
  EXPECT_EQ(num_caught, goal);
}

/// Corruption that order alone does not see, and corruption that the checksum alone does not see.
TEST(Mutations, OrderAndChecksumNeedEachOther) {
  output o = make_output(key_type::u32, 1000, false, 4, {}, test::seed_for(1));
  const fingerprint expected = take_fingerprint(o);
  std::fill(o.keys.begin(), o.keys.end(), std::byte{0});
  EXPECT_FALSE(check(o.span()).first_disorder);
  EXPECT_FALSE(passes(o, expected));

  output swapped = make_output(key_type::u64, 1000, false, 8, {}, test::seed_for(1));
  const fingerprint before = take_fingerprint(swapped);
  std::swap_ranges(swapped.key(1), swapped.key(2), swapped.key(900));
  std::swap_ranges(swapped.value(1), swapped.value(2), swapped.value(900));
  EXPECT_EQ(take_fingerprint(swapped).checksum, before.checksum);
  EXPECT_FALSE(passes(swapped, before));
}

}  // namespace
}  // namespace spansort
