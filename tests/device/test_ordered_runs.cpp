// SPDX-License-Identifier: Apache-2.0
// Inputs of a few ascending runs against a stable sort, by all that look for runs: merges of one thread and of several,
// in pieces of fifty records, whose runs are long, short, of one key, apart, or alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/host_device.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/shared_order.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/shared_sort.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/small_sort.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"
#include "support/stable_order.hpp"

namespace spansort::device::host {
namespace {

using test::stable_order;

/// How runs lie: any keys, few of them so that most tie, each run above or below the one before, one key far away, or
/// keys that are zeros of both signs and their neighbours where they are floats.
enum class kind : unsigned { any, ties, apart, backwards, one_astray, zeros };
constexpr kind all_kinds[] = {kind::any, kind::ties, kind::apart, kind::backwards, kind::one_astray, kind::zeros};
constexpr unsigned num_kinds = std::size(all_kinds);

/// Returns keys of which each part up to one of `ends` ascends.
template <class K>
std::vector<K> make_runs(const keys::codec_of<K>& codec, const std::vector<std::uint64_t>& ends, kind what,
                         std::mt19937_64& random) {
  std::vector<K> keys(ends.back());
  std::uint64_t begin = 0;
  for (std::uint64_t r = 0; r < ends.size(); ++r) {
    for (std::uint64_t i = begin; i < ends[r]; ++i) {
      K encoded = static_cast<K>(random());
      if (what == kind::ties) encoded = static_cast<K>((encoded % 7) << (sizeof(K) * 8 - 3));
      const auto place = static_cast<K>(what == kind::apart ? r : 7 - r);
      if (what == kind::apart || what == kind::backwards) {
        encoded = static_cast<K>(encoded >> 3 | place << (sizeof(K) * 8 - 3));
      }
      keys[i] = codec.decode(encoded);
      if (what == kind::zeros) keys[i] = static_cast<K>(random() % 2 << (sizeof(K) * 8 - 1) | random() % 2);
    }
    std::sort(keys.begin() + static_cast<std::ptrdiff_t>(begin), keys.begin() + static_cast<std::ptrdiff_t>(ends[r]),
              [&](K a, K b) { return codec.encode(a) < codec.encode(b); });
    if (what == kind::one_astray && r != 0 && begin < ends[r]) keys[begin] = codec.decode(static_cast<K>(3));
    begin = ends[r];
  }
  return keys;
}

/// Returns where so many runs of `num_keys` keys end: equal ones, any, or a long one and keys alone.
std::vector<std::uint64_t> make_ends(std::uint64_t num_keys, unsigned num_runs, std::mt19937_64& random) {
  num_runs = static_cast<unsigned>(std::min<std::uint64_t>(num_runs, num_keys));
  std::vector<std::uint64_t> ends(num_runs);
  const std::uint64_t way = random() % 3;
  for (unsigned r = 0; r < num_runs; ++r) {
    if (way == 0) ends[r] = num_keys * (r + 1) / num_runs;
    if (way == 1) ends[r] = 1 + random() % num_keys;
    if (way == 2) ends[r] = num_keys - num_runs + r + 1;
  }
  std::sort(ends.begin(), ends.end());
  ends.back() = num_keys;
  return ends;
}

template <class K>
ordered_runs runs_of(const keys::codec_of<K>& codec, const std::vector<K>& keys,
                     unsigned most_runs = most_ordered_runs) {
  ordered_runs runs;
  for (std::uint64_t i = 1; i <= keys.size(); ++i) {
    if (i < keys.size() && codec.encode(keys[i - 1]) <= codec.encode(keys[i])) continue;
    if (runs.count == most_runs) return {};
    runs.append(i);
  }
  return runs;
}

template <class K>
unsigned count_runs(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  unsigned count = 1;
  for (std::uint64_t i = 1; i < keys.size(); ++i) count += codec.encode(keys[i]) < codec.encode(keys[i - 1]) ? 1U : 0U;
  return count;
}

void expect_same(const ordered_runs& found, const ordered_runs& expected) {
  ASSERT_EQ(found.count, expected.count);
  for (unsigned r = 0; r <= expected.count; ++r) ASSERT_EQ(found.begins[r], expected.begins[r]) << r;
}

TEST(OrderedRuns, AreFoundByOneThreadAndBySeveral) {
  std::mt19937_64 random(test::base_seed());
  workers team(3, -1);
  const keys::key_codec codec{key_type::i32, true, keys::tie_rule::by_bits};
  const auto of_width = codec.of<std::uint32_t>();
  for (const std::uint64_t num_keys : {1U, 2U, 3U, 49U, 50U, 51U, 1000U, 5003U}) {
    for (unsigned round = 0; round < 60; ++round) {
      const auto keys =
          make_runs(of_width, make_ends(num_keys, 1 + round / 4 % 6, random), all_kinds[round % num_kinds], random);
      const auto most = static_cast<unsigned>(1 + random() % most_ordered_runs);
      const ordered_runs expected = runs_of(of_width, keys, most);
      ASSERT_NO_FATAL_FAILURE(expect_same(find_runs(as_one_piece{}, of_width, keys.data(), num_keys, most), expected))
          << num_keys;
      ASSERT_NO_FATAL_FAILURE(
          expect_same(find_runs(in_pieces{team, 50}, of_width, keys.data(), num_keys, most), expected))
          << num_keys << " in pieces";
      const auto counted = static_cast<unsigned>(1 + random() % most_counted_runs);
      const unsigned num_runs = count_runs(of_width, keys);
      const ordered_runs found = find_runs(in_pieces{team, 50}, of_width, keys.data(), num_keys, most, counted);
      ASSERT_NO_FATAL_FAILURE(expect_same(found, expected)) << num_keys << " counted";
      ASSERT_EQ(found.num_runs, num_runs <= std::max(most, counted) ? num_runs : 0) << num_keys;
    }
  }
}

/// Many runs of a few keys each are not counted, wherever they lie in a long one.
TEST(OrderedRuns, AreNotCountedWhereTheyCrowd) {
  const keys::codec_of<std::uint64_t> codec{};
  const auto count = [&](std::uint64_t num_falls, std::uint64_t step) {
    std::vector<std::uint64_t> keys(20'000);
    std::iota(keys.begin(), keys.end(), std::uint64_t{0});
    for (std::uint64_t i = 1; i <= num_falls; ++i) keys[5000 + i * step] = 0;
    return find_runs(as_one_piece{}, codec, keys.data(), keys.size(), 4, most_counted_runs).num_runs;
  };
  EXPECT_EQ(count(7, 3), 8U);
  EXPECT_EQ(count(8, 3), 0U);
  EXPECT_EQ(count(8, 100), 9U);
}

/// Merges runs in place, into the array beside, and their order, and counts how often all records were moved.
template <class K, class V, class Each>
void expect_merges(const keys::codec_of<K>& codec, const std::vector<K>& given, const Each& each) {
  const std::uint64_t n = given.size();
  const ordered_runs runs = runs_of(codec, given);
  ASSERT_GE(runs.count, 2U);
  const std::vector<std::uint64_t> order = stable_order(codec, given);
  for (const bool in_place : {true, false}) {
    std::vector<K> keys = given;
    std::vector<K> other_keys(n);
    std::vector<V> values(n);
    std::vector<V> other_values(n);
    for (std::uint64_t i = 0; i < n; ++i) std::memcpy(static_cast<void*>(&values[i]), &i, 4);
    const split_records<K, V> source{keys.data(), values.data()};
    const split_records<K, V> alternate{other_keys.data(), other_values.data()};
    bool was_asked = false;
    const unsigned moves = merge_runs(codec, each, source, alternate, in_place ? source : alternate, runs, [&] {
      was_asked = true;
      ASSERT_EQ(keys, given) << "what may still be wanted was overwritten";
    });
    EXPECT_EQ(moves, in_place ? 2U : runs.count == 2 ? 1U : 3U);
    EXPECT_EQ(was_asked, moves > 1);
    const split_records<K, V> result = in_place ? source : alternate;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint32_t value = 0;
      std::memcpy(&value, result.values + i, 4);
      ASSERT_EQ(value, order[i]) << "value " << i;
      ASSERT_EQ(result.keys[i], given[order[i]]) << "key " << i;
    }
  }
  std::vector<K> spare_keys(n);
  std::vector<V> spare_values(n);
  std::vector<V> indices(n);
  order_runs(codec, each, given.data(), {spare_keys.data(), spare_values.data()}, indices.data(), runs);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(indices[i].word, order[i]) << "index " << i;
}

TEST(OrderedRuns, AreMergedStably) {
  std::mt19937_64 random(test::base_seed());
  workers team(3, -1);
  const keys::key_codec by_bits{key_type::i32, false, keys::tie_rule::by_bits};
  for (const std::uint64_t num_keys : {2U, 5U, 63U, 64U, 200U, 1024U, 7001U}) {
    for (unsigned round = 0; round < 60; ++round) {
      SCOPED_TRACE(std::to_string(num_keys) + " keys, round " + std::to_string(round));
      const kind what = all_kinds[round % num_kinds];
      const std::vector<std::uint64_t> ends = make_ends(num_keys, 2 + round / num_kinds % 3, random);
      const keys::key_codec by_order{key_type::f64, round / num_kinds % 2 == 1, keys::tie_rule::by_input_order};
      const auto floats = make_runs(by_order.of<std::uint64_t>(), ends, what, random);
      if (runs_of(by_order.of<std::uint64_t>(), floats).count >= 2) {
        expect_merges<std::uint64_t, value8>(by_order.of<std::uint64_t>(), floats, in_pieces{team, 50});
      }
      const auto numbers = make_runs(by_bits.of<std::uint32_t>(), ends, what, random);
      if (runs_of(by_bits.of<std::uint32_t>(), numbers).count >= 2) {
        expect_merges<std::uint32_t, value4>(by_bits.of<std::uint32_t>(), numbers, as_one_piece{});
      }
      if (HasFatalFailure()) return;
    }
  }
}

/// A merge of two runs that hardly cross does not touch what lies in its place.
TEST(OrderedRuns, AreLeftWhereTheyDoNotCross) {
  constexpr std::uint32_t n = 6000;
  std::vector<std::uint32_t> keys(n);
  std::iota(keys.begin(), keys.begin() + n / 2, 0U);
  std::iota(keys.begin() + n / 2, keys.end(), n / 2 - 10);
  std::vector<std::uint32_t> spare(n, std::numeric_limits<std::uint32_t>::max());
  const keys::codec_of<std::uint32_t> codec{};
  ASSERT_TRUE((merge_runs_alone<std::uint32_t, no_value>(codec, {keys.data(), nullptr}, {spare.data(), nullptr}, n)));
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  const auto untouched = std::ranges::count(spare, std::numeric_limits<std::uint32_t>::max());
  EXPECT_GE(untouched, n - 2 * 11);
}

template <class K>
void expect_sorts(key_type type, std::uint64_t num_keys, unsigned num_threads, unsigned round,
                  std::mt19937_64& random) {
  SCOPED_TRACE(std::to_string(num_keys) + " keys of type " + std::to_string(static_cast<int>(type)) + ", round " +
               std::to_string(round) + ", " + std::to_string(num_threads) + " threads");
  const bool descends = round / num_kinds / 2 % 2 == 1;
  const keys::key_codec stable{type, descends, keys::tie_rule::by_input_order};
  const keys::key_codec by_bits{type, descends, keys::tie_rule::by_bits};
  const auto runs = make_ends(num_keys, 2 + random() % 4, random);
  const std::vector<K> given = make_runs(stable.of<K>(), runs, all_kinds[round % num_kinds], random);
  const std::vector<std::uint64_t> order = stable_order(stable.of<K>(), given);
  const std::uint64_t value_bytes = round / num_kinds % 2 == 0 ? 4 : 8;
  const auto expect_pairs = [&](const std::vector<K>& keys, const std::vector<char>& values, const char* what) {
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, values.data() + i * value_bytes, value_bytes);
      ASSERT_EQ(value, order[i]) << what << ' ' << i;
      ASSERT_TRUE(keys.empty() || keys[i] == given[order[i]]) << what << ' ' << i;
    }
  };
  std::vector<char> values(num_keys * value_bytes);
  const auto number_values = [&] {
    for (std::uint64_t i = 0; i < num_keys; ++i) std::memcpy(values.data() + i * value_bytes, &i, value_bytes);
  };
  number_values();
  std::vector<K> keys = given;
  ASSERT_TRUE(sort_shared_pairs(stable, keys.data(), values.data(), value_bytes, num_keys, num_threads));
  ASSERT_NO_FATAL_FAILURE(expect_pairs(keys, values, "shared pair"));
  ASSERT_TRUE(argsort_shared(stable, given.data(), values.data(), value_bytes, num_keys, num_threads));
  ASSERT_NO_FATAL_FAILURE(expect_pairs({}, values, "shared index"));
  const std::vector<std::uint64_t> bit_order = stable_order(by_bits.of<K>(), given);
  const auto expect_keys = [&](const char* what) {
    for (std::uint64_t i = 0; i < num_keys; ++i) ASSERT_EQ(keys[i], given[bit_order[i]]) << what << ' ' << i;
  };
  if (has_shared_sort(sizeof(K))) {
    keys = given;
    sort_shared(by_bits, keys.data(), num_keys, num_threads);
    ASSERT_NO_FATAL_FAILURE(expect_keys("shared key"));
    keys = given;
    ASSERT_TRUE(sort_others_shared(by_bits, keys.data(), num_keys, 4, true));
    ASSERT_NO_FATAL_FAILURE(expect_keys("shared key that nobody has looked at"));
  }
  if (num_keys > most_small_pairs) return;
  number_values();
  keys = given;
  sort_small_pairs(stable, keys.data(), values.data(), value_bytes, num_keys);
  ASSERT_NO_FATAL_FAILURE(expect_pairs(keys, values, "small pair"));
  argsort_small(stable, given.data(), values.data(), value_bytes, num_keys);
  ASSERT_NO_FATAL_FAILURE(expect_pairs({}, values, "small index"));
  if (num_keys * sizeof(K) > most_small_bytes) return;
  keys = given;
  sort_small(by_bits, keys.data(), num_keys);
  expect_keys("small key");
}

TEST(OrderedRuns, AreSortedByAllWhoLookForThem) {
  std::mt19937_64 random(test::base_seed());
  const unsigned num_rounds = test::is_small_scale() ? num_kinds : 4 * num_kinds;
  for (const std::uint64_t num_keys : {1024U, 1500U, 9000U, 60'000U, 130'001U}) {
    for (unsigned round = 0; round < num_rounds; ++round) {
      const unsigned num_threads = 1 + round % 3;
      expect_sorts<std::uint32_t>(key_type::u32, num_keys, num_threads, round, random);
      expect_sorts<std::uint32_t>(key_type::f32, num_keys, num_threads, round, random);
      expect_sorts<std::uint64_t>(key_type::i64, num_keys, num_threads, round, random);
      expect_sorts<std::uint64_t>(key_type::f64, num_keys, num_threads, round, random);
      if (HasFatalFailure()) return;
    }
  }
}

/// Runs of keys alone are merged in memory that is kept, as are a long one and a tail; five, short ones and keys in no
/// order are left as they are.
TEST(OrderedRuns, AreMergedWhereTheyAreLong) {
  std::mt19937_64 random(test::base_seed());
  const keys::codec_of<std::uint64_t> codec{};
  constexpr std::uint64_t n = 200'000;
  const auto merges = [&](const std::vector<std::uint64_t>& given) {
    std::vector<std::uint64_t> keys = given;
    const tail_sort<std::uint64_t> sort_tail = [](std::uint64_t* tail, std::uint64_t count) {
      std::sort(tail, tail + count);
    };
    const bool merged = merge_shared_runs(codec, keys.data(), n, 2, sort_tail);
    EXPECT_TRUE(merged ? std::ranges::is_sorted(keys) : keys == given);
    return merged;
  };
  const auto of_ends = [&](const std::vector<std::uint64_t>& ends) {
    return make_runs(codec, ends, kind::any, random);
  };
  EXPECT_TRUE(merges(of_ends({n / 2, n})));
  EXPECT_TRUE(merges(of_ends({n / 4, n / 2, n - 1, n})));
  EXPECT_FALSE(merges(of_ends({n / 5, n / 4, n / 3, n / 2, n})));
  EXPECT_FALSE(merges(of_ends({1000, n})));
  std::vector<std::uint64_t> any(n);
  for (std::uint64_t& key : any) key = random();
  EXPECT_FALSE(merges(any));
  const auto with_tail = [&](std::uint64_t num_front) {
    std::vector<std::uint64_t> keys = any;
    std::sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(num_front));
    keys[num_front] = 0;
    return keys;
  };
  std::vector<std::uint64_t> misplaced = any;
  std::ranges::sort(misplaced);
  std::swap(misplaced[n / 3], misplaced[n - 10]);
  EXPECT_EQ(runs_of(codec, misplaced).count, 3U);
  EXPECT_FALSE(merges(misplaced)) << "two keys that lie elsewhere";
  EXPECT_TRUE(merges(with_tail(n - 5)));
  EXPECT_TRUE(merges(with_tail(n - n / 4)));
  EXPECT_FALSE(merges(with_tail(n - n / 4 - 1)));
}

/// A sort that is to stop leaves what it was given, also where the result would be elsewhere and nothing is
/// overwritten.
TEST(OrderedRuns, AreLeftWhereTheSortIsToStop) {
  std::mt19937_64 random(test::base_seed());
  const keys::codec_of<std::uint64_t> codec{};
  for (const unsigned num_runs : {2U, 4U}) {
    for (const bool result_in_alternate : {false, true}) {
      std::vector<std::uint64_t> ends;
      for (unsigned r = 1; r <= num_runs; ++r) ends.push_back(140'000 * r / num_runs);
      const std::vector<std::uint64_t> given = make_runs(codec, ends, kind::any, random);
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
                        .result_in_alternate = result_in_alternate,
                        .segments = {{0, keys.size(), {0, 64}}}});
      EXPECT_THROW(work->synchronize(), cancelled) << num_runs << " runs";
      EXPECT_EQ(keys, given) << num_runs << " runs";
      EXPECT_EQ(std::ranges::count(alternate, 0U), static_cast<std::ptrdiff_t>(given.size()))
          << "work was done in vain";
    }
  }
}

/// A device merges up to four runs, and sorts five. The bytes that it moves into another array say which.
TEST(OrderedRuns, AreMergedByADevice) {
  std::mt19937_64 random(test::base_seed());
  const auto device = make_host_device({.num_threads = 3, .limits = {.inline_keys = 64, .piece_keys = 50}});
  device->prepare();
  const keys::key_codec codec{key_type::i64, false, keys::tie_rule::by_input_order};
  const auto of_width = codec.of<std::uint64_t>();
  constexpr std::uint64_t n = 140'000;
  for (const unsigned num_runs : {2U, 3U, 4U, 5U}) {
    std::vector<std::uint64_t> ends(num_runs);
    for (unsigned r = 0; r < num_runs; ++r) ends[r] = n * (r + 1) / num_runs;
    const std::vector<std::uint64_t> given = make_runs(of_width, ends, kind::any, random);
    const std::vector<std::uint64_t> order = stable_order(of_width, given);
    for (const bool result_in_alternate : {false, true}) {
      std::vector<std::uint64_t> keys[2] = {given, std::vector<std::uint64_t>(n)};
      std::vector<std::uint64_t> values[2] = {std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n)};
      std::iota(values[0].begin(), values[0].end(), std::uint64_t{0});
      local_sort_outcome outcome;
      const auto queue = device->make_queue();
      queue->local_sort({.shape = {codec, 8},
                         .source = {keys[0].data(), values[0].data()},
                         .alternate = {keys[1].data(), values[1].data()},
                         .result_in_alternate = result_in_alternate,
                         .segments = {{0, n, {0, 64}}},
                         .outcome = &outcome});
      queue->synchronize();
      for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_EQ(keys[result_in_alternate ? 1 : 0][i], given[order[i]]) << num_runs << " runs, " << i;
        ASSERT_EQ(values[result_in_alternate ? 1 : 0][i], order[i]) << num_runs << " runs, " << i;
      }
      const std::uint64_t moves = !result_in_alternate ? 2 : num_runs == 2 ? 1 : 3;
      const std::uint64_t of_merge = n * 8 + moves * 2 * n * 16;
      // In place a sort moves as many bytes.
      EXPECT_EQ(outcome.bytes_moved == of_merge, num_runs <= most_ordered_runs || !result_in_alternate)
          << outcome.bytes_moved << ' ' << num_runs;
    }
  }
}

}  // namespace
}  // namespace spansort::device::host
