// SPDX-License-Identifier: Apache-2.0
#include "random_input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/math.hpp"
#include "simulation.hpp"
#include "support/environment.hpp"

namespace spansort::plan::test {

namespace {

std::vector<std::uint64_t> random_sizes(generator& random, const parameters& params) {
  std::vector<std::uint64_t> sizes = random_histogram(random, params.num_keys, params.num_ranks);
  if (pick(random, 0, 1) == 0) return sizes;
  for (std::uint64_t& size : sizes) {  // empties a third, neighbours and the ranks at the ends among them
    if (pick(random, 0, 2) == 0) sizes[pick(random, 0, sizes.size() - 1)] += std::exchange(size, 0);
  }
  return sizes;
}

}  // namespace

void for_each_seed(std::uint64_t num_seeds, const std::function<void(generator&)>& body) {
  const char* replay = std::getenv("SPANSORT_TEST_SEED");
  const std::uint64_t first = replay != nullptr ? std::stoull(replay) : 1;
  const std::uint64_t usual = spansort::test::is_small_scale() ? num_seeds / 4 : num_seeds;
  const std::uint64_t last = replay != nullptr ? first : usual;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("replay with SPANSORT_TEST_SEED=" + std::to_string(seed));
    generator random(seed);
    try {
      body(random);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (::testing::Test::HasFailure()) return;
  }
}

std::uint64_t pick(generator& random, std::uint64_t low, std::uint64_t high) {
  return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

parameters random_parameters(generator& random, std::uint64_t most_keys) {
  constexpr std::array<unsigned, 4> key_widths = {8, 16, 32, 64};
  constexpr std::array<double, 7> fractions = {0, 0.005, 0.01, 0.05, 0.3, 0.6, 1.5};
  parameters p;
  p.num_keys =
      pick(random, 0, 3) == 0 ? pick(random, 0, std::min<std::uint64_t>(most_keys, 70)) : pick(random, 0, most_keys);
  p.num_ranks = static_cast<unsigned>(pick(random, 0, 7) == 0 ? pick(random, 1, 64) : pick(random, 1, 9));
  p.key_bits = key_widths[pick(random, 0, key_widths.size() - 1)];
  p.radix_bits = static_cast<unsigned>(pick(random, 1, pick(random, 0, 3) == 0 ? 12 : 8));
  p.epsilon = fractions[pick(random, 0, fractions.size() - 1)];
  p.fuse_threshold = fractions[pick(random, 0, fractions.size() - 1)];
  return p;
}

void give_random_sizes(generator& random, parameters& params) {
  const std::uint64_t style = pick(random, 0, 3);
  if (style == 1 || style == 3) params.source_counts = random_sizes(random, params);
  if (style == 2 || style == 3) params.target_counts = random_sizes(random, params);
  if (style == 3 && pick(random, 0, 1) == 0) params.target_counts = params.source_counts;
  if (style >= 2 && pick(random, 0, 1) == 0) params.epsilon = 0;
}

std::vector<std::uint64_t> random_keys(generator& random, const parameters& params) {
  const std::uint64_t mask = base::low_mask(params.key_bits);
  const std::uint64_t style = pick(random, 0, 8);
  const std::uint64_t constant = random() & mask;
  const std::uint64_t num_low_bits = pick(random, 1, params.key_bits);
  const std::uint64_t num_distinct = pick(random, 1, 5);
  std::vector<std::uint64_t> distinct;
  for (std::uint64_t i = 0; i < num_distinct; ++i) distinct.push_back(random() & mask);

  std::vector<std::uint64_t> keys(params.num_keys);
  for (std::uint64_t& key : keys) {
    const std::uint64_t uniform = random() & mask;
    switch (style) {
      case 0: key = constant; break;
      case 1: key = distinct[pick(random, 0, num_distinct - 1)]; break;
      case 2: key = uniform & base::low_mask(static_cast<unsigned>(num_low_bits)); break;  // one spanning bucket
      case 3: key = uniform & random() & random() & mask; break;                           // entropy 3
      case 4: key = pick(random, 0, 9) == 0 ? uniform : constant; break;
      case 5: key = (constant & ~std::uint64_t{7}) | (uniform & 7); break;   // last digit only
      case 6: key = uniform >> pick(random, 0, params.key_bits - 1); break;  // heavy at small keys
      default: key = uniform; break;
    }
  }
  if (style == 7) std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<std::uint64_t> random_histogram(generator& random, std::uint64_t count, std::uint64_t num_buckets) {
  std::vector<std::uint64_t> histogram(num_buckets);
  const std::uint64_t style = pick(random, 0, 3);
  std::uint64_t left = count;
  if (style == 0) {  // most in one bucket
    const std::uint64_t most = left - left / 10;
    histogram[pick(random, 0, num_buckets - 1)] += most;
    left -= most;
  }
  const std::uint64_t num_used = style == 1 ? pick(random, 1, std::min<std::uint64_t>(num_buckets, 4)) : num_buckets;
  for (std::uint64_t i = 0; i + 1 < num_used && left != 0; ++i) {
    const std::uint64_t most = style == 2 ? left / 2 : std::min(left, 2 * (left / (num_used - i)) + 1);
    const std::uint64_t part = pick(random, 0, most);
    histogram[num_used == num_buckets ? i : pick(random, 0, num_buckets - 1)] += part;
    left -= part;
  }
  histogram[num_used == num_buckets ? num_buckets - 1 : pick(random, 0, num_buckets - 1)] += left;
  return histogram;
}

sort_plan random_plan(generator& random, const parameters& params) {
  planner p(params);
  while (!p.pending().empty()) {
    pass_histograms histograms;
    for (const refinement& r : p.pending()) {
      auto& of_refinement = histograms.emplace_back();
      for (const slice& part : r.slices) {
        of_refinement.push_back(random_histogram(random, part.count, r.digit.num_buckets()));
      }
    }
    p.add_pass(histograms);
  }
  return std::move(p).finish();
}

}  // namespace spansort::plan::test
