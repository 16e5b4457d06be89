// SPDX-License-Identifier: Apache-2.0
// sort() and sort_by_key() by a comparison: any strict weak order, of any trivially copyable type. A merge sort, for
// what has no key: whatever radix sort can order (sort.hpp, sort_by.hpp), it orders in a half to a fifth of the time
// from a million elements on.
//
// The source is Satish, Harris, Garland: "Designing Efficient Sorting Algorithms for Manycore GPUs", IPDPS 2009,
// section IV: tiles are sorted where they fit close to a core, and merged by pairs; splitters cut a merge into tiles
// that are merged independently. The paper leaves open what becomes of equal elements. Here the sort is stable.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "spansort/cxx20.hpp"
#include "spansort/ranges.hpp"
#include "spansort/sort.hpp"
#include "spansort/types.hpp"

namespace spansort {

namespace detail {
template <class R>
using element_reference = const std::ranges::range_value_t<R>&;
}

/// An order of the elements of range R: compare(a, b) says whether a comes before b. It is called by several threads at
/// once, and so as const.
template <class C, class R>
concept element_comparison =
    std::ranges::range<R> && std::predicate<const C&, detail::element_reference<R>, detail::element_reference<R>>;

struct merge_sort_options {
  unsigned threads = 0;                  ///< as in sort_options
  std::uint64_t memory_limit_bytes = 0;  ///< ceiling on workspace; 0: what the machine has
};

namespace detail {

/// What the library has to know of elements and their order. `context` is the comparison.
struct merge_sort_steps {
  std::uint64_t element_bytes = 0;
  std::uint64_t alignment = 1;
  const void* context = nullptr;
  bool (*precedes)(const void* context, const void* a, const void* b) = nullptr;
  /// Sorts a tile, which ends in `scratch` or where it is. When it throws, all elements are where they were, in any
  /// order.
  void (*sort_tile)(const void* context, void* elements, void* scratch, std::uint64_t count,
                    bool into_scratch) = nullptr;
  /// Merges two neighbouring runs into `to`; equal elements of the left one come first.
  void (*merge)(const void* context, const void* left, std::uint64_t num_left, const void* right,
                std::uint64_t num_right, void* to) = nullptr;
};

void merge_sort(void* elements, std::uint64_t count, const merge_sort_steps& steps, const merge_sort_options& options);

/// Sorts and merges elements as bytes of a type: nothing is assigned, and no element is lost when a comparison throws.
template <class T, class Compare>
class tile_sorter {
 public:
  explicit tile_sorter(const Compare& compare) : compare_(compare) {}

  void sort(T* elements, T* scratch, std::size_t count, bool into_scratch) const {
    if (!is_sorted(elements, count)) {
      for (std::size_t i = 0; i < count; i += smallest_run) sort_run(elements + i, std::min(smallest_run, count - i));
      T* const end = merge_runs(elements, scratch, count);
      if (end != (into_scratch ? scratch : elements)) copy(into_scratch ? scratch : elements, end, count);
    } else if (into_scratch) {
      copy(scratch, elements, count);
    }
  }

  /// Merges the lower and the upper half of what comes out side by side, two chains of comparisons that do not wait for
  /// each other.
  void merge(const T* left, std::size_t num_left, const T* right, std::size_t num_right, T* to) const {
    if (num_left != 0 && num_right != 0 && !precedes(right[0], left[num_left - 1])) {
      copy(to, left, num_left);
      copy(to + num_left, right, num_right);
      return;
    }
    const std::size_t half = (num_left + num_right) / 2;
    const std::size_t of_left = rank_in_left(left, num_left, right, num_right, half);
    const std::size_t of_right = half - of_left;
    merge_cursor low{left, left + of_left, right, right + of_right, to};
    merge_cursor high{left + of_left, left + num_left, right + of_right, right + num_right, to + half};
    while (auto num_steps = std::min(low.num_safe_steps(), high.num_safe_steps())) {
      for (; num_steps != 0; --num_steps) {
        low.take_lesser(compare_);
        high.take_lesser(compare_);
      }
    }
    low.finish(compare_);
    high.finish(compare_);
  }

 private:
  static constexpr std::size_t smallest_run = 4;

  static void copy(T* to, const T* from, std::size_t count) {
    std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
  }

  /// What is left of two runs, and where the next element goes.
  struct merge_cursor {
    const T* left;
    const T* end_of_left;
    const T* right;
    const T* end_of_right;
    T* to;

    /// Returns a number of steps within which neither run ends.
    [[nodiscard]] std::ptrdiff_t num_safe_steps() const { return std::min(end_of_left - left, end_of_right - right); }
    void take_lesser(const Compare& compare) {
      const bool takes_right = std::invoke(compare, *right, *left);
      copy(to++, select(takes_right, right, left), 1);
      right += takes_right ? 1 : 0;
      left += takes_right ? 0 : 1;
    }
    void finish(const Compare& compare) {
      while (auto num_steps = num_safe_steps()) {
        for (; num_steps != 0; --num_steps) take_lesser(compare);
      }
      copy(to, left, static_cast<std::size_t>(end_of_left - left));
      copy(to + (end_of_left - left), right, static_cast<std::size_t>(end_of_right - right));
    }
  };

  /// Returns how many of the first `rank` elements of the merged runs are those of the left one.
  [[nodiscard]] std::size_t rank_in_left(const T* left, std::size_t num_left, const T* right, std::size_t num_right,
                                         std::size_t rank) const {
    std::size_t least = rank > num_right ? rank - num_right : 0;
    std::size_t most = std::min(rank, num_left);
    while (least != most) {
      const std::size_t middle = least + (most - least) / 2;
      if (precedes(right[rank - middle - 1], left[middle])) {
        most = middle;
      } else {
        least = middle + 1;
      }
    }
    return least;
  }

  /// Returns a where `takes_a`, else b, without a branch, which would be predicted wrongly every other time.
  static const T* select(bool takes_a, const T* a, const T* b) {
    const auto of_a = reinterpret_cast<std::uintptr_t>(a);
    const auto of_b = reinterpret_cast<std::uintptr_t>(b);
    return reinterpret_cast<const T*>(of_b ^ ((of_a ^ of_b) & (std::uintptr_t{0} - std::uintptr_t{takes_a})));
  }

  [[nodiscard]] bool is_sorted(const T* elements, std::size_t count) const {
    for (std::size_t i = 1; i < count; ++i) {
      if (precedes(elements[i], elements[i - 1])) return false;
    }
    return true;
  }

  /// Odd-even transposition: neighbours alone are exchanged, so that equal elements stay in order, as they do not in
  /// Batcher's odd-even merge sort.
  void sort_run(T* run, std::size_t count) const {
    for (std::size_t round = 0; round < count; ++round) {
      for (std::size_t i = round % 2; i + 1 < count; i += 2) order_neighbours(run + i);
    }
  }

  void order_neighbours(T* pair) const {
    const bool is_wrong = precedes(pair[1], pair[0]);
    alignas(T) std::byte ordered[2 * sizeof(T)];
    std::memcpy(ordered, static_cast<const void*>(select(is_wrong, pair + 1, pair)), sizeof(T));
    std::memcpy(ordered + sizeof(T), static_cast<const void*>(select(is_wrong, pair, pair + 1)), sizeof(T));
    std::memcpy(static_cast<void*>(pair), ordered, sizeof(ordered));
  }

  /// Merges runs by pairs from one array to the other and back; returns where they end.
  T* merge_runs(T* elements, T* scratch, std::size_t count) const {
    T* from = elements;
    T* to = scratch;
    try {
      for (std::size_t width = smallest_run; width < count; width *= 2) {
        for (std::size_t begin = 0; begin < count; begin += 2 * width) {
          const std::size_t num_left = std::min(width, count - begin);
          const std::size_t num_right = std::min(width, count - begin - num_left);
          merge_pair(from + begin, num_left, num_right, to + begin);
        }
        std::swap(from, to);
      }
    } catch (...) {
      if (from != elements) copy(elements, from, count);
      throw;
    }
    return from;
  }

  void merge_pair(const T* run, std::size_t num_left, std::size_t num_right, T* to) const {
    const bool is_even = num_left == num_right && precedes(run[num_left], run[num_left - 1]);
    if (!is_even || !merge_from_both_ends(run, num_left, to)) merge(run, num_left, run + num_left, num_right, to);
  }

  /// Merges two runs of equal length from both ends at once, which neither can leave: two chains of comparisons that do
  /// not wait for each other. Returns false where the ends do not meet, because the comparison is no order.
  bool merge_from_both_ends(const T* run, std::size_t width, T* to) const {
    const T* left = run;
    const T* right = run + width;
    const T* end_of_left = run + width;
    const T* end_of_right = run + 2 * width;
    for (std::size_t i = 0; i < width; ++i) {
      const bool takes_right = precedes(*right, *left);
      copy(to + i, select(takes_right, right, left), 1);
      right += takes_right ? 1 : 0;
      left += takes_right ? 0 : 1;
      const bool ends_left = precedes(end_of_right[-1], end_of_left[-1]);
      copy(to + 2 * width - 1 - i, select(ends_left, end_of_left - 1, end_of_right - 1), 1);
      end_of_left -= ends_left ? 1 : 0;
      end_of_right -= ends_left ? 0 : 1;
    }
    return left == end_of_left && right == end_of_right;
  }

  [[nodiscard]] bool precedes(const T& a, const T& b) const { return std::invoke(compare_, a, b); }

  const Compare& compare_;
};

/// An order of projections as an order of elements.
template <class Compare, class Projection>
struct projected_comparison {
  Compare compare;
  Projection projection;
  template <class T>
  [[nodiscard]] bool operator()(const T& a, const T& b) const {
    return std::invoke(compare, std::invoke(projection, a), std::invoke(projection, b));
  }
};

/// The memory of small sorts, on the stack.
inline constexpr std::size_t small_sort_bytes = 2048;

template <class T, class Compare>
void merge_sort(std::span<T> elements, const Compare& compare, const merge_sort_options& options) {
  constexpr unsigned most_threads = 1024;  // more are refused, however few the elements
  if (elements.size_bytes() <= small_sort_bytes && options.threads <= most_threads) {
    alignas(T) std::byte scratch[small_sort_bytes];
    tile_sorter<T, Compare>(compare).sort(elements.data(), reinterpret_cast<T*>(scratch), elements.size(), false);
    return;
  }
  merge_sort_steps steps;
  steps.element_bytes = sizeof(T);
  steps.alignment = alignof(T);
  steps.context = std::addressof(compare);
  steps.precedes = [](const void* context, const void* a, const void* b) -> bool {
    return std::invoke(*static_cast<const Compare*>(context), *static_cast<const T*>(a), *static_cast<const T*>(b));
  };
  steps.sort_tile = [](const void* context, void* tile, void* scratch, std::uint64_t count, bool into_scratch) {
    tile_sorter<T, Compare>(*static_cast<const Compare*>(context))
        .sort(static_cast<T*>(tile), static_cast<T*>(scratch), count, into_scratch);
  };
  steps.merge = [](const void* context, const void* left, std::uint64_t num_left, const void* right,
                   std::uint64_t num_right, void* to) {
    tile_sorter<T, Compare>(*static_cast<const Compare*>(context))
        .merge(static_cast<const T*>(left), num_left, static_cast<const T*>(right), num_right, static_cast<T*>(to));
  };
  merge_sort(elements.data(), elements.size(), steps, options);
}

/// The direction in which a comparison of integers sorts them, which then have no equal neighbours that can be told
/// apart: sort() by digits gives the same result.
template <class Compare, class T>
inline constexpr bool is_less = std::same_as<Compare, std::less<>> || std::same_as<Compare, std::less<T>> ||
                                std::same_as<Compare, std::ranges::less>;
template <class Compare, class T>
inline constexpr bool is_greater = std::same_as<Compare, std::greater<>> || std::same_as<Compare, std::greater<T>> ||
                                   std::same_as<Compare, std::ranges::greater>;
template <class Compare, class T>
concept comparison_of_digits = std::integral<T> && radix_key<T> &&(is_less<Compare, T> || is_greater<Compare, T>);

template <class Projection, class R>
using projected_element = std::invoke_result_t<const Projection&, element_reference<R>>;
template <class Compare, class Projection, class R>
concept compares_projections = std::invocable<const Projection&, element_reference<R>> &&
    std::predicate<const Compare&, projected_element<Projection, R>, projected_element<Projection, R>>;

template <class C, class R>
concept comparison_that_changes =
    std::ranges::range<R> && !element_comparison<C, R> &&
    std::predicate<C&, const std::ranges::range_value_t<R>&, const std::ranges::range_value_t<R>&>;

}  // namespace detail

/// Sorts `elements` in place, in host memory, so that compare(b, a) is false for every a before b. Stable. Blocks.
/// Memory: as many elements again. O(n log n) comparisons, fewer where the elements are in order already.
///
/// What `compare` throws surfaces from here; the elements are then all there, in any order. A comparison that is no
/// strict weak order ends too, and loses no element. Throws invalid_argument and out_of_memory with the elements
/// untouched. Devices with memory of their own cannot call a function of the host: spansort/cuda/merge_sort.cuh takes
/// comparisons of the device.
/// (std::pair and std::tuple are not trivially copyable in every standard library: such elements need a struct.)
/// Integers that std::less or std::greater compares are sorted by their digits on the CPU, as by sort() with a
/// direction, unless the memory is limited.
///     spansort::sort(trades, [](const trade& a, const trade& b) { return a.price * a.size > b.price * b.size; });
template <in_place_element_range R, element_comparison<R> Compare>
void sort(R&& elements, Compare compare, const merge_sort_options& options = {}) {
  using element = std::ranges::range_value_t<R>;
  if constexpr (detail::comparison_of_digits<Compare, element>) {
    constexpr direction d = detail::is_less<Compare, element> ? direction::ascending : direction::descending;
    if (options.memory_limit_bytes == 0) {
      return spansort::sort(std::span<element>(elements), d, {.devices = "cpu", .threads = options.threads});
    }
  }
  detail::merge_sort(std::span<element>(elements), compare, options);
}
template <std::contiguous_iterator I, std::sized_sentinel_for<I> L,
          element_comparison<std::span<std::iter_value_t<I>>> C>
  requires in_place_element_range<std::span<std::remove_reference_t<std::iter_reference_t<I>>>>
void sort(I first, L last, C compare, const merge_sort_options& options = {}) {
  spansort::sort(std::span(first, last), std::move(compare), options);
}

/// Sorts `elements` as sort() with a comparison does, by compare(projection(a), projection(b)): for what has an order
/// and is no key, such as strings of which the elements hold a view.
///     spansort::sort_by_key(people, &person::name);
template <in_place_element_range R, class Projection, class Compare = std::less<>>
  requires detail::compares_projections<Compare, Projection, R>
void sort_by_key(R&& elements, Projection projection, Compare compare = {}, const merge_sort_options& options = {}) {
  detail::projected_comparison<Compare, Projection> by_key{std::move(compare), std::move(projection)};
  spansort::sort(std::span(elements), std::move(by_key), options);
}
template <std::contiguous_iterator I, std::sized_sentinel_for<I> L, class Projection, class Compare = std::less<>>
  requires detail::compares_projections<Compare, Projection, std::span<std::iter_value_t<I>>>
void sort_by_key(I first, L last, Projection projection, Compare compare = {},
                 const merge_sort_options& options = {}) {
  spansort::sort_by_key(std::span(first, last), std::move(projection), std::move(compare), options);
}

// The reason stands in the line that compilers show.
// clang-format off
template <in_place_element_range R, class C, class... A>
  requires detail::comparison_that_changes<std::remove_cvref_t<C>, R>
detail::refused<"sort calls a comparison from several threads: it must be callable as const"> sort(R&&, C&&, A&&...) = delete;
template <class R, class... A> requires detail::const_elements<R>
detail::refused<"sort_by_key works in place, and these elements are const: copy them, or use argsort_by()"> sort_by_key(R&&, A&&...) = delete;
template <class R, class... A> requires detail::not_copied_as_bytes<R>
detail::refused<"sort_by_key moves elements as bytes, and these are not trivially copyable: use argsort_by()"> sort_by_key(R&&, A&&...) = delete;
template <class R, class C, class... A> requires(detail::compares_elements<C, R> && detail::not_copied_as_bytes<R>)
detail::refused<"sort by a comparison moves elements as bytes, and these are not trivially copyable: use argsort_by()"> sort(R&&, C&&, A&&...) = delete;
// clang-format on

}  // namespace spansort
