// SPDX-License-Identifier: Apache-2.0
// This header says which ranges the calls take, as concepts, and what the compiler says of a range that a call cannot
// take.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>

#include "spansort/types.hpp"

namespace spansort {

/// Contiguous memory with elements of a key type: std::vector, std::array, std::span and the like, also of const
/// elements.
template <class R>
concept key_range =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && radix_key<std::ranges::range_value_t<R>>;

/// Contiguous memory that a call may reorder and that outlives the call: no const elements, and no container that is a
/// temporary, for nobody would see the result. A temporary std::span is welcome: it does not own its elements.
template <class R>
concept in_place_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                         !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>> &&
                         std::ranges::borrowed_range<R>;

/// Keys that a call may reorder.
template <class R>
concept in_place_key_range = key_range<R> && in_place_range<R>;

/// Values that a call may reorder together with keys.
template <class R>
concept in_place_value_range = in_place_range<R> && sortable_value<std::ranges::range_value_t<R>>;

/// Indices that a call writes.
template <class R>
concept in_place_index_range = in_place_range<R> && sort_index<std::ranges::range_value_t<R>>;

/// Elements of a type that may be moved as bytes, which a call may reorder.
template <class R>
concept in_place_element_range = in_place_range<R> && std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;

/// Contiguous memory with elements of a key type, by an iterator.
template <class I>
concept key_iterator = std::contiguous_iterator<I> && radix_key<std::iter_value_t<I>>;

/// Keys that a call may reorder, by an iterator.
template <class I>
concept in_place_key_iterator = key_iterator<I> && !std::is_const_v<std::remove_reference_t<std::iter_reference_t<I>>>;

namespace detail {

/// Text as a template argument.
template <std::size_t size>
struct text {
  char characters[size]{};
  consteval text(const char (&literal)[size]) {
    for (std::size_t i = 0; i < size; ++i) characters[i] = literal[i];
  }
};

/// The result of calls that cannot be. They are declared and deleted, so that the compiler shows the reason where the
/// call stands, and so that a concept that asks for the call gets the answer no.
template <text reason>
struct refused {};

// These concepts say what speaks against a call.

template <class R>
concept not_contiguous = std::ranges::range<R> && !std::ranges::contiguous_range<R>;
template <class R>
concept const_elements =
    std::ranges::contiguous_range<R> && std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
template <class R>
concept temporary_container = std::ranges::contiguous_range<R> && !const_elements<R> && !std::ranges::borrowed_range<R>;

template <class R>
concept not_copied_as_bytes = in_place_range<R> && !std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;

template <class C, class R>
concept compares_elements =
    in_place_range<R> && std::invocable<C&, std::ranges::range_reference_t<R>, std::ranges::range_reference_t<R>>;
template <class R, class... A>
concept no_keys = in_place_range<R> && !radix_key<std::ranges::range_value_t<R>> && !(compares_elements<A, R> || ...);
template <class I>
concept not_contiguous_iterator = std::input_iterator<I> && !std::contiguous_iterator<I>;

}  // namespace detail
}  // namespace spansort
