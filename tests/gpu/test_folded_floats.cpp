// SPDX-License-Identifier: Apache-2.0
// Sorts of pairs by floats keep the order of -0.0 and 0.0, and of NaNs, whatever their bits; and the histogram notes
// whether there are such keys, as kernels are faster without.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/test_hooks.hpp"
#include "device/cuda/kernels/request.hpp"
#include "gpu/gpu_sort_test.hpp"
#include "keys/dispatch.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

/// Sorts floats with values that are their positions. NaNs tie, and zeros do: they keep their order and their bits.
template <class Float, class Word>
void expect_floats_sorted(sorter& s, const std::vector<Float>& keys, direction d, const std::string& what) {
  static_assert(sizeof(Float) == sizeof(Word));
  const bool ascends = d == direction::ascending;
  std::vector<Word> expected(keys.size());
  std::iota(expected.begin(), expected.end(), Word{0});
  std::ranges::stable_sort(expected, [&](Word a, Word b) {
    const bool is_nan[] = {std::isnan(keys[a]), std::isnan(keys[b])};
    if (is_nan[0] || is_nan[1]) return !is_nan[0];
    return ascends ? keys[a] < keys[b] : keys[b] < keys[a];
  });
  std::vector<Float> sorted = keys;
  std::vector<Word> order(keys.size());
  std::iota(order.begin(), order.end(), Word{0});
  s.sort_pairs(sorted, order, d);
  ASSERT_TRUE(order == expected) << what;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(std::bit_cast<Word>(sorted[i]), std::bit_cast<Word>(keys[expected[i]])) << what << ' ' << i;
  }
}

/// Kernels hold keys in another way where no key is -0.0 or NaN, and one key is enough for the first way.
template <class Float, class Word>
void expect_rare_floats_sorted(sorter& s, std::uint64_t n) {
  constexpr Float nan = std::numeric_limits<Float>::quiet_NaN();
  const auto nan_of = [nan](Word payload) { return std::bit_cast<Float>(std::bit_cast<Word>(nan) | payload); };
  const auto keys_with = [n](std::initializer_list<std::pair<std::uint64_t, Float>> rare) {
    std::vector<Float> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      // Some are 0.0, and half are below.
      keys[i] = static_cast<Float>(static_cast<std::int64_t>(random_word(i) >> 40) - (std::int64_t{1} << 23));
      if (i % 1'000 == 0) keys[i] = 0;
    }
    for (const auto& [place, key] : rare) keys[place] = key;
    return keys;
  };
  for (const direction d : {direction::ascending, direction::descending}) {
    const auto expect_sorted_with = [&](std::initializer_list<std::pair<std::uint64_t, Float>> rare, const char* what) {
      const std::string of = " of " + std::to_string(n) + " keys of " + std::to_string(sizeof(Float)) + " bytes";
      expect_floats_sorted<Float, Word>(s, keys_with(rare), d, what + of);
    };
    ASSERT_NO_FATAL_FAILURE(expect_sorted_with({}, "none"));
    ASSERT_NO_FATAL_FAILURE(expect_sorted_with({{n - 1, static_cast<Float>(-0.0)}}, "-0.0 at the end"));
    ASSERT_NO_FATAL_FAILURE(expect_sorted_with({{0, static_cast<Float>(-0.0)}}, "-0.0 at the beginning"));
    ASSERT_NO_FATAL_FAILURE(expect_sorted_with({{n / 2, nan}}, "NaN"));
    ASSERT_NO_FATAL_FAILURE(expect_sorted_with(
        {{n / 3, nan_of(5)}, {n / 2, static_cast<Float>(-nan_of(9))}, {n - 2, nan_of(1)}}, "NaNs that differ"));
    ASSERT_NO_FATAL_FAILURE(expect_sorted_with({}, "none again"));
  }
}

class gpu_folded_floats_test : public gpu_sort_test, public testing::WithParamInterface<base::gpu_buckets> {};

TEST_P(gpu_folded_floats_test, SortsFloatsOfWhichFewTieInOtherBits) {
  sorter s = reporting_sorter({.buckets = GetParam()});
  for (const std::uint64_t n : {300'011U, 1'100'011U}) {
    ASSERT_NO_FATAL_FAILURE((expect_rare_floats_sorted<double, std::uint64_t>(s, n)));
    ASSERT_NO_FATAL_FAILURE((expect_rare_floats_sorted<float, std::uint32_t>(s, n)));
  }
}

/// Levels are no single launch where blocks cannot meet, and keys that go by buckets are finished behind passes.
TEST_P(gpu_folded_floats_test, SortsFloatsOfWhichFewTieWhereBlocksCannotMeet) {
  const base::test_hooks_scope hooks({.blocks_cannot_meet = true});
  sorter s = reporting_sorter({.buckets = GetParam()});
  ASSERT_NO_FATAL_FAILURE((expect_rare_floats_sorted<double, std::uint64_t>(s, 2'500'011)));
}

class gpu_folding_note_test : public gpu_test {
 protected:
  /// Returns what the histogram of the lowest digit notes for keys as pairs have them.
  static std::uint32_t note_of(key_type type, const void* keys, std::uint64_t num_keys) {
    namespace cuda = device::cuda;
    const std::uint64_t size_in_bytes = num_keys * size_bytes(type);
    shard_memory copied("gpu:0", size_in_bytes);
    copied.write({static_cast<const std::byte*>(keys), size_in_bytes});
    constexpr std::uint64_t counts_bytes = 256 * sizeof(std::uint64_t);
    shard_memory counts("gpu:0", counts_bytes);
    counts.write(std::vector<std::byte>(counts_bytes));
    shard_memory note("gpu:0", sizeof(std::uint32_t));
    note.write(std::vector<std::byte>(sizeof(std::uint32_t)));
    const keys::key_codec codec{type, false, keys::tie_rule::by_input_order};
    const keys::digit_position digit{0, 8};
    keys::with_width(codec.width_bytes(), [&]<class K>() {
      cuda::launch_histogram<K>(cuda::make_launch_site(nullptr), codec.of<K>(), copied.data(), num_keys, &digit, 1,
                                static_cast<std::uint64_t*>(counts.data()), nullptr, {},
                                static_cast<std::uint32_t*>(note.data()));
    });
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::uint32_t noted = 0;
    std::memcpy(&noted, note.read(sizeof(noted)).data(), sizeof(noted));
    return noted;
  }

  template <class Float, class Word>
  static void expect_notes(key_type type) {
    constexpr std::uint64_t n = 1'000'003;
    constexpr auto sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
    const auto infinity = std::bit_cast<Word>(std::numeric_limits<Float>::infinity());
    std::vector<Word> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = std::bit_cast<Word>(static_cast<Float>(1 + i % 1'000));
    keys[17] = 0;
    keys[18] = infinity;
    keys[19] = static_cast<Word>(infinity | sign);
    EXPECT_EQ(note_of(type, keys.data(), n), 0U) << name(type);
    for (const std::uint64_t place : {std::uint64_t{0}, n / 2, n - 1}) {
      for (const Word rare : {sign, static_cast<Word>(infinity + 5), static_cast<Word>((infinity + 1) | sign)}) {
        const Word before = std::exchange(keys[place], rare);
        EXPECT_EQ(note_of(type, keys.data(), n), 1U) << name(type) << ' ' << rare << " at " << place;
        keys[place] = before;
      }
    }
  }
};

TEST_F(gpu_folding_note_test, TellsWhetherFoldingChangesAnyKey) {
  ASSERT_NO_FATAL_FAILURE((expect_notes<double, std::uint64_t>(key_type::f64)));
  ASSERT_NO_FATAL_FAILURE((expect_notes<float, std::uint32_t>(key_type::f32)));
}

INSTANTIATE_TEST_SUITE_P(All, gpu_folded_floats_test,
                         testing::Values(base::gpu_buckets::by_size, base::gpu_buckets::where_even,
                                         base::gpu_buckets::always, base::gpu_buckets::never,
                                         base::gpu_buckets::by_spread, base::gpu_buckets::by_wide_spread),
                         [](const auto& param) { return buckets_name(param.param); });

}  // namespace
}  // namespace spansort::test
