// SPDX-License-Identifier: Apache-2.0
// The sort of pairs of 32 bits by splitters against a stable sort: keys that crowd, that repeat, that tie in all bits
// for which a bucket's words have room, and keys that deceive the sample, so that one bucket has nearly all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/heavy_pairs.hpp"
#include "device/host/splitter_pairs.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

using key = std::uint32_t;

enum class kind {
  uniform,
  crowded,
  few,
  constant,
  sorted,
  any_length,
  last_bits,
  low_ties,
  special,
  deceiving,
  greatest
};
constexpr kind all_kinds[] = {kind::uniform, kind::crowded,    kind::few,       kind::constant,
                              kind::sorted,  kind::any_length, kind::last_bits, kind::low_ties,
                              kind::special, kind::deceiving,  kind::greatest};

key make_key(kind what, std::mt19937_64& random) {
  const key x = static_cast<key>(random());
  switch (what) {
    case kind::crowded: return x & static_cast<key>(random() & random() & random());
    case kind::few: return x % 3 * 0x10203;
    case kind::constant: return 7;
    case kind::any_length: return x >> random() % 32;
    // One upper bit and the lowest: what lies between finds no room in a word.
    case kind::last_bits: return (x & 7) | (x >> 7 & 1) << 31;
    // Each bucket spans much, and has groups of keys that differ in their lowest bits only.
    case kind::low_ties: return static_cast<key>(random() % 700) * 6'000'011 + (x & 15);
    case kind::special: return x % 4 == 0 ? x >> 8 << 31 : ~(x & 3);
    case kind::greatest: return x % 3 == 0 ? ~key{0} : ~(x & 0xFFF);
    default: return x;
  }
}

std::vector<key> make_keys(kind what, std::uint64_t num_keys, std::mt19937_64& random) {
  std::vector<key> keys(num_keys);
  for (key& k : keys) k = make_key(what, random);
  if (what == kind::sorted) std::sort(keys.begin(), keys.end());
  if (what == kind::deceiving) {
    // The samples of any number of buckets are one key.
    for (unsigned bits = 4; bits <= 7; ++bits) {
      const std::uint64_t num_samples = std::uint64_t{8} << bits;
      const key_sampler<key> sampled(keys.data(), num_keys, num_samples);
      for (std::uint64_t i = 0; i < num_samples; ++i) keys[sampled.place_of(i)] = 5;
    }
  }
  return keys;
}

class splitter_pairs_test : public testing::Test {
 protected:
  void check(const keys::codec_of<key>& codec, const std::vector<key>& given, bool in_place) {
    constexpr std::uint64_t red_zone = 100;
    constexpr key untouched = 0xDEADBEEF;
    const std::uint64_t num_keys = given.size();
    std::vector<value4> values(num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) values[i].word = static_cast<std::uint32_t>(i);
    std::vector<std::uint32_t> order(num_keys);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
      return codec.encode(given[left]) < codec.encode(given[right]);
    });
    std::vector<key> keys = in_place ? given : std::vector<key>(num_keys);
    std::vector<value4> sorted = in_place ? values : std::vector<value4>(num_keys);
    keys.resize(num_keys + red_zone, untouched);
    sorted.resize(num_keys + red_zone, value4{untouched});
    std::vector<key> source = given;
    const split_records<key, value4> to{keys.data(), sorted.data()};
    const split_records<key, value4> from = in_place ? to : split_records<key, value4>{source.data(), values.data()};
    splitter_sorter(codec, scratch_).sort(from, to, num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      ASSERT_EQ(std::uint32_t{sorted[i].word}, order[i]) << "value " << i << " of " << num_keys;
      ASSERT_EQ(keys[i], given[order[i]]) << "key " << i << " of " << num_keys;
    }
    for (std::uint64_t i = num_keys; i < num_keys + red_zone; ++i) {
      ASSERT_EQ(keys[i], untouched) << "writes keys beyond the result";
      ASSERT_EQ(std::uint32_t{sorted[i].word}, untouched) << "writes values beyond the result";
    }
  }

  /// Does the same to packed pairs.
  void check_packed(const keys::codec_of<key>& codec, const std::vector<key>& given, key_range<key> range) {
    const std::uint64_t num_keys = given.size();
    std::vector<value4> values(num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) values[i].word = static_cast<std::uint32_t>(i);
    splitter_sorter sorter(codec, scratch_);
    pack_pairs(given.data(), values.data(), num_keys, sorter.packed_room(), false);
    std::vector<key> keys(num_keys);
    sorter.sort_packed(range, {keys.data(), values.data()}, num_keys);
    std::vector<std::uint32_t> order(num_keys);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
      return codec.encode(given[left]) < codec.encode(given[right]);
    });
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      ASSERT_EQ(std::uint32_t{values[i].word}, order[i]) << "value " << i << " of " << num_keys;
      ASSERT_EQ(keys[i], given[order[i]]) << "key " << i << " of " << num_keys;
    }
  }

  std::mt19937_64 random_{test::base_seed()};
  worker_scratch scratch_;
};

TEST_F(splitter_pairs_test, SortsStably) {
  if (!splitter_sorter::takes(4096)) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::vector<std::uint64_t> sizes = {2049, 3000, 4095, 4096, 8193, 20'001, 65'536};
  if (!test::is_small_scale()) sizes.insert(sizes.end(), {100'003, max_words});
  for (const key_type type : {key_type::u32, key_type::i32, key_type::f32}) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{type, descending, keys::tie_rule::by_input_order}.of<key>();
      for (const std::uint64_t num_keys : sizes) {
        for (const kind what : all_kinds) {
          SCOPED_TRACE(std::to_string(static_cast<int>(type)) + (descending ? " descending" : " ascending") +
                       ", kind " + std::to_string(static_cast<int>(what)));
          check(codec, make_keys(what, num_keys, random_), num_keys % 2 == 0);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(splitter_pairs_test, SortsPackedPairsOfARange) {
  if (!splitter_sorter::takes(4096)) GTEST_SKIP() << "vectors of this machine are too narrow";
  for (const key_type type : {key_type::u32, key_type::f32}) {
    const auto codec = keys::key_codec{type, type == key_type::f32, keys::tie_rule::by_input_order}.of<key>();
    for (const std::uint64_t num_keys : {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{2048}, std::uint64_t{2049},
                                         std::uint64_t{20'001}, max_words}) {
      for (const kind what : all_kinds) {
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(what)));
        check_packed(codec, make_keys(what, num_keys, random_), {0, ~key{0}});
        if (HasFatalFailure()) return;
      }
      // What few bits tell apart is counted, or fits words of 32 bits.
      for (const unsigned bits : {0U, 1U, 8U, 9U, 14U, 20U}) {
        SCOPED_TRACE(std::to_string(bits) + " bits");
        const key least = codec.encode(codec.decode(0x7F000000));
        std::vector<key> keys(num_keys);
        for (key& k : keys) k = codec.decode(least + static_cast<key>(random_() & ((std::uint64_t{1} << bits) - 1)));
        check_packed(codec, keys, {least, least + static_cast<key>((std::uint64_t{1} << bits) - 1)});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(splitter_pairs_test, TakesWhatFitsScratch) {
  EXPECT_FALSE(splitter_sorter::takes(2048));
  EXPECT_FALSE(splitter_sorter::takes(max_words + 1));
  EXPECT_EQ(splitter_sorter::takes(2049), splitter_sorter::takes(max_words));
  EXPECT_TRUE((splitter_sorter::has_widths<key, value4>));
  EXPECT_FALSE((splitter_sorter::has_widths<key, value8>));
  EXPECT_FALSE((splitter_sorter::has_widths<std::uint64_t, value4>));
}

TEST(packed_pairs_test, PaddedOrNotPairsAreWhereTheirWordsSay) {
  std::mt19937_64 random(test::base_seed());
  for (const std::uint64_t num_pairs : {1, 3, 4, 255, 256, 257, 1000}) {
    std::vector<key> keys(num_pairs);
    std::vector<value4> values(num_pairs);
    std::vector<std::uint32_t> words(num_pairs);
    for (std::uint64_t i = 0; i < num_pairs; ++i) {
      keys[i] = static_cast<key>(random());
      values[i].word = static_cast<std::uint32_t>(random());
      words[i] = static_cast<std::uint32_t>(random() << 10 | random() % num_pairs);
    }
    for (const bool is_padded : {false, true}) {
      std::vector<packed_pair> packed(padded_place(num_pairs));
      pack_pairs(keys.data(), values.data(), num_pairs, packed.data(), is_padded);
      std::vector<key> found(num_pairs);
      std::vector<value4> found_values(num_pairs);
      gather_pairs(words.data(), num_pairs, 10, {packed.data(), is_padded}, found.data(), found_values.data());
      for (std::uint64_t i = 0; i < num_pairs; ++i) {
        const std::uint32_t at = words[i] & 1023;
        ASSERT_EQ(found[i], keys[at]);
        ASSERT_EQ(std::uint32_t{found_values[i].word}, std::uint32_t{values[at].word});
      }
    }
  }
}

}  // namespace
}  // namespace spansort::device::host
