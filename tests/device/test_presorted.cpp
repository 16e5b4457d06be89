// SPDX-License-Identifier: Apache-2.0
// Long ascending runs to which records have been appended, against a stable sort: what of them is sorted alone, when
// the source is overwritten, and what devices make of them.
#include "device/host/presorted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/host_device.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"
#include "support/stable_order.hpp"

namespace spansort::device::host {
namespace {

using test::stable_order;

/// How appended keys lie: among all others, above them, below them, or on a few that the others have, too.
enum class appended : unsigned { among, above, below, ties };
constexpr appended all_appended[] = {appended::among, appended::above, appended::below, appended::ties};

/// Returns `num_front` ascending keys and `num_tail` others in no order.
template <class K>
std::vector<K> make_keys(const keys::codec_of<K>& codec, std::uint64_t num_front, std::uint64_t num_tail, appended how,
                         std::mt19937_64& random) {
  std::vector<K> encoded(num_front + num_tail);
  const K quarter = static_cast<K>(K{1} << (sizeof(K) * 8 - 2));
  for (std::uint64_t i = 0; i < encoded.size(); ++i) {
    K x = static_cast<K>(random());
    if (how == appended::ties) x = static_cast<K>(x % 5 * (quarter / 4));
    if (how == appended::above || how == appended::below) {
      const bool is_high = (i < num_front) == (how == appended::below);
      x = static_cast<K>(x % quarter + (is_high ? 2 * quarter : 0));
    }
    encoded[i] = x;
  }
  const auto front_end = encoded.begin() + static_cast<std::ptrdiff_t>(num_front);
  std::sort(encoded.begin(), front_end);
  // Nothing appended goes on with the run, unless nothing is below its end.
  if (num_tail != 0 && how != appended::above) encoded[num_front] = 0;
  for (K& x : encoded) x = codec.decode(x);
  return encoded;
}

/// A sort of pairs in two pairs of arrays.
template <class K>
struct arrays {
  std::vector<K> keys[2];
  std::vector<value4> values[2];

  explicit arrays(const std::vector<K>& given)
      : keys{given, std::vector<K>(given.size())},
        values{std::vector<value4>(given.size()), std::vector<value4>(given.size())} {
    for (std::uint32_t i = 0; i < given.size(); ++i) values[0][i].word = i;
  }
  [[nodiscard]] split_records<K, value4> of(unsigned which) { return {keys[which].data(), values[which].data()}; }
  void expect(unsigned which, const std::vector<K>& given, const std::vector<std::uint64_t>& order) const {
    for (std::uint64_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(keys[which][i], given[order[i]]) << "key " << i;
      ASSERT_EQ(values[which][i].word, order[i]) << "value " << i;
    }
  }
};

template <class K>
void expect_merges(unsigned num_threads, std::uint64_t num_front, std::uint64_t num_tail, appended how,
                   std::mt19937_64& random) {
  using order_type = bijective_order<K>;
  const auto codec =
      keys::key_codec{sizeof(K) == 4 ? key_type::i32 : key_type::i64, true, keys::tie_rule::by_bits}.of<K>();
  const std::vector<K> given = make_keys(codec, num_front, num_tail, how, random);
  const std::vector<std::uint64_t> expected = stable_order(codec, given);
  const std::uint64_t n = given.size();
  // What is above the run goes on with it as far as it ascends.
  std::uint64_t front = 1;
  while (front < n && codec.encode(given[front - 1]) <= codec.encode(given[front])) ++front;
  workers team(num_threads, -1);
  for (const unsigned to : {0U, 1U}) {
    arrays<K> data(given);
    sort_call<K, value4, order_type> call{team, order_type(codec), codec, {.piece_keys = 50}, {nullptr, nullptr}};
    call.whole_result = data.of(to);
    std::uint64_t num_sorted = 0;
    const bool merged = presorted_records<K, value4, order_type>(call, data.of(0), data.of(1), data.of(to), n)
                            .merge_runs(in_pieces{team, 50}, [&](auto tail, auto other, std::uint64_t count) {
                              EXPECT_EQ(data.keys[0], given) << "the source is not whole";
                              num_sorted = count;
                              const std::vector<K> alone(tail.keys, tail.keys + count);
                              const std::vector<value4> values(tail.values, tail.values + count);
                              std::fill_n(other.keys, count, K{77});
                              const std::vector<std::uint64_t> order = stable_order(codec, alone);
                              for (std::uint64_t i = 0; i < count; ++i)
                                tail.put(i, {alone[order[i]], values[order[i]]});
                            });
    ASSERT_EQ(merged, n - front <= n / 4);
    ASSERT_EQ(num_sorted, merged ? n - front : 0);
    if (merged) {
      ASSERT_NO_FATAL_FAILURE(data.expect(to, given, expected));
    } else {
      ASSERT_EQ(data.keys[0], given);
    }
  }
}

TEST(Presorted, WhatIsAppendedToALongRunIsSortedAlone) {
  std::mt19937_64 random(test::base_seed());
  for (const unsigned num_threads : {1U, 2U, 3U}) {
    for (const std::uint64_t num_tail : {20U, 100U, 208U, 209U, 1249U, 1250U, 1251U}) {
      for (const appended how : all_appended) {
        const std::string at = std::to_string(num_threads) + ' ' + std::to_string(num_tail);
        ASSERT_NO_FATAL_FAILURE(expect_merges<std::uint32_t>(num_threads, 5000 - num_tail, num_tail, how, random))
            << at;
        ASSERT_NO_FATAL_FAILURE(expect_merges<std::uint64_t>(num_threads, 5000 - num_tail, num_tail, how, random))
            << at;
      }
    }
  }
}

/// Sorts keys alone, or pairs, among whose floats zeros of both signs and NaN tie then.
template <class K>
void expect_device_sorts(key_type type, bool descends, unsigned value_bytes, unsigned num_threads,
                         std::uint64_t num_tail, bool result_in_alternate, std::mt19937_64& random) {
  constexpr std::uint64_t n = 200'000;
  const keys::key_codec codec{type, descends,
                              value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order};
  const auto of_width = codec.of<K>();
  std::vector<K> given = make_keys(of_width, n - num_tail, num_tail, all_appended[random() % 4], random);
  const std::vector<std::uint64_t> order = stable_order(of_width, given);
  const auto device = make_host_device({.num_threads = num_threads});
  device->prepare();
  const unsigned to = result_in_alternate ? 1 : 0;
  arrays<K> data(given);
  const bool has_values = value_bytes != 0;
  const auto queue = device->make_queue();
  queue->local_sort({.shape = {codec, value_bytes},
                     .source = {data.keys[0].data(), has_values ? data.values[0].data() : nullptr},
                     .alternate = {data.keys[1].data(), has_values ? data.values[1].data() : nullptr},
                     .result_in_alternate = result_in_alternate,
                     .segments = {{0, n, {0, sizeof(K) * 8}}}});
  queue->synchronize();
  for (std::uint64_t i = 0; i < n; ++i) {
    ASSERT_EQ(data.keys[to][i], given[order[i]]) << i;
    if (has_values) {
      ASSERT_EQ(data.values[to][i].word, order[i]) << i;
    }
  }
}

TEST(Presorted, DevicesSortWhatIsAppended) {
  std::mt19937_64 random(test::base_seed());
  constexpr std::uint64_t tails[] = {1, 2000, 30'000, 50'000};
  for (const unsigned num_threads : {1U, 2U, 4U}) {
    const std::uint64_t some = test::num_cases(40);
    for (std::uint64_t i = 0; i < some; ++i) {
      const std::uint64_t way = random();
      const auto expect = [&]<class K>(key_type type) {
        ASSERT_NO_FATAL_FAILURE(
            expect_device_sorts<K>(type, (way & 1) != 0, way & 4, num_threads, tails[i % 4], (way & 2) != 0, random))
            << num_threads << ' ' << i;
      };
      if ((i + num_threads) % 3 == 0) expect.operator()<std::uint32_t>(key_type::f32);
      if ((i + num_threads) % 3 == 1) expect.operator()<std::uint64_t>(key_type::u64);
      if ((i + num_threads) % 3 == 2) expect.operator()<std::uint64_t>(key_type::f64);
      if (HasFatalFailure()) return;
    }
  }
}

/// A sort that is to stop leaves what it was given, and has done nothing in vain.
TEST(Presorted, IsLeftWhereTheSortIsToStop) {
  std::mt19937_64 random(test::base_seed());
  const std::vector<std::uint64_t> given =
      make_keys(keys::codec_of<std::uint64_t>{}, 180'000, 20'000, appended::among, random);
  std::vector<std::uint64_t> keys = given;
  std::vector<std::uint64_t> alternate(given.size());
  const auto on = make_host_device({.num_threads = 2});
  on->prepare();
  const auto work = on->make_queue();
  monitor watch;
  watch.stop_requested = true;
  work->set_monitor(&watch);
  work->local_sort({.shape = {{.type = key_type::u64}, 0},
                    .source = {keys.data(), nullptr},
                    .alternate = {alternate.data(), nullptr},
                    .segments = {{0, keys.size(), {0, 64}}}});
  EXPECT_THROW(work->synchronize(), cancelled);
  EXPECT_EQ(keys, given);
  EXPECT_EQ(std::ranges::count(alternate, 0U), static_cast<std::ptrdiff_t>(given.size()));
}

}  // namespace
}  // namespace spansort::device::host
