// SPDX-License-Identifier: Apache-2.0
// top_k() and bottom_k(): the bound key by selection, what is before it collected and sorted.
#include "spansort/top_k.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/available_memory.hpp"
#include "base/test_hooks.hpp"
#include "base/threads.hpp"
#include "keys/codec.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "statistics/first_few.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/sorted_copy.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {

namespace {

/// More keys are selected from: where there are many processors, they read faster than this way does.
constexpr std::uint64_t most_short_keys = std::uint64_t{1} << 20;

/// Returns how many keys answer for the first `k` of `num_keys`; `count_numbers` is asked only where it matters.
template <class Count>
std::uint64_t firsts_of(std::uint64_t num_keys, bool has_nans, std::uint64_t k, nan_policy nans,
                        const Count& count_numbers) {
  if (nans == nan_policy::propagate || !has_nans) return std::min(k, num_keys);
  if (num_keys == 0 || (k == 0 && nans == nan_policy::omit)) return 0;
  const std::uint64_t num_numbers = count_numbers();
  if (nans == nan_policy::error && num_numbers != num_keys) {
    throw bad_input("top_k: " + std::to_string(num_keys - num_numbers) + " of " + std::to_string(num_keys) +
                    " keys are NaN");
  }
  return std::min(k, num_numbers);
}

/// Returns whether the short way is to be tried: of keys in no known order, where the CPU does the work.
bool allows_short_way(const const_key_span& keys, std::uint64_t k, const top_options& options) {
  return keys.num_keys <= most_short_keys && statistics::may_find_first(keys.num_keys, k) &&
         options.order == key_order::unknown && statistics::is_cpu(options.devices) && !base::has_test_hooks();
}

/// Calls `find` with a number of keys and the codec of their order, after the checks of every call.
template <class Find>
auto try_short_way(const const_key_span& keys, std::uint64_t k, bool descending, const top_options& options,
                   const Find& find) {
  sorting::check_keys(keys);
  const keys::key_codec codec{keys.type, descending, keys::tie_rule::by_bits};
  try {
    return base::with_threads(options.threads, [&] {
      const std::uint64_t count = firsts_of(keys.num_keys, keys::is_float(keys.type), k, options.nans,
                                            [&] { return statistics::count_numbers(keys); });
      return find(keys, codec, count, options.threads);
    });
  } catch (const std::bad_alloc&) {
    throw out_of_memory("top_k: no memory for what lies before the bound", keys.num_keys * codec.width_bytes(),
                        base::available_memory_bytes());
  }
}

}  // namespace

std::uint64_t statistics::num_firsts(const ordered_keys& keys, std::uint64_t k, nan_policy nans) {
  const key_bound first_nan = keys.first_nan();
  return firsts_of(keys.num_keys(), !first_nan.is_end, k, nans, [&] { return keys.count_before({first_nan})[0]; });
}

std::vector<std::byte> detail::first_keys(const_key_span keys, std::uint64_t k, bool descending,
                                          const top_options& options) {
  if (allows_short_way(keys, k, options)) {
    if (auto first = try_short_way(keys, k, descending, options, statistics::find_first_keys)) return *std::move(first);
  }
  const auto opened = statistics::open_keys(keys, {options.order, options.devices, options.threads}, descending);
  return opened->slice(0, statistics::num_firsts(*opened, k, options.nans));
}

std::vector<std::uint64_t> detail::first_indices(const_key_span keys, std::uint64_t k, bool descending,
                                                 const top_options& options) {
  if (allows_short_way(keys, k, options)) {
    if (auto first = try_short_way(keys, k, descending, options, statistics::find_first_indices)) {
      return *std::move(first);
    }
  }
  const auto opened = statistics::open_keys(keys, {options.order, options.devices, options.threads}, descending);
  const std::uint64_t num_firsts = statistics::num_firsts(*opened, k, options.nans);
  return base::with_threads(options.threads, [&] { return opened->first_positions(num_firsts); });
}

}  // namespace spansort
