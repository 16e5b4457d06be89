// SPDX-License-Identifier: Apache-2.0
// top_k() and bottom_k(): the bound key by selection, what is before it collected and sorted.
#include "spansort/top_k.hpp"

#include <algorithm>
#include <string>

#include "base/threads.hpp"
#include "spansort/errors.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {

std::uint64_t statistics::num_firsts(const ordered_keys& keys, std::uint64_t k, nan_policy nans) {
  const std::uint64_t num_keys = keys.num_keys();
  const key_bound first_nan = keys.first_nan();
  if (nans == nan_policy::propagate || first_nan.is_end) return std::min(k, num_keys);
  if (num_keys == 0 || (k == 0 && nans == nan_policy::omit)) return 0;
  const std::uint64_t num_numbers = keys.count_before({first_nan})[0];
  if (nans == nan_policy::error && num_numbers != num_keys) {
    throw bad_input("top_k: " + std::to_string(num_keys - num_numbers) + " of " + std::to_string(num_keys) +
                    " keys are NaN");
  }
  return std::min(k, num_numbers);
}

std::vector<std::byte> detail::first_keys(const_key_span keys, std::uint64_t k, bool descending,
                                          const top_options& options) {
  const auto opened = statistics::open_keys(keys, {options.order, options.devices, options.threads}, descending);
  return opened->slice(0, statistics::num_firsts(*opened, k, options.nans));
}

std::vector<std::uint64_t> detail::first_indices(const_key_span keys, std::uint64_t k, bool descending,
                                                 const top_options& options) {
  const auto opened = statistics::open_keys(keys, {options.order, options.devices, options.threads}, descending);
  const std::uint64_t num_firsts = statistics::num_firsts(*opened, k, options.nans);
  return base::with_threads(options.threads, [&] { return opened->first_positions(num_firsts); });
}

}  // namespace spansort
