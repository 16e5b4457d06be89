// SPDX-License-Identifier: Apache-2.0
// A quantile position says where in the sorted data a quantile lies: one or two ranks, and the weight between them.
// Pure arithmetic on counts, so that whoever finds keys by rank (a sort, a select, a look into sorted data, shards)
// gives the same answer. Definitions: Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996; NumPy 2.4;
// Spafford 2011, section I.A.
//
// Use:  const quantile_position at = position_of(n, 0.9, method);
//       double result = quantile_value(method, at, key at at.lower_rank, key at at.upper_rank);
#pragma once

#include <cstdint>

#include "spansort/statistics.hpp"

namespace spansort::statistics {

/// Ranks count from 0 in ascending order; lower_rank <= upper_rank <= lower_rank + 1 and upper_rank < n.
struct quantile_position {
  std::uint64_t lower_rank = 0;
  std::uint64_t upper_rank = 0;
  double weight =
      1;  ///< of the upper key, in [0, 1]. Equal ranks: 1, or 0 where NumPy's arithmetic turns -0.0 into +0.0
  friend bool operator==(const quantile_position&, const quantile_position&) = default;
};

/// The position among up to so many keys is computed in double, in NumPy's order of operations, so that order ranks and
/// weight are NumPy's also where these round. Above, doubles have less than two bits left behind the point, and soon
/// none (2^53): there ranks are exact for the q given, and the weight is good to its last bits.
inline constexpr std::uint64_t largest_numpy_count = std::uint64_t{1} << 51;

/// Position of the q-quantile of `num_keys` keys. For one method and count, a larger q never gives an earlier position.
/// Throws bad_input for no keys, invalid_argument for q outside [0, 1] and for a q that `tukey` does not know.
[[nodiscard]] quantile_position position_of(std::uint64_t num_keys, double q, quantile_method method);

/// The quantile, from the keys at the two ranks; neither is NaN. `tukey` takes their mean, all others interpolate().
[[nodiscard]] double quantile_value(quantile_method method, const quantile_position& position, double lower_key,
                                    double upper_key) noexcept;

}  // namespace spansort::statistics
