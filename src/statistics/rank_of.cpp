// SPDX-License-Identifier: Apache-2.0
// rank_of(): keys before, at and behind a value.
#include "spansort/errors.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {

key_rank statistics::rank_in(const ordered_keys& keys, std::uint64_t value_bits) {
  const tie_bounds ties = keys.ties_of(value_bits);
  const key_bound nans = keys.first_nan();
  const bool is_nan = !nans.is_end && !ties.begin.is_end && ties.begin.encoded == nans.encoded;
  // Ascending: the ties of NaN are themselves the last.
  const std::vector<std::uint64_t> before = keys.count_before({ties.begin, is_nan ? nans : ties.end, nans});
  const std::uint64_t num_keys = keys.num_keys();
  key_rank rank;
  rank.num_nans = num_keys - before[2];
  rank.num_less = before[0];
  rank.num_equal = (is_nan ? num_keys : before[1]) - before[0];
  rank.num_greater = num_keys - rank.num_less - rank.num_equal;
  return rank;
}

key_rank detail::rank_of(const_key_span keys, const void* value, const count_options& options) {
  if (value == nullptr) throw invalid_argument("rank_of: null pointer for the value");
  const auto opened = statistics::open_keys(keys, {options.order, options.devices, options.threads});
  return statistics::rank_in(*opened, statistics::bits_of_key(value, 0, opened->key_bytes()));
}

}  // namespace spansort
