// SPDX-License-Identifier: Apache-2.0
// Elements brought into the order of indices, as argsort() finds them: the rows of a table after a sort of one column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/options.hpp"
#include "spansort/ranges.hpp"
#include "spansort/types.hpp"

namespace spansort {

struct take_options {
  unsigned threads = 0;  ///< as in sort_options
  /// Called as in sort_options. A take that is cancelled throws `cancelled`, and what it has written stays.
  progress_callback on_progress = {};
};

/// Contiguous memory with elements that may be copied as bytes.
template <class R>
concept element_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;

/// Contiguous memory with indices of 32 or 64 bits, signed or not.
template <class R>
concept index_range = key_range<R> && std::is_integral_v<std::ranges::range_value_t<R>> &&
    (sizeof(std::ranges::range_value_t<R>) == 4 || sizeof(std::ranges::range_value_t<R>) == 8);

/// Copies element indices[i] of `num_elements` elements to place i of `destination`, for all indices: keys of type
/// u32, i32, u64 or i64. Elements may be taken several times, and not at all; source and destination must not overlap.
/// All threads copy, for nearly every element has to be fetched from somewhere else in memory; no memory besides.
/// Throws invalid_argument, before anything is written, for an index that is negative or not below num_elements: the
/// message names the first of them and its position.
void take_elements(const void* elements, std::uint64_t num_elements, std::uint64_t element_bytes,
                   const_key_span indices, void* destination, const take_options& options = {});

/// Copies values[indices[i]] to place i of `destination`, as take_elements() does. Throws invalid_argument also where
/// `destination` has another size than `indices`.
template <element_range V, index_range I, in_place_element_range D>
  requires std::is_same_v<std::ranges::range_value_t<V>, std::ranges::range_value_t<D>>
void take_into(const V& values, const I& indices, D&& destination, const take_options& options = {}) {
  if (std::ranges::size(destination) != std::ranges::size(indices)) {
    throw invalid_argument("take: as many places as indices are expected in the destination");
  }
  using index = std::remove_cv_t<std::ranges::range_value_t<I>>;
  take_elements(std::ranges::data(values), std::ranges::size(values), sizeof(std::ranges::range_value_t<V>),
                as_const_key_span(std::span<const index>(indices)), std::ranges::data(destination), options);
}

/// Returns the values in the order of the indices, as numpy.take does, but that negative indices are refused:
///     const std::vector<std::uint64_t> order = spansort::argsort(prices);
///     const std::vector<name> names_by_price = spansort::take(names, order);
/// Throws as take_elements(), and std::bad_alloc.
template <element_range V, index_range I>
  requires std::is_default_constructible_v<std::ranges::range_value_t<V>>
[[nodiscard]] auto take(const V& values, const I& indices, const take_options& options = {}) {
  std::vector<std::remove_cv_t<std::ranges::range_value_t<V>>> taken(std::ranges::size(indices));
  spansort::take_into(values, indices, taken, options);
  return taken;
}

}  // namespace spansort
