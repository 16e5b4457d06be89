// SPDX-License-Identifier: Apache-2.0
// Order statistics of keys on host devices, with and without memory of their own, resident or copied there: the answers
// of keys in host memory, however they are cut.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/resident_statistics.hpp"
#include "spansort/sort.hpp"
#include "statistics/key_storage.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/order_check.hpp"
#include "support/select_check.hpp"

namespace spansort::test {
namespace {

TEST(ResidentStatistics, EveryFewOverEverySplit) {
  for (std::uint64_t n = 1; n <= (is_small_scale() ? 20U : 64U); ++n) {
    const key_type type = all_key_types()[n % 12];
    const std::vector<std::byte> keys = make_keys(type, n, {distribution_kind::special_floats}, seed_for(n));
    for (std::uint64_t count = 1; count <= 8; ++count) {
      if ((n + count) % 3 != 0 && (n > 20 || is_small_scale())) continue;  // opening devices is what takes the time
      order_case c{.type = type, .devices = "host:" + std::to_string(count), .sizes = draw_sizes(n, count, n + count)};
      c.hooks.host_separate_memory = n % 2 == 0;
      EXPECT_EQ(diagnose_resident(keys, c), "") << name(type) << ", " << n << " keys, " << count << " shards";
      EXPECT_EQ(diagnose_spread(keys, c), "") << name(type) << ", " << n << " keys, " << count << " devices";
    }
  }
}

/// Several blocks of the mean, cut anywhere.
TEST(ResidentStatistics, EveryTypeInLargeShards) {
  const std::uint64_t n = is_small_scale() ? 200'000 : 700'000;
  std::uint64_t number = 0;
  for (const key_type type : varied_key_types()) {
    const distribution d{++number % 2 == 0 ? distribution_kind::normal : distribution_kind::uniform};
    const std::vector<std::byte> keys = make_keys(type, n, d, seed_for(number));
    order_case c{.type = type, .devices = "host:3", .sizes = draw_sizes(n, 3, seed_for(number))};
    c.hooks.host_separate_memory = number % 2 == 0;
    EXPECT_EQ(diagnose_resident(keys, c), "") << name(type);
    EXPECT_EQ(diagnose_spread(keys, c), "") << name(type);
  }
}

TEST(ResidentStatistics, EmptyShardsAndBlocksThatEndWithThem) {
  const std::uint64_t block = std::uint64_t{1} << 16;
  const std::vector<std::byte> keys = make_keys(key_type::f32, 3 * block, {distribution_kind::normal}, seed_for(1));
  for (const std::vector<std::uint64_t>& sizes : {std::vector<std::uint64_t>{block, 2 * block, 0},
                                                  {0, 3 * block, 0},
                                                  {1, block - 1, 2 * block},
                                                  {block + 1, block - 2, block + 1},
                                                  {2 * block - 5, 3, block + 2},
                                                  {0, 0, 3 * block}}) {
    EXPECT_EQ(diagnose_resident(keys, {.type = key_type::f32, .devices = "host:3", .sizes = sizes}), "") << sizes[0];
  }
}

TEST(ResidentStatistics, OfShardsInOrder) {
  for (const key_type type : {key_type::f64, key_type::bf16, key_type::i16}) {
    for (const std::uint64_t n : {1U, 50U, 3000U}) {
      for (const key_order order : {key_order::ascending, key_order::descending}) {
        std::vector<std::byte> keys = make_keys(type, n, {distribution_kind::special_floats}, seed_for(n));
        sorter().sort({type, keys.data(), n}, keys::direction_of(order == key_order::descending));
        order_case c{.type = type, .devices = "host:3", .sizes = draw_sizes(n, 3, n), .order = order};
        c.hooks.host_separate_memory = n == 50;
        EXPECT_EQ(diagnose_resident(keys, c), "") << name(type) << ", " << n << " keys";
        EXPECT_EQ(diagnose_spread(keys, c), "") << name(type) << ", " << n << " keys";
      }
    }
  }
}

/// The devices count positions block by block; a block begins and ends with a chunk, or 2^20 keys further.
TEST(ResidentStatistics, PositionsInSeveralBlocksOfAShard) {
  const std::uint64_t block = std::uint64_t{1} << 20;
  const std::uint64_t n = 2 * block + 12'345;
  for (const key_type type : {key_type::u8, key_type::f32}) {
    std::vector<std::byte> keys = make_keys(type, n, {distribution_kind::special_floats}, seed_for(5));
    const const_key_span span(type, keys.data(), n);
    std::byte* const second = keys.data() + (block + 5) * size_bytes(type);
    const std::vector<shard> shards{{.keys = keys.data(), .num_keys = block + 5},
                                    {.keys = second, .num_keys = n - block - 5}};
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{10}, n / 3, n}) {
      EXPECT_EQ(top_k_indices({type, shards}, k, {.devices = "host:2"}), top_k_indices(span, k)) << name(type) << k;
      EXPECT_EQ(bottom_k_indices({type, shards}, k, {.devices = "host:2"}), bottom_k_indices(span, k))
          << name(type) << k;
    }
  }
}

/// More keys than there is memory, in address space that nobody has written to.
TEST(ResidentStatistics, ADeviceThatCannotHoldItsChunkSaysWhatItNeeds) {
  const std::uint64_t n = std::uint64_t{1} << 42;
  void* const memory = mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for 4 TiB";
  const std::vector<double> q{0.5};
  try {
    const base::test_hooks_scope hooks({.host_separate_memory = true});
    static_cast<void>(quantiles(const_key_span(key_type::u8, memory, n), q, {.devices = "host:2"}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const out_of_memory& e) {
    EXPECT_GT(e.needed_bytes(), n);
    EXPECT_LT(e.available_bytes(), n);
    EXPECT_EQ(e.device(), "host:0");
    EXPECT_NE(std::string(e.what()).find(std::to_string(e.needed_bytes())), std::string::npos) << e.what();
  }
  munmap(memory, n);
}

TEST(ResidentSession, AnswersAsTheFreeFunctionsBetweenSorts) {
  const std::uint64_t n = 30'000;
  std::vector<std::byte> keys = make_keys(key_type::f32, n, {distribution_kind::special_floats}, seed_for(7));
  std::vector<shard> shards;
  for (std::uint64_t i = 0; i < 3; ++i) {
    shards.push_back({.keys = keys.data() + i * n / 3 * sizeof(float), .num_keys = n / 3});
  }
  const sharded_keys all{key_type::f32, shards};
  const std::vector<double> q{0.25, 0.5};
  const float value = 1;
  resident_session session({.devices = "host:3"});
  for (const key_order order : {key_order::unknown, key_order::ascending}) {
    const device_list devices = "host:3";
    const top_options firsts{nan_policy::propagate, order};
    const top_options named{nan_policy::propagate, order, devices};
    EXPECT_EQ(session.quantiles(all, q, {.nans = nan_policy::omit, .order = order}),
              quantiles(all, q, {.nans = nan_policy::omit, .order = order, .devices = devices}));
    const quantile_options halves{.nans = nan_policy::omit, .order = order, .devices = devices};
    EXPECT_EQ(session.quantile(all, 0.25, halves), quantiles(all, q, halves)[0]);
    EXPECT_EQ(session.median(all, halves), quantiles(all, q, halves)[1]);
    EXPECT_EQ(quantile(all, 0.25, halves), quantiles(all, q, halves)[0]);
    EXPECT_EQ(median(all, halves), quantiles(all, q, halves)[1]);
    EXPECT_EQ(diagnose_summaries(session.summarize(all, {.nans = nan_policy::omit, .order = order}),
                                 summarize(all, {.nans = nan_policy::omit, .order = order, .devices = devices})),
              "");
    EXPECT_EQ(session.histogram(all, equal_width_edges(-1, 1, 9), {order, {}}),
              histogram(all, equal_width_edges(-1, 1, 9), {order, devices}));
    EXPECT_EQ(session.rank_of(all, &value, {order, devices}), rank_of(all, &value, {order, devices}));
    EXPECT_EQ(session.top_k(all, 9, firsts), top_k(all, 9, named));
    EXPECT_EQ(session.bottom_k(all, 9, firsts), bottom_k(all, 9, named));
    EXPECT_EQ(session.top_k_indices(all, 900, firsts), top_k_indices(all, 900, named));
    EXPECT_EQ(session.bottom_k_indices(all, 900, firsts), bottom_k_indices(all, 900, named));
    EXPECT_EQ(session.is_sorted(all), order == key_order::ascending);
    session.sort(all);
  }
  EXPECT_THROW(static_cast<void>(session.quantiles(all, q, {.devices = "host:2"})), invalid_argument);
}

TEST(ResidentSession, OpensNoDeviceForACall) {
  std::vector<float> keys{1, 2, 3};
  const std::vector<shard> shards{{.keys = keys.data(), .num_keys = 2}, {.keys = keys.data() + 2, .num_keys = 1}};
  resident_session session({.devices = "host:2"});
  const statistics::key_storage first = statistics::resident_keys({key_type::f32, shards}, {}, session);
  const statistics::key_storage second = statistics::resident_keys({key_type::f32, shards}, {}, session);
  EXPECT_TRUE(first.ranks.empty());
  EXPECT_TRUE(second.ranks.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first.chunks[i].device, second.chunks[i].device);
    EXPECT_EQ(first.chunks[i].queue, second.chunks[i].queue);
  }
}

TEST(ResidentStatistics, RefusesWhatCannotBe) {
  std::vector<float> keys{1, 2, 3};
  const std::vector<shard> one{{.keys = keys.data(), .num_keys = 3}};
  const std::vector<shard> null{{.num_keys = 3}};
  const std::vector<double> q{0.5};
  const auto ask = [&](const std::vector<shard>& shards, const std::string& devices) {
    static_cast<void>(quantiles({key_type::f32, shards}, q, {.devices = devices}));
  };
  EXPECT_NO_THROW(ask(one, "cpu"));
  EXPECT_THROW(ask(one, "auto"), invalid_argument);
  EXPECT_THROW(ask(one, "host:2"), invalid_argument);
  EXPECT_THROW(ask(null, "cpu"), invalid_argument);
  EXPECT_THROW(ask({{.keys = keys.data(), .num_keys = 0}}, "cpu"), bad_input);
  EXPECT_THROW(static_cast<void>(rank_of({key_type::f32, one}, nullptr, {.devices = "cpu"})), invalid_argument);
  EXPECT_THROW(static_cast<void>(top_k({key_type::f32, {}}, 3, {.devices = "cpu"})), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
