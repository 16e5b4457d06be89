// SPDX-License-Identifier: Apache-2.0
// Cuts of sorted runs that nobody sees as a whole, found from samples: what is known of a cut is a bracket in every
// run, and the keys at regular places within the brackets narrow it. After a few rounds the cut is exact. It is where
// split_runs() cuts: in the order of key, run and position, so that equal keys are cut anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spansort::plan {

/// Records of run i before low[i] lie before the cut; none from high[i] on does.
struct cut_bracket {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> high;

  [[nodiscard]] bool is_closed() const { return low == high; }
};

/// The most places at which a run is sampled in a round. With 15 or more every round narrows an open bracket; each
/// leaves about 4 / samples_of_a_run of what was between its ends.
inline constexpr std::uint64_t samples_of_a_run = 64;

/// Returns what the sizes alone say of the cut behind the first `num_first` records of all.
[[nodiscard]] cut_bracket first_bracket(std::span<const std::uint64_t> run_sizes, std::uint64_t num_first);

/// Returns the positions at which a run is looked at: all in [low, high) where they are few, else equally far apart.
[[nodiscard]] std::vector<std::uint64_t> sample_positions(std::uint64_t low, std::uint64_t high);

/// Narrows the bracket of the cut behind the first `num_first` records. `keys[i]` are the encoded keys of run i at the
/// sample_positions() of its bracket.
void narrow(cut_bracket& bracket, std::uint64_t num_first, const std::vector<std::vector<std::uint64_t>>& keys);

}  // namespace spansort::plan
