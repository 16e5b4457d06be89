// SPDX-License-Identifier: Apache-2.0
// Orders of keys that are nearly in order, against a stable sort: by the threads and in the memory of the process, and
// without copies, as large arrays are ordered.
#include "device/host/shared_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/host/shared_call.hpp"
#include "device/host/shared_pairs.hpp"
#include "support/environment.hpp"
#include "support/stable_order.hpp"

namespace spansort::device::host {
namespace {

using test::stable_order;

/// How keys lie: in so many runs, in one and a tail of so many, or in order but for so many anywhere.
enum class shape : unsigned { runs, tail, misplaced };

struct layout {
  shape how = shape::runs;
  std::uint64_t num = 1;
  bool is_known = true;  ///< that it is so is found without copies
};

/// Returns keys of which one in so many is one of five, among which floats have zeros of both signs and NaN.
template <class K>
std::vector<K> make_keys(const keys::codec_of<K>& codec, std::uint64_t num_keys, const layout& as, std::uint64_t one_in,
                         std::mt19937_64& random) {
  constexpr auto sign = static_cast<K>(K{1} << (sizeof(K) * 8 - 1));
  const K some[] = {K{0}, sign, static_cast<K>(~sign), static_cast<K>(~K{0}), static_cast<K>(sign >> 1)};
  std::vector<K> keys(num_keys);
  for (K& key : keys) key = random() % one_in == 0 ? some[random() % std::size(some)] : static_cast<K>(random());
  const auto sort = [&](std::uint64_t begin, std::uint64_t end) {
    std::sort(keys.begin() + static_cast<std::ptrdiff_t>(begin), keys.begin() + static_cast<std::ptrdiff_t>(end),
              [&](K left, K right) { return codec.encode(left) < codec.encode(right); });
  };
  if (as.how == shape::runs) {
    for (std::uint64_t r = 0; r < as.num; ++r) sort(num_keys * r / as.num, num_keys * (r + 1) / as.num);
  } else if (as.how == shape::tail) {
    sort(0, num_keys - as.num);
  } else {
    sort(0, num_keys);
    for (std::uint64_t i = 0; i < as.num; ++i) keys[random() % num_keys] = static_cast<K>(random());
  }
  return keys;
}

template <class K, class Index>
void expect_orders(key_type type, bool descends, std::uint64_t num_keys, const layout& as, unsigned num_threads,
                   std::mt19937_64& random) {
  const keys::key_codec codec{type, descends, keys::tie_rule::by_input_order};
  const std::vector<K> keys = make_keys(codec.of<K>(), num_keys, as, random() % 2 == 0 ? 3 : 1000, random);
  const std::vector<std::uint64_t> order = stable_order(codec.of<K>(), keys);
  std::vector<Index> indices(num_keys);
  const auto expect_order = [&](const char* by) {
    for (std::uint64_t i = 0; i < num_keys; ++i) ASSERT_EQ(indices[i], order[i]) << by << ' ' << i;
  };
  ASSERT_TRUE(argsort_shared(codec, keys.data(), indices.data(), sizeof(Index), num_keys, num_threads));
  ASSERT_NO_FATAL_FAILURE(expect_order("shared"));
  std::ranges::fill(indices, Index{7});
  const bool is_known =
      argsort_presorted_shared(codec, keys.data(), indices.data(), sizeof(Index), num_keys, num_threads);
  EXPECT_EQ(is_known, as.is_known);
  if (is_known) {
    ASSERT_NO_FATAL_FAILURE(expect_order("without copies"));
  } else {
    ASSERT_TRUE(std::ranges::all_of(indices, [](Index i) { return i == 7; }));
  }
  std::vector<K> sorted = keys;
  for (std::uint64_t i = 0; i < num_keys; ++i) indices[i] = static_cast<Index>(i);
  ASSERT_TRUE(sort_shared_pairs(codec, sorted.data(), indices.data(), sizeof(Index), num_keys, num_threads));
  ASSERT_NO_FATAL_FAILURE(expect_order("pairs"));
  for (std::uint64_t i = 0; i < num_keys; ++i) ASSERT_EQ(sorted[i], keys[order[i]]) << i;
}

TEST(SharedOrder, OfKeysThatAreNearlyInOrder) {
  constexpr std::uint64_t num_keys = 300'007;
  constexpr layout all[] = {{shape::runs, 1},
                            {shape::runs, 2},
                            {shape::runs, 3},
                            {shape::runs, 4},
                            {shape::runs, 5},
                            {shape::runs, 8},
                            {shape::runs, 9},
                            {shape::runs, 63},  // a sample in the middle of each of 64 might be of one value
                            {shape::runs, 65, false},
                            {shape::runs, num_keys, false},
                            {shape::tail, 1},
                            {shape::tail, 3000},
                            {shape::tail, num_keys / 24},
                            {shape::tail, num_keys / 5, false},
                            {shape::misplaced, 30}};
  std::mt19937_64 random(test::base_seed());
  const std::uint64_t rounds = test::num_cases(10);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const layout& as : all) {
      SCOPED_TRACE("round " + std::to_string(round) + ", shape " + std::to_string(static_cast<unsigned>(as.how)) + ' ' +
                   std::to_string(as.num));
      const auto num_threads = static_cast<unsigned>(1 + 2 * (random() % 2));
      const bool descends = random() % 2 == 0;
      switch (random() % 4) {
        case 0:
          expect_orders<std::uint32_t, std::uint32_t>(key_type::i32, descends, num_keys, as, num_threads, random);
          break;
        case 1:
          expect_orders<std::uint32_t, std::uint64_t>(key_type::f32, descends, num_keys, as, num_threads, random);
          break;
        case 2:
          expect_orders<std::uint64_t, std::uint32_t>(key_type::f64, descends, num_keys, as, num_threads, random);
          break;
        default:
          expect_orders<std::uint64_t, std::uint64_t>(key_type::u64, descends, num_keys, as, num_threads, random);
      }
      if (HasFatalFailure()) return;
    }
  }
}

/// Misplaced keys make runs, but these are to be found around which others are left where they are.
TEST(SharedOrder, OfMisplacedKeysIsNotOneOfRuns) {
  std::mt19937_64 random(test::base_seed());
  workers team(1, -1);
  const keys::codec_of<std::uint64_t> codec{};
  const auto count = [&](const layout& as) {
    const std::vector<std::uint64_t> keys = make_keys(codec, 300'000, as, 1000, random);
    const ordered_runs runs = find_few_runs<std::uint64_t, value8>(team, codec, keys.data(), keys.size());
    EXPECT_EQ(runs.count, 0U);
    return runs.num_runs;
  };
  EXPECT_EQ(count({shape::runs, 20}), 20U);
  EXPECT_EQ(count({shape::misplaced, 20}), 0U);
}

/// Narrow keys are left to counts.
TEST(SharedOrder, OfNarrowKeysIsNotLookedFor) {
  const std::vector<std::uint16_t> keys(1000);
  std::vector<std::uint32_t> indices(keys.size());
  EXPECT_FALSE(argsort_presorted_shared({key_type::u16}, keys.data(), indices.data(), 4, keys.size(), 1));
}

}  // namespace
}  // namespace spansort::device::host
