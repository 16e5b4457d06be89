// SPDX-License-Identifier: Apache-2.0
// Sorts over node ranks give the bytes of one machine: every type, distribution and algorithm, parts of any sizes.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/test_hooks.hpp"
#include "keys/codec.hpp"
#include "mpi/cluster_case.hpp"
#include "spansort/report.hpp"

namespace spansort::test {
namespace {

constexpr key_type all_types[] = {key_type::u8,  key_type::i8,  key_type::u16,  key_type::i16,
                                  key_type::u32, key_type::i32, key_type::u64,  key_type::i64,
                                  key_type::f16, key_type::f32, key_type::bf16, key_type::f64};

/// A small world: many messages, several passes.
mpi::options small_world(const std::string& algorithm) {
  const std::string devices = algorithm == "distributed_lsd" ? "host:1" : test_devices("host:1");
  mpi::options options{.devices = devices, .algorithm = mpi::parse_algorithm(algorithm), .message_bytes = 1000};
  options.tuning.radix_bits = algorithm == "distributed_lsd" ? 8 : 4;
  return options;
}

class cluster_sort : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] mpi::options world() const { return small_world(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(by, cluster_sort,
                         testing::Values("distributed_rmg", "distributed_lsd", "distributed_sample_sort"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(cluster_sort, EveryTypeAndDistribution) {
  mpi::session session(MPI_COMM_WORLD, world());
  for (const key_type type : all_types) {
    for (const distribution& d : all_distributions()) {
      spread_input input({.type = type, .keys = d, .num_keys = 3001, .sizes = spread::rising});
      session.sort(input.span());
      EXPECT_EQ(input.diagnose(), "") << name(type) << ' ' << to_string(d);
    }
  }
}

TEST_P(cluster_sort, PairsAreStable) {
  mpi::session session(MPI_COMM_WORLD, world());
  for (const key_type type : {key_type::u8, key_type::f32, key_type::i64}) {
    for (const std::uint64_t value_bytes : {1U, 4U, 7U, 8U, 16U, 24U}) {
      const cluster_case c{type, {distribution_kind::entropy, 4}, 2500, spread::even, value_bytes};
      spread_input ascending(c);
      session.sort_pairs(ascending.span(), ascending.values.data(), value_bytes);
      EXPECT_EQ(ascending.diagnose(), "") << name(type) << ", values of " << value_bytes;
      spread_input reversed(c, true);
      session.sort_pairs(reversed.span(), reversed.values.data(), value_bytes, direction::descending);
      EXPECT_EQ(reversed.diagnose(), "") << name(type) << " descending, values of " << value_bytes;
    }
  }
}

TEST_P(cluster_sort, ASessionMayBeMoved) {
  int rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  mpi::session made(MPI_COMM_WORLD, world());
  mpi::session session(std::move(made));
  EXPECT_EQ(session.node_rank(), static_cast<unsigned>(rank));
  EXPECT_EQ(session.num_nodes(), static_cast<unsigned>(num_ranks));
  mpi::session assigned(MPI_COMM_WORLD, world());
  assigned = std::move(session);
  spread_input input({.type = key_type::u32, .keys = {}, .num_keys = 1000, .sizes = spread::even});
  assigned.sort(input.span());
  EXPECT_EQ(input.diagnose(), "");
}

TEST_P(cluster_sort, AllSizesAndSpreads) {
  mpi::session session(MPI_COMM_WORLD, world());
  for (const spread sizes : {spread::even, spread::rising, spread::one_has_all, spread::last_has_none}) {
    for (const std::uint64_t num_keys : {0U, 1U, 2U, 3U, 6U, 7U, 8U, 100U, 1000U}) {
      for (const distribution_kind kind : {distribution_kind::uniform, distribution_kind::zero}) {
        spread_input input({.type = key_type::u32, .keys = {kind}, .num_keys = num_keys, .sizes = sizes});
        session.sort(input.span());
        EXPECT_EQ(input.diagnose(), "") << num_keys << " keys, spread " << static_cast<int>(sizes);
      }
    }
  }
}

TEST_P(cluster_sort, IndicesCountThroughAllParts) {
  mpi::session session(MPI_COMM_WORLD, world());
  spread_input input({.type = key_type::i16, .keys = {}, .num_keys = 70000, .sizes = spread::rising});
  const std::vector<std::byte> before = input.keys;
  std::vector<std::uint64_t> indices(input.count());
  session.argsort(input.span(), indices.data());
  const std::span<const std::uint64_t> order(input.expected().order());
  EXPECT_TRUE(std::ranges::equal(indices, order.subspan(input.first(), input.count())));
  EXPECT_EQ(input.keys, before);
}

template <class K>
void expect_balanced(mpi::session& session, const distribution& d, spread sizes) {
  spread_input input({.type = key_traits<K>::type, .keys = d, .num_keys = 20011, .sizes = sizes, .value_bytes = 8});
  std::vector<K> keys(input.count());
  std::vector<std::uint64_t> values(input.count());
  if (!keys.empty()) {
    std::memcpy(keys.data(), input.keys.data(), input.keys.size());
    std::memcpy(values.data(), input.values.data(), input.values.size());
  }
  session.sort_pairs_balanced(keys, values);
  ASSERT_EQ(keys.size(), values.size());
  std::uint64_t count = keys.size();
  EXPECT_LE(static_cast<double>(count), 1.05 * static_cast<double>(input.total()) / world_size() + 1);
  std::uint64_t upto = 0;
  MPI_Scan(&count, &upto, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank() + 1 == world_size()) {
    EXPECT_EQ(upto, input.total());
  }
  const auto keys_bytes = std::as_bytes(std::span(keys));
  const auto values_bytes = std::as_bytes(std::span(values));
  input.keys.assign(keys_bytes.begin(), keys_bytes.end());
  input.values.assign(values_bytes.begin(), values_bytes.end());
  EXPECT_EQ(input.diagnose(upto - count, count), "") << to_string(d);
}

TEST_P(cluster_sort, BalancesAlsoEqualKeys) {
  mpi::session session(MPI_COMM_WORLD, world());
  for (const distribution_kind kind : {distribution_kind::uniform, distribution_kind::zero, distribution_kind::zipf}) {
    for (const spread sizes : {spread::rising, spread::one_has_all}) {
      expect_balanced<std::uint32_t>(session, {kind, 1.0}, sizes);
      expect_balanced<double>(session, {kind, 1.0}, sizes);
    }
  }
}

TEST(cluster_sort_devices, SeveralOnEachNodeRank) {
  // Also with memory of their own, whose messages pass through slots, and a different number on each node rank.
  for (const bool is_separate : {false, true}) {
    for (const bool is_uneven : {false, true}) {
      mpi::options options = small_world("auto");
      options.devices = is_uneven ? "host:" + std::to_string(1 + world_rank() % 3) : "host:3";
      const base::test_hooks_scope hooks({.host_separate_memory = is_separate, .copy_piece_bytes = 5000});
      mpi::session session(MPI_COMM_WORLD, options);
      for (const distribution& d : all_distributions()) {
        spread_input input({key_type::i32, d, 9000, spread::rising, 4});
        session.sort_pairs(input.span(), input.values.data(), 4);
        EXPECT_EQ(input.diagnose(), "") << to_string(d) << (is_separate ? ", separate" : "");
      }
      expect_balanced<std::uint64_t>(session, {distribution_kind::zipf, 1.0}, spread::rising);
    }
  }
}

TEST(cluster_sort_devices, OneReportThatWantsThePlan) {
  if (world_size() == 1) GTEST_SKIP() << "a node rank that is alone plans nothing";
  std::vector<std::uint64_t> exchanged_bytes;
  for (const bool wants_plan : {false, true}) {
    sort_report report;
    report.wants_plan = wants_plan && world_rank() == 0;
    mpi::options options = small_world("distributed_rmg");
    options.devices = "host:2";
    options.report = &report;
    mpi::session session(MPI_COMM_WORLD, options);
    spread_input input({key_type::u32, {distribution_kind::entropy, 3}, 9000, spread::rising, 4});
    session.sort_pairs(input.span(), input.values.data(), 4);
    EXPECT_EQ(input.diagnose(), "");
    exchanged_bytes.push_back(report.exchanged_bytes);
    ASSERT_EQ(report.plan_json.empty(), !report.wants_plan);
    if (!report.wants_plan) continue;
    const nlohmann::json plan = nlohmann::json::parse(report.plan_json);
    EXPECT_EQ(plan["parameters"]["num_ranks"], 2 * world_size());
    std::uint64_t num_keys = 0;
    for (const nlohmann::json& t : plan["transfers"]) num_keys += t["count"].get<std::uint64_t>();
    EXPECT_EQ(num_keys, input.total());
  }
  EXPECT_EQ(exchanged_bytes[0], exchanged_bytes[1]);
}

TEST(cluster_sort_devices, SampleSortOnDevicesWithMemoryOfTheirOwn) {
  const base::test_hooks_scope hooks({.host_separate_memory = true});
  mpi::options options = small_world("distributed_sample_sort");
  options.devices = "host:1";
  mpi::session session(MPI_COMM_WORLD, options);
  for (const distribution& d : all_distributions()) {
    spread_input input({key_type::f32, d, 9000, spread::rising, 8});
    session.sort_pairs(input.span(), input.values.data(), 8);
    EXPECT_EQ(input.diagnose(), "") << to_string(d);
  }
}

TEST(cluster_sort_devices, SampleSortEndsInEqualParts) {
  mpi::session session(MPI_COMM_WORLD, small_world("distributed_sample_sort"));
  std::vector<std::uint8_t> keys(world_rank() * 1000 + 77);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint8_t>(i % 3);
  std::uint64_t total = keys.size();
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  session.sort_balanced(keys);
  EXPECT_LE(keys.size(), total / world_size() + 1);
  EXPECT_GE(keys.size(), total / world_size());
}

TEST(cluster_sort_devices, SampleSortRefusesSeveralDevices) {
  mpi::options options = small_world("distributed_sample_sort");
  options.devices = "host:2";
  std::vector<int> keys{3, 1, 2};
  try {
    mpi::sort(keys, MPI_COMM_WORLD, options);
    ADD_FAILURE() << "no exception";
  } catch (const invalid_argument& failure) {
    EXPECT_NE(std::string(failure.what()).find("one device in each process"), std::string::npos) << failure.what();
  }
  EXPECT_EQ(keys, (std::vector<int>{3, 1, 2}));
}

TEST(cluster_sort_devices, LargeMessages) {
  for (const mpi::exchange_method exchange : {mpi::exchange_method::automatic, mpi::exchange_method::host}) {
    mpi::options options{.devices = test_devices("host:1"), .exchange = exchange, .message_bytes = 1 << 17};
    mpi::session session(MPI_COMM_WORLD, options);
    for (const distribution_kind kind : {distribution_kind::uniform, distribution_kind::zipf}) {
      spread_input input({key_type::u64, {kind, 1.0}, 200'000, spread::even, 8});
      session.sort_pairs(input.span(), input.values.data(), 8);
      EXPECT_EQ(input.diagnose(), "") << name(exchange);
    }
  }
}

TEST(cluster_sort_devices, EveryRadixWidth) {
  for (const unsigned radix_bits : {0, 1, 4, 8, 11, 12, 13, 16}) {
    mpi::options options = small_world("distributed_lsd");
    options.tuning.radix_bits = radix_bits;
    spread_input input({key_type::f32, {distribution_kind::special_floats}, 5000, spread::even, 8});
    mpi::session(MPI_COMM_WORLD, options).sort_pairs(input.span(), input.values.data(), 8);
    EXPECT_EQ(input.diagnose(), "") << radix_bits;
  }
}

TEST(cluster_sort_devices, RepeatsAndFreeFunctions) {
  std::vector<std::uint64_t> keys(world_rank() * 100);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = (i * 7919 + world_rank()) % 1000;
  std::vector<std::uint64_t> again = keys;
  mpi::sort(keys, MPI_COMM_WORLD);
  mpi::sort(again, MPI_COMM_WORLD);
  EXPECT_EQ(keys, again);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(mpi::argsort(keys, MPI_COMM_WORLD).size(), keys.size());
}

// ---- what all ranks see together ends the call on all of them, and the session goes on

TEST(cluster_trouble, SettingsThatDiffer) {
  if (world_size() == 1) GTEST_SKIP() << "needs several node ranks";
  std::vector<int> keys(10);
  try {
    mpi::sort(keys, MPI_COMM_WORLD, keys::direction_of(world_rank() == 1), small_world("auto"));
    ADD_FAILURE() << "no exception";
  } catch (const invalid_argument& failure) {
    EXPECT_STREQ(failure.what(),
                 "the node ranks were given different settings; node rank 1 has order descending where node rank 0 has "
                 "order ascending");
  }
}

TEST(cluster_trouble, OneCannotBegin) {
  mpi::options options = small_world("auto");
  const base::test_hooks_scope hooks({.fail_allocation_at = world_rank() == 0 ? 1U : 0U});
  mpi::session session(MPI_COMM_WORLD, options);
  spread_input input({.num_keys = 1000});
  if (world_rank() == 0) {
    EXPECT_THROW(session.sort(input.span()), out_of_memory);
  } else {
    EXPECT_THROW(session.sort(input.span()), cluster_failure);
  }
  session.sort(input.span());
  EXPECT_EQ(input.diagnose(), "");
}

TEST(cluster_trouble, ArgumentsThatCannotBe) {
  mpi::options options = small_world("auto");
  options.tuning.radix_bits = 13;
  std::vector<int> keys(10);
  EXPECT_THROW(mpi::sort(keys, MPI_COMM_WORLD, options), invalid_argument);
  options = small_world("distributed_lsd");
  options.tuning.radix_bits = 17;
  EXPECT_THROW(mpi::sort(keys, MPI_COMM_WORLD, options), invalid_argument);
  EXPECT_THROW(static_cast<void>(mpi::parse_algorithm("bogo")), invalid_argument);
  EXPECT_THROW(static_cast<void>(mpi::parse_exchange_method("carrier pigeon")), invalid_argument);
  EXPECT_THROW(mpi::sort(keys, MPI_COMM_NULL), invalid_argument);
  mpi::session session(MPI_COMM_WORLD);
  EXPECT_THROW(session.sort_pairs(key_span{key_type::u32, keys.data(), 10}, nullptr, 4), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
