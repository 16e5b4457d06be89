// SPDX-License-Identifier: Apache-2.0
// Order statistics over node ranks are those of one process with all keys.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/test_hooks.hpp"
#include "keys/codec.hpp"
#include "mpi/cluster_case.hpp"

namespace spansort::test {
namespace {

mpi::options one_thread() { return {.devices = test_devices("host:1")}; }

/// Returns whether two numbers have the same bits; any NaN is as good as another.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void expect_same(const summary& one, const summary& all, bool has_exact_mean) {
  EXPECT_EQ(one.count, all.count);
  EXPECT_EQ(one.nan_count, all.nan_count);
  EXPECT_EQ(one.num_outliers_below, all.num_outliers_below);
  EXPECT_EQ(one.num_outliers_above, all.num_outliers_above);
  EXPECT_TRUE(same(one.minimum, all.minimum) && same(one.lower_quartile, all.lower_quartile) &&
              same(one.median, all.median) && same(one.upper_quartile, all.upper_quartile) &&
              same(one.maximum, all.maximum));
  EXPECT_TRUE(same(one.whisker_low, all.whisker_low) && same(one.whisker_high, all.whisker_high));
  EXPECT_TRUE(std::ranges::equal(one.normal_seven, all.normal_seven, same));
  EXPECT_TRUE(std::ranges::equal(one.outliers, all.outliers, same));
  if (has_exact_mean || !std::isfinite(one.mean)) {
    EXPECT_TRUE(same(one.mean, all.mean)) << one.mean << ' ' << all.mean;
  } else {
    EXPECT_NEAR(one.mean, all.mean, std::abs(one.mean) * 1e-12);
  }
}

class cluster_statistics : public testing::TestWithParam<key_type> {};

INSTANTIATE_TEST_SUITE_P(of, cluster_statistics,
                         testing::Values(key_type::u8, key_type::i32, key_type::f32, key_type::u64, key_type::f64),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(cluster_statistics, AreThoseOfOneProcess) {
  mpi::session session(MPI_COMM_WORLD, one_thread());
  const std::vector<double> q{0, 0.01, 0.25, 0.3, 0.5, 0.75, 0.999, 1};
  for (const distribution& d : all_distributions()) {
    // Less than the sample; and more, which takes seconds where all node ranks share a few cores.
    std::vector<std::uint64_t> sizes{1, 2, 1001};
    if (d.kind == distribution_kind::zipf || d.kind == distribution_kind::special_floats) sizes.push_back(150'000);
    for (const std::uint64_t num_keys : sizes) {
      const cluster_case c{.type = GetParam(), .keys = d, .num_keys = num_keys, .sizes = spread::rising};
      spread_input input(c);
      if (input.total() == 0) continue;  // one node rank that rises from nothing
      const const_key_span whole{c.type, input.expected().input().data(), input.total()};
      const std::vector<std::byte> before = input.keys;
      std::vector<nan_policy> policies{nan_policy::propagate};
      if (d.kind == distribution_kind::special_floats) policies.push_back(nan_policy::omit);
      for (const nan_policy nans : policies) {
        const std::vector<double> one = quantiles(whole, q, {.method = quantile_method::median_unbiased, .nans = nans});
        const std::vector<double> all =
            session.quantiles(input.span(), q, {.method = quantile_method::median_unbiased, .nans = nans});
        EXPECT_TRUE(std::ranges::equal(one, all, same)) << to_string(d) << ' ' << num_keys;
        const summary_options options{.nans = nans, .most_outliers = 20};
        const bool has_exact_mean = c.type != key_type::f32 && c.type != key_type::f64;
        expect_same(summarize(whole, options), session.summarize(input.span(), options), has_exact_mean);
      }
      EXPECT_EQ(input.keys, before);
    }
  }
}

TEST(cluster_statistics_spread, AnySpreadGivesTheSame) {
  mpi::session session(MPI_COMM_WORLD, one_thread());
  const std::vector<double> q{0.25, 0.5, 0.75};
  for (const spread sizes : {spread::even, spread::one_has_all, spread::last_has_none}) {
    spread_input input({key_type::f64, {distribution_kind::normal}, 200'000, sizes, 0});
    if (input.total() == 0) continue;
    const const_key_span whole{key_type::f64, input.expected().input().data(), input.total()};
    EXPECT_EQ(quantiles(whole, q), session.quantiles(input.span(), q));
  }
}

TEST(cluster_statistics_spread, SeveralDevicesWithMemoryOfTheirOwn) {
  mpi::options options{.devices = "host:2"};
  const base::test_hooks_scope hooks({.host_separate_memory = true});
  mpi::session session(MPI_COMM_WORLD, options);
  spread_input input({key_type::u32, {distribution_kind::zipf, 1.0}, 200'000, spread::rising, 0});
  if (input.total() == 0) GTEST_SKIP() << "one node rank that rises from nothing";
  const const_key_span whole{key_type::u32, input.expected().input().data(), input.total()};
  expect_same(summarize(whole), session.summarize(input.span()), true);
}

TEST(cluster_statistics_spread, WhiskersAtPercentilesAreThoseOfOneProcess) {
  mpi::session session(MPI_COMM_WORLD, one_thread());
  spread_input input({key_type::f32, {}, 5000, spread::one_has_all, 0});
  const const_key_span whole{key_type::f32, input.expected().input().data(), input.total()};
  const summary_options options{.whiskers = {.percentiles = percentile_pair{10, 85.5}}};
  const summary one = summarize(whole, options);
  expect_same(one, session.summarize(input.span(), options), false);
  EXPECT_GT(one.num_outliers_below, 0u);
}

TEST(cluster_statistics_spread, OrderRanksAndFirstKeysAreThoseOfOneProcess) {
  mpi::session session(MPI_COMM_WORLD, one_thread());
  for (const key_type type : {key_type::u8, key_type::i32, key_type::f64}) {
    for (const spread sizes : {spread::even, spread::one_has_all, spread::last_has_none}) {
      spread_input input({type, {distribution_kind::special_floats}, 3000, sizes, 0});
      if (input.total() == 0) continue;
      const const_key_span whole{type, input.expected().input().data(), input.total()};
      for (const nan_policy nans : {nan_policy::omit, nan_policy::propagate}) {
        for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, input.total() / 3, input.total() + 1}) {
          EXPECT_EQ(session.top_k(input.span(), k, {.nans = nans}), top_k(whole, k, {.nans = nans})) << name(type);
          EXPECT_EQ(session.bottom_k(input.span(), k, {.nans = nans}), bottom_k(whole, k, {.nans = nans}))
              << name(type);
        }
      }
      const void* const value = input.expected().input().data() + (input.total() / 2) * size_bytes(type);
      EXPECT_EQ(session.rank_of(input.span(), value), rank_of(whole, value)) << name(type);
      EXPECT_FALSE(session.is_sorted(input.span())) << name(type);
      for (const direction d : {direction::ascending, direction::descending}) {
        session.sort(input.span(), d);
        EXPECT_TRUE(session.is_sorted(input.span(), d)) << name(type);
        EXPECT_FALSE(session.is_sorted(input.span(), keys::direction_of(d == direction::ascending))) << name(type);
      }
    }
  }
}

/// Each part is in order, but the second begins before the first ends.
TEST(cluster_statistics_spread, PartsInOrderAreNotYetAWholeInOrder) {
  mpi::session session(MPI_COMM_WORLD, one_thread());
  const auto first = static_cast<int>(10 * (world_size() - world_rank()));
  const std::vector<int> keys{first, first + 1};
  EXPECT_EQ(session.is_sorted(keys), world_size() == 1);
  EXPECT_EQ(session.is_sorted(std::vector<int>{}), true);
  EXPECT_EQ(session.rank_of(keys, 10).num_less, 0u);
}

TEST(cluster_statistics_trouble, AllAreTold) {
  std::vector<double> keys;
  const std::vector<double> q{0.5};
  EXPECT_THROW(static_cast<void>(mpi::quantiles(keys, q, MPI_COMM_WORLD)), bad_input);
  keys = {1, 2, std::nan("")};
  mpi::session session(MPI_COMM_WORLD, one_thread());
  EXPECT_THROW(static_cast<void>(session.quantiles(keys, q, {.nans = nan_policy::error})), bad_input);
  const std::vector<double> wrong{2.0};
  EXPECT_THROW(static_cast<void>(session.quantiles(keys, wrong)), invalid_argument);
  EXPECT_EQ(session.quantiles(keys, q, {.nans = nan_policy::omit}), std::vector<double>{1.5});
  if (world_size() == 1) return;
  const std::vector<double> differs{world_rank() == 1 ? 0.25 : 0.5};
  EXPECT_THROW(static_cast<void>(session.quantiles(keys, differs)), invalid_argument);
}

TEST(cluster_statistics_trouble, WhiskersThatOneNodeRankGivesAreRefusedOnAll) {
  mpi::session session(MPI_COMM_WORLD, one_thread());
  const std::vector<double> keys{1, 2, 3};
  const auto refusal_of = [&](const whisker_rule& whiskers) -> std::string {
    try {
      static_cast<void>(session.summarize(keys, {.whiskers = whiskers}));
    } catch (const invalid_argument& refused) {
      EXPECT_TRUE(session.all_know_of_failure());
      return refused.what();
    }
    return "";
  };
  // What cannot be is no less a difference than what can.
  const bool differs = world_rank() + 1 == world_size();
  const std::string of_wrong = refusal_of({.iqr_factor = differs ? -1 : 1.5});
  const std::string of_percentiles =
      refusal_of({.percentiles = differs ? percentile_pair{5, 95} : percentile_pair{90, 10}});
  const std::string different = "the node ranks were given different settings";
  EXPECT_EQ(of_wrong.starts_with(different), world_size() > 1) << of_wrong;
  EXPECT_EQ(of_percentiles.starts_with(different), world_size() > 1) << of_percentiles;
  EXPECT_NE(refusal_of({.iqr_factor = -1}), "");
  EXPECT_EQ(session.summarize(keys).count, 3 * world_size()) << "the session serves on";
}

}  // namespace
}  // namespace spansort::test
