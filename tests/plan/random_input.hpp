// SPDX-License-Identifier: Apache-2.0
// Random plans for property tests. Every test runs over consecutive seeds and names the seed that failed; setting
// SPANSORT_TEST_SEED runs that one alone.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "plan/planner.hpp"

namespace spansort::plan::test {

using generator = std::mt19937_64;

/// Calls `body` with a generator for each of `num_seeds` seeds; stops at the first that fails.
void for_each_seed(std::uint64_t num_seeds, const std::function<void(generator&)>& body);

/// Uniform in [low, high].
[[nodiscard]] std::uint64_t pick(generator& random, std::uint64_t low, std::uint64_t high);

/// Ranks, digits, slack and fusing of all kinds, equal chunks and parts; num_keys up to `most_keys`, small ones often.
[[nodiscard]] parameters random_parameters(generator& random, std::uint64_t most_keys);

/// Gives three of four plans uneven chunks, parts or both, with ranks that have none among them; uneven parts often
/// without slack. num_keys and num_ranks stay as they are from here on.
void give_random_sizes(generator& random, parameters& params);

/// One of a dozen distributions, from uniform to all equal.
[[nodiscard]] std::vector<std::uint64_t> random_keys(generator& random, const parameters& params);

/// `count` keys over `num_buckets`, from spread evenly to all in one bucket.
[[nodiscard]] std::vector<std::uint64_t> random_histogram(generator& random, std::uint64_t count,
                                                          std::uint64_t num_buckets);

/// A plan of histograms that no keys stand behind, so that counts may be of any size.
[[nodiscard]] sort_plan random_plan(generator& random, const parameters& params);

}  // namespace spansort::plan::test
