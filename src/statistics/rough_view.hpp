// SPDX-License-Identifier: Apache-2.0
// A rough view says about where keys of certain ranks are, and how many lie before a value, as far as a sample or the
// counts of a read tell.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "statistics/interval_index.hpp"

namespace spansort::statistics {

/// The knowledge of ranks and values before the keys that are meant have been collected.
struct rough_view {
  std::uint64_t num_numbers = 0;
  /// The range of the keys that a quantile lies between, of numbers.
  std::function<encoded_range(double q)> around_quantile;
  /// Keys of the numbers' first and last so many; ends at one that is so far out, or a little further in.
  std::function<std::uint64_t(std::uint64_t rank)> end_of_first;
  std::function<std::uint64_t(std::uint64_t rank)> begin_of_last;
  std::function<std::uint64_t(std::uint64_t bound)> about_before;
};

/// Encoded keys in runs of neighbours, as they were taken.
struct sampled_keys {
  std::vector<std::uint64_t> keys;
  std::uint64_t run_keys = 1;
};

/// `index` has no counts yet, and outlives the view; `last_number`: the greatest encoded key that is no NaN.
[[nodiscard]] rough_view view_of_sample(const sampled_keys& sample, const interval_index& index,
                                        std::uint64_t last_number);

/// `index` has counts, and outlives the view; `num_numbers`: of its keys.
[[nodiscard]] rough_view view_of_index(const interval_index& index, std::uint64_t num_numbers);

}  // namespace spansort::statistics
