// SPDX-License-Identifier: Apache-2.0
// Values of pairs of a few keys and of heavy keys are moved by way of the scratch and copied back past the caches here,
// however few they are. The arrays begin nowhere in particular and have a red zone at each end.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "device/host/host_device.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr std::uint64_t num_before = 3;
constexpr std::uint64_t num_behind = 61;

template <class T>
std::vector<T> with_red_zones(std::vector<T> of) {
  constexpr T red_zone = static_cast<T>(0xDEADBEEF);
  of.insert(of.begin(), num_before, red_zone);
  of.insert(of.end(), num_behind, red_zone);
  return of;
}

template <class K, class V>
struct widths {
  using key = K;
  using value = V;
};

template <class W>
class streamed_pairs_test : public testing::Test {};
using all_widths = testing::Types<widths<std::uint32_t, std::uint32_t>, widths<std::uint32_t, std::uint64_t>,
                                  widths<std::uint64_t, std::uint32_t>, widths<std::uint64_t, std::uint64_t>>;
TYPED_TEST_SUITE(streamed_pairs_test, all_widths);

/// One of `num_values` keys, or with `others` every eighth time any.
template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, std::uint64_t num_values, bool others, std::mt19937_64& random) {
  std::vector<K> keys(num_keys);
  for (K& key : keys) {
    const std::uint64_t any = random();
    key = others && any % 8 == 0 ? static_cast<K>(random()) : static_cast<K>((any >> 8) % num_values * 0x7654321U);
  }
  return keys;
}

TYPED_TEST(streamed_pairs_test, AreWhatAStableSortMakesThem) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  const tbb::global_control more_than_processors(tbb::global_control::max_allowed_parallelism, 3);
  std::mt19937_64 random(test::base_seed());
  const keys::key_codec codec{.type = sizeof(K) == 4 ? key_type::u32 : key_type::u64, .descending = false};
  for (const unsigned num_threads : {1U, 3U}) {
    const auto on = make_host_device({.num_threads = num_threads,
                                      .limits = {.inline_keys = 10,
                                                 .word_inline_keys = 0,
                                                 .vector_alone_keys = 0,
                                                 .piece_keys = 2048,
                                                 .stream_bytes = 1,
                                                 .stream_copies_bytes = 1}});
    on->prepare();
    const auto work = on->make_queue();
    for (const std::uint64_t num_values : {1, 2, 3, 16}) {
      for (const bool others : {false, true}) {
        for (const std::uint64_t num_keys : {std::uint64_t{4096}, std::uint64_t{70'001}}) {
          SCOPED_TRACE(testing::Message() << "seed " << test::base_seed() << ", " << num_threads << " threads, "
                                          << num_values << " values, others " << others << ", " << num_keys);
          std::vector<K> keys = make_keys<K>(num_keys, num_values, others, random);
          std::vector<V> order(num_keys);
          std::iota(order.begin(), order.end(), V{0});
          std::vector<V> values = with_red_zones(order);
          std::stable_sort(order.begin(), order.end(), [&](V l, V r) { return keys[l] < keys[r]; });
          std::vector<K> sorted(num_keys);
          std::transform(order.begin(), order.end(), sorted.begin(), [&](V i) { return keys[i]; });
          keys = with_red_zones(std::move(keys));
          std::vector<K> other_keys = with_red_zones(std::vector<K>(num_keys));
          std::vector<V> other_values = with_red_zones(std::vector<V>(num_keys));
          work->local_sort({.shape = {codec, sizeof(V)},
                            .source = {keys.data() + num_before, values.data() + num_before},
                            .alternate = {other_keys.data() + num_before, other_values.data() + num_before},
                            .segments = {{0, num_keys, {0, sizeof(K) * 8}}}});
          work->synchronize();
          ASSERT_EQ(keys, with_red_zones(sorted));
          ASSERT_EQ(values, with_red_zones(order));
          const auto is_whole = [](const auto& array) {
            using T = typename std::remove_cvref_t<decltype(array)>::value_type;
            const auto untouched = with_red_zones(std::vector<T>());
            return std::equal(array.begin(), array.begin() + num_before, untouched.begin()) &&
                   std::equal(array.end() - num_behind, array.end(), untouched.begin() + num_before);
          };
          ASSERT_TRUE(is_whole(other_keys) && is_whole(other_values));
        }
      }
    }
  }
}

}  // namespace
}  // namespace spansort::device::host
