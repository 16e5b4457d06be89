// SPDX-License-Identifier: Apache-2.0
// One read over elements of a fixed size, on all threads: what the orders of keys and records have in common.
// `Compare` is int(const std::byte* a, const std::byte* b): -1, 0 or 1 as a comes before, together with or after b.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "check/element_hash.hpp"
#include "spansort/check.hpp"

namespace spansort::files {

/// Elements, and the one before them, which may be null.
struct element_view {
  const std::byte* left = nullptr;
  const std::byte* elements = nullptr;
  std::uint64_t count = 0;
  std::uint64_t element_bytes = 0;

  [[nodiscard]] const std::byte* at(std::uint64_t i) const noexcept { return elements + i * element_bytes; }
  /// The neighbour of element i; null for the very first.
  [[nodiscard]] const std::byte* left_of(std::uint64_t i) const noexcept { return i == 0 ? left : at(i - 1); }
};

namespace detail {
inline constexpr std::uint64_t grain_elements = std::uint64_t{1} << 13;
using index_range = tbb::blocked_range<std::uint64_t>;

template <class Result, class Body, class Join>
Result reduce(std::uint64_t count, const Result& identity, const Body& body, const Join& join) {
  // A group of its own: when the caller's tasks are cancelled, a check must not say yes for having stopped.
  tbb::task_group_context own(tbb::task_group_context::isolated);
  return tbb::parallel_reduce(index_range(0, count, grain_elements), identity, body, join, own);
}
}  // namespace detail

/// The first `head_bytes` of an element and the rest are hashed as two values, as checksum_pairs() does.
inline multiset_checksum sum_elements(const element_view& view, std::uint64_t head_bytes) {
  const auto add_block = [&](const detail::index_range& block, multiset_checksum sum) {
    for (std::uint64_t i = block.begin(); i != block.end(); ++i) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(view.at(i));
      checking::hash_pair hash;
      hash.absorb_bytes(bytes, head_bytes);
      if (view.element_bytes != head_bytes) hash.absorb_bytes(bytes + head_bytes, view.element_bytes - head_bytes);
      checking::add(sum, hash);
    }
    return sum;
  };
  return detail::reduce(view.count, multiset_checksum{}, add_block, std::plus<>());
}

/// The first element for which is_wrong(left neighbour, element).
template <class IsWrong>
std::optional<std::uint64_t> first_wrong(const element_view& view, const IsWrong& is_wrong) {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  const auto look = [&](const detail::index_range& block, std::uint64_t found) {
    if (block.begin() == 0 && view.left != nullptr && is_wrong(view.left, view.at(0))) return std::uint64_t{0};
    const std::uint64_t begin = std::max<std::uint64_t>(block.begin(), 1);
    if (begin >= found) return found;
    // Nearly always none is wrong: a loop without a branch finds that out several times as fast.
    unsigned num_wrong = 0;
    for (std::uint64_t i = begin; i < block.end(); ++i) num_wrong += is_wrong(view.at(i - 1), view.at(i)) ? 1 : 0;
    if (num_wrong == 0) return found;
    for (std::uint64_t i = begin; i < block.end(); ++i) {
      if (is_wrong(view.at(i - 1), view.at(i))) return std::min(found, i);
    }
    return found;
  };
  const auto earlier = [](std::uint64_t a, std::uint64_t b) { return std::min(a, b); };
  const std::uint64_t found = detail::reduce(view.count, none, look, earlier);
  return found == none ? std::nullopt : std::optional(found);
}

/// Elements equal to their left neighbour.
template <class Compare>
std::uint64_t count_equal(const element_view& view, const Compare& compare) {
  const auto look = [&](const detail::index_range& block, std::uint64_t num_equal) {
    for (std::uint64_t i = block.begin(); i != block.end(); ++i) {
      const std::byte* const left = view.left_of(i);
      num_equal += left != nullptr && compare(left, view.at(i)) == 0;
    }
    return num_equal;
  };
  return detail::reduce(view.count, std::uint64_t{0}, look, std::plus<>());
}

/// Moves the first of equal elements together at `elements`, which are the view's own; returns how many are left.
template <class Compare>
std::uint64_t keep_first_of_equal(const element_view& view, std::byte* elements, const Compare& compare) {
  const std::byte* last_kept = view.left;
  std::uint64_t num_kept = 0;
  for (std::uint64_t i = 0; i < view.count; ++i) {
    if (last_kept != nullptr && compare(last_kept, view.at(i)) == 0) continue;
    std::byte* const place = elements + num_kept * view.element_bytes;
    if (num_kept != i) std::memcpy(place, view.at(i), view.element_bytes);
    last_kept = place;
    ++num_kept;
  }
  return num_kept;
}

}  // namespace spansort::files
