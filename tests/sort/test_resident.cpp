// SPDX-License-Identifier: Apache-2.0
// Sorts of data that lies on the devices: shards of any sizes, exact and balanced, keys and pairs, against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

using counts = std::vector<std::uint64_t>;

/// Shards in the memory of their devices, with room for `capacity` records each.
class shards_under_test {
 public:
  shards_under_test(const std::string& list, const oracle& expected, const counts& sizes, const counts& capacities,
                    std::uint64_t value_bytes)
      : key_bytes_(size_bytes(expected.type())), value_bytes_(value_bytes) {
    const std::vector<std::string> devices = devices_of_list(list);
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      keys_.emplace_back(devices[i], capacities[i] * key_bytes_);
      values_.emplace_back(devices[i], capacities[i] * value_bytes_);
      keys_[i].write(expected.input().subspan(begin * key_bytes_, sizes[i] * key_bytes_));
      std::vector<std::byte> indices(sizes[i] * value_bytes_);
      for (std::uint64_t k = 0; k < sizes[i] && value_bytes_ != 0; ++k) {
        const std::uint64_t index = begin + k;
        std::memcpy(indices.data() + k * value_bytes_, &index, std::min<std::uint64_t>(value_bytes_, 8));
      }
      values_[i].write(indices);
      shards_.push_back(
          {.keys = keys_[i].data(), .values = values_[i].data(), .num_keys = sizes[i], .capacity = capacities[i]});
      begin += sizes[i];
    }
  }

  [[nodiscard]] std::vector<shard>& shards() { return shards_; }
  [[nodiscard]] counts sizes() const {
    counts sizes;
    for (const shard& s : shards_) sizes.push_back(s.num_keys);
    return sizes;
  }
  [[nodiscard]] std::vector<std::byte> all_keys() const { return gather(keys_, key_bytes_); }
  /// The indices that travelled as values.
  [[nodiscard]] std::vector<std::uint64_t> all_indices() const {
    const std::vector<std::byte> bytes = gather(values_, value_bytes_);
    std::vector<std::uint64_t> indices(bytes.size() / value_bytes_);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::memcpy(&indices[i], bytes.data() + i * value_bytes_, std::min<std::uint64_t>(value_bytes_, 8));
    }
    return indices;
  }

 private:
  [[nodiscard]] std::vector<std::byte> gather(const std::vector<shard_memory>& arrays, std::uint64_t bytes) const {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const std::vector<std::byte> part = arrays[i].read(shards_[i].num_keys * bytes);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::uint64_t key_bytes_;
  std::uint64_t value_bytes_;
  std::vector<shard_memory> keys_;
  std::vector<shard_memory> values_;
  std::vector<shard> shards_;
};

counts random_sizes(std::mt19937_64& random, std::uint64_t n, std::size_t num_shards) {
  counts bounds{0, n};
  for (std::size_t i = 1; i < num_shards; ++i) bounds.push_back(n == 0 ? 0 : random() % (n + 1));
  std::ranges::sort(bounds);
  counts sizes;
  for (std::size_t i = 0; i < num_shards; ++i) sizes.push_back(bounds[i + 1] - bounds[i]);
  return sizes;
}

sort_options options_for(const std::string& list, const test_tuning& tuning = {}) {
  sort_options options;
  options.devices = devices_under_test(list);
  options.tuning = tuning.options();
  return options;
}

/// Ranks that get their keys in rounds, and sort in passes of eight bits from one array to the other and back.
test_tuning in_rounds(bool through_host) {
  return {.radix_bits = 8,
          .fuse_threshold = 0,
          .host_separate_memory = true,
          .round_keys = 100,
          .exchange_through_host = through_host};
}

/// Buckets that lie across the bounds of shards are copied to both, however large they are, or refined.
test_tuning with_spanning(base::spanning_buckets how, test_tuning tuning) {
  tuning.spanning = how;
  return tuning;
}

const std::vector<test_tuning>& tunings() {
  using enum base::spanning_buckets;
  static const std::vector<test_tuning> all{{},
                                            with_spanning(copied, {.radix_bits = 3}),
                                            with_spanning(copied, {.radix_bits = 1, .exchange_through_host = true}),
                                            with_spanning(copied, in_rounds(false)),
                                            with_spanning(copied, in_rounds(true)),
                                            with_spanning(refined, in_rounds(false)),
                                            {.radix_bits = 3},
                                            {.exchange_through_host = true},
                                            {.radix_bits = 4, .host_bucket_bytes = 512},
                                            in_rounds(false),
                                            in_rounds(true)};
  return all;
}

class resident_test : public testing::TestWithParam<std::string> {
 protected:
  std::string list = GetParam();
  std::size_t num_shards = devices_of_list(devices_under_test(GetParam())).size();
  std::mt19937_64 random{seed_for(1)};
};

TEST_P(resident_test, KeepsSizesAndOrdersAllShards) {
  for (const test_tuning& tuning : tunings()) {
    for (const key_type type :
         {key_type::u8, key_type::f16, key_type::u32, key_type::f32, key_type::i64, key_type::f64}) {
      if (is_small_scale() && (type == key_type::u32 || type == key_type::i64)) continue;  // f32, f64 are as wide
      for (const std::uint64_t n : {0u, 1u, 2u, 9u, 1000u, is_small_scale() ? 20'000u : 70'000u}) {
        const bool descending = random() % 2 == 0;
        const oracle expected = make_oracle(type, n, {distribution_kind::special_floats}, seed_for(n), descending);
        const counts sizes = random_sizes(random, n, num_shards);
        shards_under_test data(devices_under_test(list), expected, sizes, sizes, 0);
        const base::test_hooks_scope hooks(tuning.hooks());
        resident_sorter(options_for(list, tuning)).sort({type, data.shards()}, keys::direction_of(descending));
        ASSERT_EQ(data.sizes(), sizes);
        ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_alone()))
            << name(type) << ", n " << n << (descending ? ", descending" : "") << ", tuning "
            << (&tuning - tunings().data()) << ", sizes " << sizes[0];
      }
    }
  }
}

TEST_P(resident_test, BalancesWithinSlack) {
  for (const std::uint64_t n : {0u, 1u, 1000u, 60'000u}) {
    for (const distribution& d : {distribution{distribution_kind::uniform}, distribution{distribution_kind::zero},
                                  distribution{distribution_kind::zipf, 1.5}}) {
      const oracle expected = make_oracle(key_type::u32, n, d, seed_for(n), false);
      counts sizes(num_shards, 0);  // one shard holds everything
      sizes[random() % num_shards] = n;
      shards_under_test data(devices_under_test(list), expected, sizes, counts(num_shards, n + 8), 0);
      resident_sorter(options_for(list, {.epsilon = 0.1}))
          .sort({key_type::u32, data.shards()}, direction::ascending, shard_sizes::balanced);
      const std::uint64_t share = (n + num_shards - 1) / num_shards;
      if (num_shards != 1) {
        for (const std::uint64_t size : data.sizes()) ASSERT_LE(size, share + 2 * share / 10);
      }
      ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_alone())) << n;
    }
  }
}

TEST_P(resident_test, PairsAreStable) {
  for (const std::uint64_t value_bytes : {4u, 8u, 16u}) {
    for (const key_type type : {key_type::u8, key_type::bf16, key_type::f32, key_type::u64}) {
      for (const test_tuning& tuning :
           {test_tuning{}, in_rounds(false), with_spanning(base::spanning_buckets::copied, {.radix_bits = 3}),
            with_spanning(base::spanning_buckets::copied, in_rounds(false))}) {
        const std::uint64_t n = 30'000;
        const oracle expected = make_oracle(type, n, {distribution_kind::zipf, 1}, seed_for(2), true);
        const counts sizes = random_sizes(random, n, num_shards);
        shards_under_test data(devices_under_test(list), expected, sizes, sizes, value_bytes);
        const base::test_hooks_scope hooks(tuning.hooks());
        resident_sorter(options_for(list, tuning))
            .sort_pairs({type, data.shards()}, value_bytes, direction::descending);
        ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_of_pairs()));
        ASSERT_EQ(data.all_indices(), expected.order()) << name(type) << ", values of " << value_bytes;
      }
    }
  }
}

TEST_P(resident_test, PairsAreSortedByFunctionsAndByASorterThatWasMoved) {
  const std::uint64_t n = 20'000;
  const oracle ascending = make_oracle(key_type::u32, n, {distribution_kind::zipf, 1}, seed_for(4), false);
  const oracle descending = make_oracle(key_type::u32, n, {distribution_kind::zipf, 1}, seed_for(4), true);
  const counts sizes = random_sizes(random, n, num_shards);
  const auto expect = [&](const oracle& expected, const auto& sort_shards) {
    shards_under_test data(devices_under_test(list), expected, sizes, sizes, 4);
    sort_shards(sharded_keys{key_type::u32, data.shards()});
    ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_of_pairs()));
    ASSERT_EQ(data.all_indices(), expected.order());
  };
  const sort_options options = options_for(list);
  expect(ascending, [&](sharded_keys keys) { sort_pairs(keys, 4, options); });
  expect(descending, [&](sharded_keys keys) { sort_pairs(keys, 4, direction::descending, options); });
  resident_sorter made(options);
  resident_sorter moved(std::move(made));
  expect(ascending, [&](sharded_keys keys) { moved.sort_pairs(keys, 4); });
  resident_sorter assigned(options);
  assigned = std::move(moved);
  expect(descending, [&](sharded_keys keys) { assigned.sort_pairs(keys, 4, direction::descending); });
}

TEST_P(resident_test, KeysOfRoundsArriveWhereOthersHaveLeft) {
  const std::uint64_t n = is_small_scale() ? 30'000 : 120'000;
  const std::uint64_t part = n / num_shards;
  for (const distribution& d : {distribution{distribution_kind::uniform}, distribution{distribution_kind::sorted},
                                distribution{distribution_kind::reverse}, distribution{distribution_kind::zipf, 0.5}}) {
    for (const std::uint64_t value_bytes : {0u, 8u}) {
      for (const shard_sizes kept : {shard_sizes::balanced, shard_sizes::as_given}) {
        const oracle expected = make_oracle(key_type::u32, n, d, seed_for(3), false);
        counts sizes(num_shards, part);
        sizes.back() += n % num_shards;
        shards_under_test data(devices_under_test(list), expected, sizes, counts(num_shards, 2 * part + 64),
                               value_bytes);
        test_tuning tuning = in_rounds(value_bytes != 0);
        tuning.epsilon = 0.05;
        tuning.round_keys = part / 16;
        tuning.spanning = base::spanning_buckets::copied;
        const base::test_hooks_scope hooks(tuning.hooks());
        resident_sorter s(options_for(list, tuning));
        if (value_bytes == 0) {
          s.sort({key_type::u32, data.shards()}, direction::ascending, kept);
        } else {
          s.sort_pairs({key_type::u32, data.shards()}, value_bytes, direction::ascending, kept);
          ASSERT_EQ(data.all_indices(), expected.order());
        }
        ASSERT_TRUE(
            std::ranges::equal(data.all_keys(), value_bytes == 0 ? expected.keys_alone() : expected.keys_of_pairs()));
      }
    }
  }
}

/// Pieces of 1 MiB and more leave a GPU by copy engine, in batches: those of keys and of values as wide share one. Host
/// devices copy all pieces alike, so that fewer keys do for them.
TEST_P(resident_test, LargePiecesOfRoundsArrive) {
  const bool is_on_gpus = devices_of_list(devices_under_test(list)).front().starts_with("gpu");
  const std::uint64_t keys_of_piece = is_on_gpus ? 300'000 : 500;
  test_tuning tuning = in_rounds(false);
  tuning.radix_bits = 3;
  tuning.round_keys = keys_of_piece;
  const std::uint64_t n = (keys_of_piece << tuning.radix_bits) * num_shards;
  const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::uniform}, seed_for(7), false);
  const counts sizes(num_shards, n / num_shards);
  for (const std::uint64_t value_bytes : {0u, 4u, 8u}) {
    shards_under_test data(devices_under_test(list), expected, sizes, sizes, value_bytes);
    const base::test_hooks_scope hooks(tuning.hooks());
    resident_sorter s(options_for(list, tuning));
    if (value_bytes == 0) {
      s.sort({key_type::u32, data.shards()});
    } else {
      s.sort_pairs({key_type::u32, data.shards()}, value_bytes);
      ASSERT_EQ(data.all_indices(), expected.order()) << "values of " << value_bytes;
    }
    ASSERT_TRUE(
        std::ranges::equal(data.all_keys(), value_bytes == 0 ? expected.keys_alone() : expected.keys_of_pairs()));
  }
}

/// Shards that keep their sizes take fewer passes where small buckets across their bounds are copied. Host devices take
/// one, and GPUs, whose digits have eight bits, one more.
TEST_P(resident_test, SmallBucketsAcrossBoundsAreNotRefined) {
  if (num_shards == 1) GTEST_SKIP() << "there are no bounds between shards";
  const std::uint64_t n = 400'000;
  std::vector<unsigned> num_passes;
  for (const base::spanning_buckets how : {base::spanning_buckets::by_size, base::spanning_buckets::refined}) {
    const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::uniform}, seed_for(5), false);
    counts sizes(num_shards, n / num_shards);
    sizes.front() += n % num_shards;
    shards_under_test data(devices_under_test(list), expected, sizes, sizes, 0);
    const test_tuning tuning = with_spanning(how, {.radix_bits = 12});
    const base::test_hooks_scope hooks(tuning.hooks());
    sort_report report;
    sort_options options = options_for(list, tuning);
    options.report = &report;
    resident_sorter(options).sort({key_type::u32, data.shards()});
    ASSERT_EQ(data.sizes(), sizes);
    ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_alone()));
    num_passes.push_back(report.num_passes);
  }
  EXPECT_LT(num_passes[0], num_passes[1]);
}

/// Buckets of the first digit are too large for copies, and the first count has counted the second digit, too.
TEST_P(resident_test, TheFirstCountServesTwoPasses) {
  if (num_shards == 1) GTEST_SKIP() << "there are no bounds between shards";
  const std::uint64_t n = 400'000;
  for (const std::uint64_t value_bytes : {0u, 8u}) {
    const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::uniform}, seed_for(6), false);
    counts sizes(num_shards, n / num_shards);
    sizes.front() += n % num_shards;
    shards_under_test data(devices_under_test(list), expected, sizes, sizes, value_bytes);
    sort_report report;
    sort_options options = options_for(list, {.radix_bits = 8});
    options.report = &report;
    resident_sorter s(options);
    if (value_bytes == 0) {
      s.sort({key_type::u32, data.shards()});
    } else {
      s.sort_pairs({key_type::u32, data.shards()}, value_bytes);
      ASSERT_EQ(data.all_indices(), expected.order());
    }
    ASSERT_TRUE(
        std::ranges::equal(data.all_keys(), value_bytes == 0 ? expected.keys_alone() : expected.keys_of_pairs()));
    EXPECT_EQ(report.num_passes, 2U);
  }
}

TEST_P(resident_test, ASorterServesManyCalls) {
  sort_report report;
  sort_options options = options_for(list);
  options.report = &report;
  resident_sorter s(options);
  for (const std::uint64_t n : {50'000u, 100u, 80'000u}) {
    const oracle expected = make_oracle(key_type::u64, n, {distribution_kind::normal}, seed_for(n), false);
    const counts sizes = random_sizes(random, n, num_shards);
    shards_under_test data(devices_under_test(list), expected, sizes, sizes, 0);
    s.sort({key_type::u64, data.shards()});
    ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_alone()));
    EXPECT_EQ(report.operation, "sort");
    EXPECT_EQ(report.num_keys, n);
    EXPECT_EQ(report.algorithm, num_shards == 1 ? "single" : "rmg");
  }
}

/// Asks the devices of a list whether keys are in order, cut into shards of any sizes.
bool is_sorted_on(const std::string& list, key_type type, std::span<const std::byte> keys, const counts& sizes,
                  direction d) {
  const std::vector<std::string> devices = devices_of_list(devices_under_test(list));
  std::vector<shard_memory> memory;
  std::vector<shard> shards;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t part_bytes = sizes[i] * size_bytes(type);
    memory.emplace_back(devices[i], part_bytes);
    memory[i].write(keys.subspan(begin, part_bytes));
    shards.push_back({.keys = memory[i].data(), .num_keys = sizes[i]});
    begin += part_bytes;
  }
  return is_sorted({type, shards}, d, options_for(list));
}

TEST_P(resident_test, IsSortedSaysWhatItSaysOfHostMemory) {
  for (const key_type type : {key_type::u8, key_type::f16, key_type::f32, key_type::i64, key_type::f64}) {
    for (const std::uint64_t n : {0u, 1u, 2u, 9u, 3000u}) {
      for (const direction d : {direction::ascending, direction::descending}) {
        const oracle made =
            make_oracle(type, n, {distribution_kind::special_floats}, seed_for(n), keys::is_descending(d));
        const counts sizes = random_sizes(random, n, num_shards);
        const auto in_order = made.keys_of_pairs();  // equal floats of any bits, in input order
        std::vector<std::byte> nearly(in_order.begin(), in_order.end());
        if (n > 2) std::swap_ranges(nearly.begin(), nearly.begin() + 1, nearly.end() - 1);
        EXPECT_TRUE(is_sorted_on(list, type, in_order, sizes, d)) << name(type) << ", " << n << " keys";
        EXPECT_TRUE(is_sorted_on(list, type, made.keys_alone(), sizes, d)) << name(type) << ", " << n << " keys";
        for (const std::span<const std::byte> bytes : {made.input(), std::span<const std::byte>(nearly)}) {
          EXPECT_EQ(is_sorted_on(list, type, bytes, sizes, d), detail::is_sorted({type, bytes.data(), n}, d))
              << name(type) << ", " << n << " keys, " << name(d);
        }
      }
    }
  }
}

TEST(ResidentArguments, OfAnOrderAreChecked) {
  std::vector<std::uint32_t> keys{4, 3, 2, 1};
  std::vector<std::uint32_t> indices(4, 9);
  const std::vector<shard> shards{{.keys = keys.data(), .num_keys = 2}, {.keys = keys.data() + 2, .num_keys = 2}};
  const auto failure = [&](const std::vector<void*>& arrays, std::uint64_t index_bytes, algorithm by) -> std::string {
    try {
      argsort({key_type::u32, shards}, arrays, index_bytes, {.devices = "host:2", .algorithm = by});
    } catch (const invalid_argument& e) {
      return e.what();
    }
    return "no exception";
  };
  const std::vector<void*> both{indices.data(), indices.data() + 2};
  const std::vector<void*> without{indices.data(), nullptr};
  EXPECT_EQ(failure({indices.data()}, 4, algorithm::automatic),
            "1 arrays of indices for 2 shards: expected one a shard");
  EXPECT_EQ(failure(both, 3, algorithm::automatic), "indices: expected 4 or 8 bytes each, found 3");
  EXPECT_EQ(failure(without, 4, algorithm::automatic), "shard 1: null pointer for its indices");
  EXPECT_EQ(failure(both, 4, algorithm::onesweep), "algorithm onesweep sorts one shard, not 2");
  EXPECT_EQ(indices, (std::vector<std::uint32_t>(4, 9)));
  EXPECT_EQ(failure(both, 4, algorithm::automatic), "no exception");
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{3, 2, 1, 0}));
}

/// Each shard is in order for itself; the bound between two of them is not.
TEST(ResidentOrder, BoundsBetweenShardsCount) {
  std::vector<float> keys{3, 4, 1, 2};
  const std::vector<shard> shards{{.keys = keys.data(), .num_keys = 2}, {}, {.keys = keys.data() + 2, .num_keys = 2}};
  EXPECT_FALSE(is_sorted({key_type::f32, shards}, {.devices = "host:3"}));
  keys = {0.0F, 0.0F, -0.0F, 2};
  EXPECT_TRUE(is_sorted({key_type::f32, shards}, {.devices = "host:3"}));
  EXPECT_FALSE(is_sorted({key_type::f32, shards}, direction::descending, {.devices = "host:3"}));
  EXPECT_THROW(static_cast<void>(is_sorted({key_type::f32, shards}, {.devices = "host:2"})), invalid_argument);
}

TEST(ResidentPlan, FusesUpToTheAdvisedSizeHoweverUnevenTheShards) {
  const std::string list = devices_under_test("host:4");
  if (list != "host:4") GTEST_SKIP() << "the size that GPUs advise cannot be shrunk";
  constexpr std::uint64_t segment_keys = 1024;
  sort_report report;
  report.wants_plan = true;
  const test_tuning tuning{.radix_bits = 12, .host_bucket_bytes = segment_keys * 4};
  const base::test_hooks_scope hooks(tuning.hooks());
  sort_options options = options_for(list, tuning);
  options.report = &report;
  const oracle expected = make_oracle(key_type::u32, 100'000, {distribution_kind::uniform}, seed_for(4), false);
  for (const counts& sizes : {counts{25'000, 25'000, 25'000, 25'000}, counts{97'000, 1000, 1000, 1000}}) {
    shards_under_test data(list, expected, sizes, sizes, 0);
    resident_sorter(options).sort({key_type::u32, data.shards()});
    ASSERT_TRUE(std::ranges::equal(data.all_keys(), expected.keys_alone()));
    std::uint64_t num_fused = 0;
    const nlohmann::json plan = nlohmann::json::parse(report.plan_json);
    for (const nlohmann::json& segment : plan.at("local_sorts")) {
      if (segment.at("num_buckets") == 1) continue;
      ++num_fused;
      EXPECT_LE(segment.at("count").get<std::uint64_t>(), segment_keys);
    }
    EXPECT_GT(num_fused, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, resident_test, testing::Values("host:1", "host:2", "host:3", "host:7"),
                         [](const auto& param) { return test_name(param.param); });

TEST(ResidentArguments, AreChecked) {
  const std::string list = devices_under_test("host:2");
  const oracle keys = make_oracle(key_type::u32, 100, {distribution_kind::uniform}, seed_for(3), false);
  const auto failure = [&](const auto& spoil, shard_sizes sizes = shard_sizes::as_given) -> std::string {
    shards_under_test data(list, keys, {50, 50}, {60, 60}, 0);
    spoil(data.shards());
    try {
      resident_sorter(options_for("host:2")).sort({key_type::u32, data.shards()}, direction::ascending, sizes);
    } catch (const invalid_argument& e) {
      return e.what();
    }
    return "no exception";
  };
  using shards = std::vector<shard>;
  EXPECT_EQ(failure([](shards&) {}), "no exception");
  EXPECT_EQ(failure([](shards& s) { s.pop_back(); }), "1 shards for 2 devices: expected one a device");
  EXPECT_EQ(failure([](shards& s) { s[1].capacity = 49; }), "shard 1: 50 keys, but room for 49");
  EXPECT_EQ(failure([](shards& s) { s[0].keys = nullptr; }), "shard 0: null pointer for its keys");
  EXPECT_EQ(failure([](shards& s) { s[0].keys = static_cast<std::byte*>(s[0].keys) + 2; }),
            "shard 0: keys are not aligned to 4 bytes");
  // On another device the shared memory is also foreign, which is found first.
  const std::string foreign = "shard 1: its keys do not lie in the memory of " + devices_of_list(list)[1];
  const bool is_foreign = devices_of_list(list)[0] != devices_of_list(list)[1];
  EXPECT_EQ(failure([](shards& s) { s[1].keys = static_cast<std::byte*>(s[0].keys) + 4; }),
            is_foreign ? foreign : "memory of the shards overlaps");
  EXPECT_EQ(failure(
                [](shards& s) {
                  s[0].num_keys = 60;
                  s[1].num_keys = 0;
                  s[1].capacity = 10;
                },
                shard_sizes::balanced),
            "shard 1: room for 10 keys, but it may end with 30; keep the sizes as given, or give it more room");
  EXPECT_EQ(failure([](shards& s) { s[1].capacity = std::uint64_t{1} << 60; }),
            "shard 1: room for 1152921504606846976 keys cannot lie in memory");
  EXPECT_THROW(resident_sorter(options_for("host:2")).sort_pairs({key_type::u32, {}}, 3), invalid_argument);
  EXPECT_THROW(resident_sorter(sort_options{}), invalid_argument) << "devices by name are expected";
}

}  // namespace
}  // namespace spansort::test
