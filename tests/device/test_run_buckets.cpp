// SPDX-License-Identifier: Apache-2.0
// Buckets that are copied together from ascending runs, against a stable sort: no bucket is larger than it may be,
// whatever keys tie, and sorted each by itself, stably, they are the whole in order.
#include "device/host/run_buckets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/host/host_device.hpp"
#include "support/environment.hpp"
#include "support/stable_order.hpp"

namespace spansort::device::host {
namespace {

using test::stable_order;

/// Returns ascending runs of keys of which one in `one_in` is one of a few values.
template <class K>
std::vector<K> make_runs(const keys::codec_of<K>& codec, const std::vector<std::uint64_t>& ends,
                         std::uint64_t num_values, unsigned one_in, std::mt19937_64& random) {
  std::vector<K> keys(ends.back());
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = keys.begin() + static_cast<std::ptrdiff_t>(end);
    for (auto key = first; key != last; ++key) {
      const bool is_of_few = random() % one_in == 0;
      *key = static_cast<K>(is_of_few ? (random() % num_values) << 27 : random());
    }
    std::sort(first, last);
    if (begin != 0) *first = 0;  // below the last one, unless that is 0
    for (auto key = first; key != last; ++key) *key = codec.decode(*key);
    begin = end;
  }
  return keys;
}

/// Returns where so many runs end: as long each, or any, of which the first one is long enough to be seen.
std::vector<std::uint64_t> make_ends(std::uint64_t num_keys, std::uint64_t num_runs, bool alike,
                                     std::mt19937_64& random) {
  std::vector<std::uint64_t> ends(num_runs);
  for (std::uint64_t r = 0; r < num_runs; ++r)
    ends[r] = alike ? num_keys * (r + 1) / num_runs : 40 + random() % (num_keys - 40);
  std::sort(ends.begin(), ends.end());
  ends.back() = num_keys;
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

template <class K>
std::uint64_t count_runs(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  std::uint64_t count = 1;
  for (std::uint64_t i = 1; i < keys.size(); ++i) count += codec.encode(keys[i]) < codec.encode(keys[i - 1]) ? 1 : 0;
  return count;
}

/// Pairs whose values are their places, room for as many, and what a stable sort makes of them.
template <class K>
struct pairs_in_runs {
  using split = split_records<K, value4>;

  keys::codec_of<K> codec;
  std::vector<K> given;
  std::vector<std::uint64_t> order;
  std::vector<K> keys[2];
  std::vector<value4> values[2];

  pairs_in_runs(const keys::codec_of<K>& of, std::vector<K> from)
      : codec(of),
        given(std::move(from)),
        order(stable_order(codec, given)),
        keys{given, std::vector<K>(given.size())},
        values{std::vector<value4>(given.size()), std::vector<value4>(given.size())} {
    for (std::uint32_t i = 0; i < given.size(); ++i) values[0][i].word = i;
  }
  [[nodiscard]] split of(unsigned which) { return {keys[which].data(), values[which].data()}; }
  void expect_order(unsigned which) const {
    for (std::uint64_t i = 0; i < given.size(); ++i) ASSERT_EQ(values[which][i].word, order[i]) << i;
  }
  void expect_sorted(unsigned which) const {
    ASSERT_NO_FATAL_FAILURE(expect_order(which));
    for (std::uint64_t i = 0; i < given.size(); ++i) ASSERT_EQ(keys[which][i], given[order[i]]) << i;
  }
};

/// Sorts samples by key, stably, where they are.
constexpr auto sort_samples = [](auto sample, auto, std::uint64_t count) {
  std::vector<std::uint64_t> by_key(count);
  std::iota(by_key.begin(), by_key.end(), std::uint64_t{0});
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](std::uint64_t left, std::uint64_t right) { return sample.keys[left] < sample.keys[right]; });
  const std::vector<std::decay_t<decltype(sample.keys[0])>> found(sample.keys, sample.keys + count);
  const std::vector<value4> of_runs(sample.values, sample.values + count);
  for (std::uint64_t i = 0; i < count; ++i) sample.put(i, {found[by_key[i]], of_runs[by_key[i]]});
};

/// Merges all levels of buckets at once: of records, and of keys alone to indices.
template <class K, class Runs>
void expect_merges(const Runs& runs, pairs_in_runs<K>& data) {
  std::atomic<std::uint64_t> num_done{0};
  runs.template merge<merge_form::records, merge_form::records>(data.of(0), data.of(1), {nullptr, nullptr}, false,
                                                                [&](const sort_segment& b) { num_done += b.count; });
  ASSERT_EQ(num_done, data.given.size());
  ASSERT_NO_FATAL_FAILURE(data.expect_sorted(1));
  std::ranges::fill(data.values[1], value4{});
  runs.template merge<merge_form::keys_to_records, merge_form::records_to_values>(
      {data.keys[0].data(), nullptr}, {nullptr, data.values[1].data()}, {nullptr, nullptr}, false, [](const auto&) {});
  ASSERT_NO_FATAL_FAILURE(data.expect_order(1));
}

/// Expects the records of each bucket together, in order but within the bucket, and none larger.
template <class K, class Runs>
void expect_gathers(const Runs& runs, pairs_in_runs<K>& data, std::uint64_t most_records) {
  runs.gather(data.of(0), data.of(1), {nullptr, nullptr}, false);
  ASSERT_EQ(data.keys[0], data.given);
  std::uint64_t end = 0;
  for (const sort_segment& b : runs.buckets()) {
    ASSERT_EQ(b.begin, end);
    ASSERT_LE(b.count, most_records);
    end += b.count;
    std::vector<std::uint32_t> sorted(b.count);
    for (std::uint64_t i = 0; i < b.count; ++i) {
      sorted[i] = data.values[1][b.begin + i].word;
      ASSERT_EQ(data.keys[1][b.begin + i], data.given[sorted[i]]);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t left, std::uint32_t right) {
      return data.codec.encode(data.given[left]) < data.codec.encode(data.given[right]);
    });
    for (std::uint64_t i = 0; i < b.count; ++i) ASSERT_EQ(sorted[i], data.order[b.begin + i]) << b.begin << ' ' << i;
  }
  ASSERT_EQ(end, data.given.size());
}

template <class K>
void expect_buckets(workers& team, bool descends, const std::vector<std::uint64_t>& ends, std::uint64_t num_values,
                    std::mt19937_64& random) {
  using order_type = bijective_order<K>;
  constexpr std::uint64_t most_records = 2048;
  constexpr std::uint64_t most_runs = most_records / 64;
  const key_type type = sizeof(K) == 4 ? key_type::i32 : key_type::i64;
  const auto codec = keys::key_codec{type, descends, keys::tie_rule::by_bits}.template of<K>();
  pairs_in_runs<K> data(codec, make_runs(codec, ends, num_values, 3, random));
  const std::uint64_t n = data.given.size();
  const sort_limits limits{.bucket_bytes = most_records * (sizeof(K) + 4), .piece_keys = 1000};
  run_buckets<K, value4, order_type> runs(team, order_type(codec), codec, limits);
  const bool chosen = runs.choose(data.keys[0].data(), data.keys[1].data(), n, sort_samples);
  const std::uint64_t num_runs = count_runs(codec, data.given);
  ASSERT_EQ(chosen, num_runs > 1 && num_runs <= most_runs && n >= 16 * most_records) << num_runs;
  ASSERT_EQ(data.keys[0], data.given);
  if (!chosen) return;
  const bool are_worth_merging = sizeof(K) > 4 || n >= 16 * most_records * team.num_threads();
  ASSERT_EQ(runs.merges(), num_runs <= most_bucket_runs && are_worth_merging);
  if (runs.merges() && num_runs > 2) {
    ASSERT_NO_FATAL_FAILURE(expect_merges(runs, data));
  }
  ASSERT_NO_FATAL_FAILURE(expect_gathers(runs, data, runs.merges() ? 4 * most_records : most_records));
  if (!runs.merges()) return;
  std::atomic<std::uint64_t> num_done{0};
  runs.merge_gathered(data.of(1), data.of(0), {nullptr, nullptr}, [&](const sort_segment& b) { num_done += b.count; });
  ASSERT_EQ(num_done, n);
  ASSERT_NO_FATAL_FAILURE(data.expect_sorted(0));
}

TEST(RunBuckets, AreInOrderAndNoneIsTooLarge) {
  std::mt19937_64 random(test::base_seed());
  for (const unsigned num_threads : {1U, 3U}) {
    workers team(num_threads, -1);
    team.prepare_scratch();
    for (const std::uint64_t num_runs : {1U, 2U, 3U, 5U, 7U, 8U, 9U, 32U, 33U, 40U}) {
      for (const std::uint64_t num_keys : {32'767U, 32'768U, 60'001U}) {
        const auto ends = make_ends(num_keys, num_runs, random() % 2 == 0, random);
        const std::uint64_t num_values = std::array{1, 5, 31}[random() % 3];
        const std::string at = std::to_string(num_runs) + ' ' + std::to_string(num_keys);
        ASSERT_NO_FATAL_FAILURE(expect_buckets<std::uint32_t>(team, random() % 2 == 0, ends, num_values, random)) << at;
        ASSERT_NO_FATAL_FAILURE(expect_buckets<std::uint64_t>(team, random() % 2 == 0, ends, num_values, random)) << at;
      }
    }
  }
}

/// Counts of values take less time than buckets do.
TEST(RunBuckets, AreNotMadeOfFewValues) {
  std::mt19937_64 random(test::base_seed());
  workers team(2, -1);
  const keys::codec_of<std::uint64_t> codec{};
  std::vector<std::uint64_t> keys = make_runs(codec, make_ends(300'000, 9, true, random), 16, 1, random);
  std::vector<std::uint64_t> other(keys.size());
  using order_type = bijective_order<std::uint64_t>;
  run_buckets<std::uint64_t, no_value, order_type> runs(team, order_type(codec), codec, {});
  EXPECT_FALSE(runs.choose(keys.data(), other.data(), keys.size(), [](auto sample, auto, std::uint64_t count) {
    std::sort(sample.keys, sample.keys + count);
  }));
}

/// Floats among which zeros of both signs and NaN tie where they have values, in both directions, on devices.
template <class K>
void expect_device_sorts(key_type type, bool descends, unsigned value_bytes, unsigned num_threads,
                         bool result_in_alternate, std::mt19937_64& random) {
  constexpr std::uint64_t n = 600'000;
  const keys::key_codec codec{type, descends,
                              value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order};
  const auto of_width = codec.of<K>();
  std::vector<K> given =
      make_runs(of_width, make_ends(n, 5 + random() % 60, true, random), 3, 1 + random() % 4, random);
  ASSERT_LE(count_runs(of_width, given), 64U);
  const std::vector<std::uint64_t> order = stable_order(of_width, given);
  const auto device = make_host_device({.num_threads = num_threads});
  device->prepare();
  const unsigned to = result_in_alternate ? 1 : 0;
  std::vector<K> keys[2] = {given, std::vector<K>(n)};
  std::vector<value4> values[2] = {std::vector<value4>(n), std::vector<value4>(n)};
  for (std::uint32_t i = 0; i < n; ++i) values[0][i].word = i;
  const bool has_values = value_bytes != 0;
  const auto queue = device->make_queue();
  local_sort_outcome outcome;
  queue->local_sort({.shape = {codec, value_bytes},
                     .source = {keys[0].data(), has_values ? values[0].data() : nullptr},
                     .alternate = {keys[1].data(), has_values ? values[1].data() : nullptr},
                     .result_in_alternate = result_in_alternate,
                     .segments = {{0, n, {0, sizeof(K) * 8}}},
                     .outcome = &outcome});
  queue->synchronize();
  for (std::uint64_t i = 0; i < n; ++i) {
    ASSERT_EQ(keys[to][i], given[order[i]]) << i;
    if (has_values) {
      ASSERT_EQ(values[to][i].word, order[i]) << i;
    }
  }
}

TEST(RunBuckets, DevicesSortManyRuns) {
  std::mt19937_64 random(test::base_seed());
  for (const unsigned num_threads : {1U, 2U, 4U}) {
    const std::uint64_t some = test::num_cases(20);
    for (std::uint64_t i = 0; i < some; ++i) {
      const std::uint64_t way = random();
      const auto expect = [&]<class K>(key_type type) {
        ASSERT_NO_FATAL_FAILURE(
            expect_device_sorts<K>(type, (way & 1) != 0, way & 4, num_threads, (way & 2) != 0, random))
            << num_threads << ' ' << i;
      };
      if ((i + num_threads) % 3 == 0) expect.operator()<std::uint32_t>(key_type::f32);
      if ((i + num_threads) % 3 == 1) expect.operator()<std::uint64_t>(key_type::u64);
      if ((i + num_threads) % 3 == 2) expect.operator()<std::uint64_t>(key_type::f64);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace spansort::device::host
