// SPDX-License-Identifier: Apache-2.0
// Order statistics without sorting: every rank of small data however it is cut, every type and distribution, data made
// to mislead the sample, and how often the keys are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "device/host/host_device.hpp"
#include "spansort/generate.hpp"
#include "statistics/take_sample.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/select_check.hpp"

namespace spansort::test {
namespace {

using statistics::select_report;

/// Host devices that tests of selections share: one as it comes, one with many small tasks, one with memory of its own.
class select_test : public testing::Test {
 protected:
  select_test() {
    owned_.push_back(device::host::make_host_device({.name = "host:0", .num_threads = 2}));
    owned_.push_back(
        device::host::make_host_device({.name = "host:1", .num_threads = 3, .limits = {.piece_keys = 50}}));
    owned_.push_back(device::host::make_host_device({.name = "host:2", .num_threads = 1, .shares_memory = false}));
    for (const auto& d : owned_) devices_.push_back(d.get());
  }

  [[nodiscard]] std::string diagnose(const oracle& expected, const std::vector<std::uint64_t>& sizes,
                                     const std::vector<std::uint64_t>& ranks, select_report* report = nullptr) const {
    return diagnose_select(devices_, expected.input(), expected.keys_alone(),
                           {expected.type(), expected.descending(), sizes}, ranks, report);
  }

 private:
  std::vector<std::unique_ptr<device::device>> owned_;
  std::vector<device::device*> devices_;
};

template <class K>
oracle oracle_of(const std::vector<K>& keys) {
  return oracle(as_const_key_span(std::span<const K>(keys)), false);
}

/// Ends, quartiles, and some besides; unordered, with repeats.
std::vector<std::uint64_t> typical_ranks(std::uint64_t num_keys) {
  return {num_keys / 2,     0, num_keys - 1,       num_keys / 4, num_keys / 4 * 3, num_keys / 10, num_keys / 2,
          num_keys / 3 * 2, 1, num_keys / 100 * 99};
}

/// Reads that the promise allows for ten different ranks.
unsigned most_reads(key_type type) { return 2 * (3 + static_cast<unsigned>(size_bytes(type)) * 8 / 2); }

TEST_F(select_test, EveryRankOfEverySmallSizeInEveryNumberOfChunks) {
  for (std::uint64_t n = 1; n <= 64; ++n) {
    const distribution d{n % 2 == 0 ? distribution_kind::uniform : distribution_kind::entropy, 6};
    const oracle expected = make_oracle(n % 3 == 0 ? key_type::u8 : key_type::i32, n, d, seed_for(n), false);
    std::vector<std::uint64_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::size_t num_chunks = 1; num_chunks <= 8; ++num_chunks) {
      EXPECT_EQ(diagnose(expected, draw_sizes(n, num_chunks, seed_for(n * 8 + num_chunks)), ranks), "")
          << n << " keys in " << num_chunks << " chunks";
    }
  }
}

TEST_F(select_test, NothingIsAskedOfNothing) {
  const oracle nothing = make_oracle(key_type::u32, 0, {}, 1, false);
  EXPECT_EQ(diagnose(nothing, {}, {}), "");
  EXPECT_EQ(diagnose(nothing, {0, 0}, {}), "");
}

TEST_F(select_test, AllTypesAndDistributions) {
  const std::uint64_t n = is_small_scale() ? 70'000 : 130'000;
  std::uint64_t number = 0;
  for (const key_type type : varied_key_types()) {
    for (const distribution& d : all_distributions()) {
      const bool descending = ++number % 2 == 0;
      if (is_small_scale() && (number / all_distributions().size() + number) % 2 == 0) continue;
      const oracle expected = make_oracle(type, n, d, seed_for(number), descending);
      const std::vector<std::uint64_t> sizes = draw_sizes(n, 1 + number % 8, seed_for(1000 + number));
      select_report report;
      EXPECT_EQ(diagnose(expected, sizes, typical_ranks(n), &report), "")
          << name(type) << " " << to_string(d) << (descending ? " descending" : "");
      EXPECT_LE(report.num_reads, most_reads(type)) << name(type) << " " << to_string(d);
    }
  }
}

TEST_F(select_test, OneReadForQuartilesOfUniformKeys) {
  const std::uint64_t n = std::uint64_t{1} << 20;
  for (const key_type type : {key_type::u32, key_type::i64, key_type::f32, key_type::f64}) {
    if (is_small_scale() && type != key_type::f32) continue;
    const oracle expected = make_oracle(type, n, {}, seed_for(1), false);
    select_report report;
    EXPECT_EQ(diagnose(expected, {n}, {n / 4, n / 2, n / 4 * 3}, &report), "") << name(type);
    EXPECT_LE(report.num_reads, 2U) << name(type);
    EXPECT_LE(report.keys_collected, n / 4) << name(type);
  }
}

TEST_F(select_test, OneReadOfFewDistinctAndOfOrderedKeys) {
  const std::uint64_t n = std::uint64_t{1} << 19;
  std::vector<std::uint64_t> few(n);
  random_words random(seed_for(2));
  for (std::uint64_t& key : few) key = random.below(3) * 1'000'000'007;
  std::vector<std::uint64_t> ascending(n);
  std::iota(ascending.begin(), ascending.end(), 99);
  for (const std::vector<std::uint64_t>& keys : {few, ascending, std::vector<std::uint64_t>(n, 42)}) {
    select_report report;
    EXPECT_EQ(diagnose(oracle_of(keys), {n / 2, 0, n / 2}, {n / 4, n / 2, n / 4 * 3}, &report), "");
    EXPECT_EQ(report.num_reads, 1U);
    EXPECT_LE(report.keys_collected, n / 16);
  }
}

TEST_F(select_test, OneOddKeyAmongEqualOnes) {
  const std::uint64_t n = is_small_scale() ? 70'000 : 200'000;
  for (const std::uint64_t odd : {std::uint64_t{0}, std::uint64_t{41}, std::uint64_t{43}, ~std::uint64_t{0}}) {
    for (const std::uint64_t common : {std::uint64_t{42}, std::uint64_t{0}, ~std::uint64_t{0}}) {
      std::vector<std::uint64_t> keys(n, common);
      keys[n / 3] = odd;
      EXPECT_EQ(diagnose(oracle_of(keys), {n / 2, n / 2}, {0, 1, n / 2, n - 2, n - 1}), "") << odd << ", " << common;
    }
  }
}

TEST_F(select_test, SortedBlocksAndRepeatedNeighbours) {
  const std::uint64_t n = 400'000;
  random_words random(seed_for(3));
  std::vector<std::uint64_t> blocks(n);
  for (std::uint64_t i = 0; i < n; ++i) blocks[i] = (i / 4096 * 7919 % 97) * 4096 + i % 4096;
  // Neighbours that are alike: a sample in runs is worth a sixteenth.
  std::vector<std::uint64_t> repeated(n);
  for (std::uint64_t i = 0; i < n; ++i) repeated[i] = i % 16 == 0 ? random() : repeated[i - 1];
  for (const std::vector<std::uint64_t>& keys : {blocks, repeated}) {
    select_report report;
    EXPECT_EQ(diagnose(oracle_of(keys), {n / 4, n / 4, n / 2}, typical_ranks(n), &report), "");
    EXPECT_LE(report.num_reads, 8U);
  }
}

/// Keys whose gaps shrink towards a point: even cuts and any sample of few keys leave most of them together.
TEST_F(select_test, KeysThatCrowdEverCloser) {
  const std::uint64_t n = 300'000;
  random_words random(seed_for(4));
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t& key : keys) key = random() >> random.below(64);
  std::vector<std::uint64_t> far = keys;
  for (std::uint64_t& key : far) key = ~key;
  for (const std::vector<std::uint64_t>& input : {keys, far}) {
    select_report report;
    EXPECT_EQ(diagnose(oracle_of(input), {100, n - 100}, typical_ranks(n), &report), "");
    EXPECT_LE(report.num_reads, most_reads(key_type::u64));
  }
}

/// The sample's places depend on the number of keys alone: whoever knows them can make it say anything.
TEST_F(select_test, SampleThatKnowsNothing) {
  const std::uint64_t n = is_small_scale() ? 100'000 : 300'000;
  std::vector<std::uint64_t> places(n);
  std::iota(places.begin(), places.end(), 0);
  const auto device = device::host::make_host_device({.num_threads = 1});
  const auto queue = device->make_queue();
  const std::vector<statistics::key_chunk> chunk{{device.get(), queue.get(), places.data(), n}};
  const statistics::key_sample sample = statistics::take_sample({key_type::u64}, chunk, {0, chunk[0].num_keys});
  ASSERT_LT(sample.keys.size(), n);
  random_words random(seed_for(8));
  for (const std::uint64_t said : {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    std::vector<std::uint64_t> keys(n);
    for (std::uint64_t& key : keys) key = random() >> random.below(64);
    for (const std::uint64_t place : sample.keys) keys[place] = said;
    select_report report;
    EXPECT_EQ(diagnose(oracle_of(keys), {n}, {n / 2, n / 3, 5, n / 100 * 99}, &report), "") << said;
    EXPECT_GE(report.num_reads, 2U) << said;
    EXPECT_LE(report.num_reads, 3U + 32) << said;
  }
}

TEST_F(select_test, ManyRanksAtOnce) {
  const std::uint64_t n = 150'000;
  const oracle expected = make_oracle(key_type::f64, n, {distribution_kind::normal}, seed_for(5), false);
  std::vector<std::uint64_t> ranks;
  for (std::uint64_t i = 0; i < 100; ++i) ranks.push_back((n - 1) * i / 99);
  select_report report;
  EXPECT_EQ(diagnose(expected, draw_sizes(n, 5, seed_for(6)), ranks, &report), "");
  EXPECT_LE(report.num_reads, 2U * 13);
}

TEST_F(select_test, TheSameHoweverTheKeysAreCut) {
  const std::uint64_t n = 250'000;
  const oracle expected = make_oracle(key_type::bf16, n, {distribution_kind::special_floats}, seed_for(7), false);
  for (std::size_t num_chunks = 1; num_chunks <= 8; ++num_chunks) {
    EXPECT_EQ(diagnose(expected, draw_sizes(n, num_chunks, seed_for(num_chunks)), typical_ranks(n)), "");
  }
}

}  // namespace
}  // namespace spansort::test
