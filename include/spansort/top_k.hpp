// SPDX-License-Identifier: Apache-2.0
// The k largest or smallest keys, in order, or where they are: without sorting the others.
//
// Keys are contiguous memory with elements of a key type (the concept radix_key): vectors, arrays, spans, also of const
// elements.
//
// All calls block, change no key, and give the same on every device list. The bound key is selected, what lies before
// it is collected, and that is sorted on the CPU. Reads of n keys: about two, for indices three; one more for floats
// unless NaN keys take part. Of keys in order (options.order) only the answer is read. Of up to
// 2^20 keys the CPU samples up to 1,024, which say well enough below which bound the answer lies, and reads all keys
// once, floats twice. Up to 2^17 keys are all sorted, in a copy or as indices of 4 bytes, where they are fewer than
// 1,024, where more than some 20 % are wanted, or where the sample is wrong.
// Memory: three times the answer and once for each further device, for indices six times; while the bound is selected
// up to 3 % of the keys for uniform ones and three quarters at worst, as for one quantile. On GPUs the keys besides. Of
// up to 2^20 keys 32 bytes and three times the key's for each key that is collected, which is about half of them at
// worst.
// Errors: invalid_argument for devices that cannot be, bad_input for NaN keys where they are an error, device_error,
// out_of_memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "spansort/device_list.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace spansort {

struct top_options {
  /// omit: NaN keys are left out, and fewer than k keys come back where there are not k numbers. propagate: they take
  /// part and are last, as in every sort: they come only where there are not k numbers. error: one NaN key throws
  /// bad_input.
  nan_policy nans = nan_policy::omit;
  key_order order = key_order::unknown;
  device_list devices = {};  ///< as in quantile_options
  unsigned threads = 0;      ///< as in sort_options
};

namespace detail {
std::vector<std::byte> first_keys(const_key_span keys, std::uint64_t k, bool descending, const top_options& options);
std::vector<std::uint64_t> first_indices(const_key_span keys, std::uint64_t k, bool descending,
                                         const top_options& options);

template <class K, std::ranges::contiguous_range R>
std::vector<K> first_keys_of(const R& keys, std::uint64_t k, bool descending, const top_options& options) {
  const std::vector<std::byte> bytes = first_keys(as_const_key_span(std::span<const K>(keys)), k, descending, options);
  std::vector<K> first(bytes.size() / sizeof(K));
  if (!bytes.empty()) std::memcpy(first.data(), bytes.data(), bytes.size());
  return first;
}
}  // namespace detail

/// The k largest keys, the largest first; all of them where there are no more than k. These are the first k keys after
/// sort() with `descending`, byte for byte: keys that tie in value are ordered by bits, +0.0 before -0.0.
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] auto top_k(const R& keys, std::uint64_t k, const top_options& options = {}) {
  return detail::first_keys_of<std::remove_cv_t<std::ranges::range_value_t<R>>>(keys, k, true, options);
}

/// The k smallest keys, the smallest first: the first k after an ascending sort(), byte for byte.
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] auto bottom_k(const R& keys, std::uint64_t k, const top_options& options = {}) {
  return detail::first_keys_of<std::remove_cv_t<std::ranges::range_value_t<R>>>(keys, k, false, options);
}

/// Returns where the k largest keys are, counted from 0, the largest first. Of keys that compare equal (-0.0 and +0.0
/// do, and NaN keys among each other) the earlier wins and comes first: the first k of a descending argsort(). So rows
/// of a table:
///     for (const std::uint64_t i : spansort::top_k_indices(prices, 10)) show(names[i], prices[i]);
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] std::vector<std::uint64_t> top_k_indices(const R& keys, std::uint64_t k,
                                                       const top_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::first_indices(as_const_key_span(std::span<const key>(keys)), k, true, options);
}

/// Returns where the k smallest keys are, the smallest first; of equal keys the earlier wins: the first k of argsort().
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] std::vector<std::uint64_t> bottom_k_indices(const R& keys, std::uint64_t k,
                                                          const top_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::first_indices(as_const_key_span(std::span<const key>(keys)), k, false, options);
}

// These overloads take keys whose type is known at run time; keys come back as their bytes.

[[nodiscard]] inline std::vector<std::byte> top_k(const_key_span keys, std::uint64_t k,
                                                  const top_options& options = {}) {
  return detail::first_keys(keys, k, true, options);
}
[[nodiscard]] inline std::vector<std::byte> bottom_k(const_key_span keys, std::uint64_t k,
                                                     const top_options& options = {}) {
  return detail::first_keys(keys, k, false, options);
}
[[nodiscard]] inline std::vector<std::uint64_t> top_k_indices(const_key_span keys, std::uint64_t k,
                                                              const top_options& options = {}) {
  return detail::first_indices(keys, k, true, options);
}
[[nodiscard]] inline std::vector<std::uint64_t> bottom_k_indices(const_key_span keys, std::uint64_t k,
                                                                 const top_options& options = {}) {
  return detail::first_indices(keys, k, false, options);
}

}  // namespace spansort
