// SPDX-License-Identifier: Apache-2.0
// This header says where one read of a selection cuts the keys, and what its counts say. Arithmetic only: no device, no
// keys but a sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/rank_sampler.hpp"

namespace spansort::statistics {

/// Encoded keys between two, both included, and how many of the data are below and within.
struct value_range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t num_below = 0;
  std::uint64_t num_within = 0;

  friend bool operator==(const value_range&, const value_range&) = default;
};

/// A rank that is looked for, and where it is known to be.
struct target {
  std::uint64_t rank = 0;
  std::size_t slot = 0;  ///< of the answer
  value_range range;
};

/// Encoded keys taken evenly from the data in runs of neighbours. The runs may be alike inside: how they differ from
/// each other says how far the sample can be trusted.
struct key_sample {
  std::vector<std::uint64_t> keys;  ///< run after run
  std::uint64_t run_keys = 1;       ///< of each, or less
};

/// One read.
struct read_plan {
  std::vector<std::uint64_t> splitters;
  std::uint64_t marked = 0;
  std::uint64_t most_collected = 0;  ///< room for so many keys
};

/// Targets that one plan has room for.
inline constexpr std::size_t max_targets = 8;

/// Data of which `num_keys` is left: what may be collected from it, so that little is left to do.
[[nodiscard]] constexpr std::uint64_t collectable_keys(std::uint64_t num_keys) noexcept { return num_keys / 8; }

/// Cuts closely around where the sample says that the targets are, and collects between. Values that the cuts meet and
/// that are many are set apart and not collected. `max_key`: the highest encoding.
[[nodiscard]] read_plan plan_by_sample(const key_sample& sample, std::span<const target> targets,
                                       std::uint64_t num_keys, std::uint64_t max_key);

/// Plans as plan_by_sample() does, for a sample of which only what is around each target is known, as bracket_targets()
/// finds it.
[[nodiscard]] read_plan plan_by_brackets(std::span<const device::rank_bracket> brackets, std::uint64_t num_sampled,
                                         std::uint64_t num_keys, std::uint64_t max_key);

/// Returns where each target is in a sorted sample of so many keys.
[[nodiscard]] std::vector<std::uint64_t> places_of(std::span<const target> targets, std::uint64_t num_sampled,
                                                   std::uint64_t num_keys);
/// Returns the sum of the squared differences between neighbouring runs' numbers of keys below `key`: what
/// device::sample_reach() takes. Sorted data has hardly any.
[[nodiscard]] std::uint64_t sum_of_squares_below(const key_sample& sample, std::uint64_t key);
/// Returns what lies around `places` in the sample.
[[nodiscard]] std::vector<device::rank_bracket> bracket_targets(const key_sample& sample,
                                                                std::span<const std::uint64_t> places);

/// Plans for targets whose ranges the counts have shown: collects the ranges where they are small enough together.
/// Otherwise cuts large ones by their values, and by the sample besides, and collects nothing.
[[nodiscard]] read_plan plan_by_ranges(const key_sample& sample, std::span<const target> targets,
                                       std::uint64_t num_keys, std::uint64_t max_key);

/// The interval that holds `rank`, and its bounds. `counts` are those of the plan's intervals.
struct located_interval {
  std::size_t interval = 0;
  value_range range;
};
[[nodiscard]] located_interval locate(std::uint64_t rank, const read_plan& plan, std::span<const std::uint64_t> counts,
                                      std::uint64_t max_key);

}  // namespace spansort::statistics
