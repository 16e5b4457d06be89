// SPDX-License-Identifier: Apache-2.0
// sort_by, argsort_by: structs in the order of their members, or of whatever keys are computed from them.
//
//     spansort::sort_by(trades, &trade::symbol, spansort::descending(&trade::quantity));
//     spansort::sort_by({.devices = "gpu"}, trades, [](const trade& t) { return t.price * t.quantity; });
//     for (const std::uint64_t i : spansort::argsort_by(people, &person::birthday)) show(people[i]);
//
// A projection is a pointer to a member or a member function, or anything else that is called with one element (const)
// and gives a key: a value of a key type (types.hpp: numbers, bool, characters, enumerations, times), or fixed-width
// bytes, char, unsigned char, char8_t or std::byte in a std::array or an array, up to 256 of them, in the order of
// memcmp. A member of a member takes a lambda. Elements are ordered by the first key; where it is equal by the second,
// and so on, up to most_record_keys keys. Each is ascending, or descending where it stands in descending(). Floats are
// ordered as in sort_pairs(): -0.0 ties with +0.0 and NaN with NaN, NaN last, ascending and descending. Elements that
// are equal in all keys keep their input order: the sort is stable.
//
// Projections are called by several threads at once, once for every element or, where keys are wider than 8 bytes
// together, as often as the order needs it; so they give the same key whenever they are called, and change nothing.
//
// Options come first, for the projections are as many as you like, one at least.
//
// Memory beside n elements of R bytes, with keys of k bytes together, and i = 4 bytes for an index (8 beyond 2^32
// elements):
//   k <= 8, R <= 16: n * w, w = k rounded up to 1, 2, 4 or 8, and that of sort_pairs with keys of w and values of R
//                    bytes (sort.hpp): the elements travel with their keys;
//   other sort_by:   n * (i + max(w, s)), w = 8 where k > 8, and that of sort_pairs with keys of w and values of i
//                    bytes, where s = ceil(R / min(4, ceil(R / 64))) is what is moved of an element at a time;
//   argsort_by:      n * w, and that of sort_pairs with keys of w bytes and indices as values;
//   besides, where k > 8, 512 KiB a thread and n / 341 bytes.
// options.memory_limit_bytes is a ceiling on all but the last line.
//
// All calls block until the result is in place. They throw invalid_argument, device_error, out_of_memory, cancelled,
// and what a projection throws. The elements are then untouched, but for the three cases that sort.hpp names; where the
// elements do not travel with their keys, nothing can fail once they move but the progress callback. Indices of an
// argsort_by that throws are unspecified.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "spansort/options.hpp"
#include "spansort/ranges.hpp"
#include "spansort/records.hpp"
#include "spansort/sort.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// A projection with its direction.
template <class P>
struct sort_key {
  P projection;
  direction order = direction::ascending;
};

/// The key that `projection` gives, the greatest first. NaN is last all the same. Without a projection: the element
/// itself.
template <class P = std::identity>
[[nodiscard]] constexpr sort_key<P> descending(P projection = {}) {
  return {std::move(projection), direction::descending};
}

/// The key that `projection` gives, the least first: what a projection means that stands alone.
template <class P = std::identity>
[[nodiscard]] constexpr sort_key<P> ascending(P projection = {}) {
  return {std::move(projection), direction::ascending};
}

namespace detail {

template <class T>
inline constexpr bool is_plain_byte =
    std::same_as<T, char> || std::same_as<T, unsigned char> || std::same_as<T, char8_t> || std::same_as<T, std::byte>;

/// Length of a key of fixed-width bytes; 0 for any other type.
template <class T>
inline constexpr std::size_t num_plain_bytes = 0;
template <class B, std::size_t count>
  requires is_plain_byte<B>
inline constexpr std::size_t num_plain_bytes<std::array<B, count>> = count;
template <class B, std::size_t count>
  requires is_plain_byte<B>
inline constexpr std::size_t num_plain_bytes<B[count]> = count;

template <class T>
concept projected_type = radix_key<T> ||(num_plain_bytes<T> > 0 && num_plain_bytes<T> <= most_record_key_bytes);

/// An element as projections see it.
template <std::input_iterator I>
[[nodiscard]] constexpr decltype(auto) read_only(const I& at) {
  if constexpr (std::is_lvalue_reference_v<std::iter_reference_t<I>>) {
    return std::as_const(*at);
  } else {
    return *at;
  }
}
template <class R>
using read_only_reference = decltype(read_only(std::declval<std::ranges::iterator_t<R>>()));

template <class P>
struct projection_of {
  using type = P;
  [[nodiscard]] static constexpr const P& projection(const P& key) noexcept { return key; }
  [[nodiscard]] static constexpr bool is_descending(const P&) noexcept { return false; }
};
template <class P>
struct projection_of<sort_key<P>> {
  using type = P;
  [[nodiscard]] static constexpr const P& projection(const sort_key<P>& key) noexcept { return key.projection; }
  [[nodiscard]] static constexpr bool is_descending(const sort_key<P>& key) noexcept {
    return key.order == direction::descending;
  }
};

}  // namespace detail

/// A projection, alone or in ascending() or descending(), from the elements of range R to keys.
template <class P, class R>
concept key_projection = std::ranges::random_access_range<R> &&
    std::invocable<const typename detail::projection_of<P>::type&, detail::read_only_reference<R>>&&
        detail::projected_type<std::remove_cvref_t<
            std::invoke_result_t<const typename detail::projection_of<P>::type&, detail::read_only_reference<R>>>>;

namespace detail {

/// One key of elements that are known by number.
struct projected_key {
  record_key format = {};  ///< without offset
  const void* context = nullptr;
  /// Writes the keys of elements [begin, end), one after the other. Called by several threads at once.
  void (*read)(const void* context, std::uint64_t begin, std::uint64_t end, void* keys) = nullptr;
};

void sort_by(void* elements, std::uint64_t num_elements, std::uint64_t element_bytes,
             std::span<const projected_key> keys, const sort_options& options);
void argsort_by(std::uint64_t num_elements, std::span<const projected_key> keys, void* indices,
                std::uint64_t index_bytes, const sort_options& options);

/// The elements from `first` on, seen through a projection.
template <std::random_access_iterator I, class P>
class projected_elements {
 public:
  using type = typename projection_of<P>::type;
  using key = std::remove_cvref_t<std::invoke_result_t<const type&, decltype(read_only(std::declval<I>()))>>;

  projected_elements(I first, const P& p)
      : first_(first),
        projection_(projection_of<P>::projection(p)),
        is_descending_(projection_of<P>::is_descending(p)) {}

  [[nodiscard]] projected_key as_key() const noexcept {
    projected_key described{{.size_bytes = sizeof(key), .descending = is_descending_}, this, read};
    if constexpr (radix_key<key>) described.format.type = key_traits<key>::type;
    return described;
  }

 private:
  static void read(const void* context, std::uint64_t begin, std::uint64_t end, void* keys) {
    const auto& self = *static_cast<const projected_elements*>(context);
    auto* to = static_cast<std::byte*>(keys);
    for (std::uint64_t i = begin; i < end; ++i, to += sizeof(key)) {
      const I at = self.first_ + static_cast<std::iter_difference_t<I>>(i);
      const auto& element_key = std::invoke(self.projection_, read_only(at));
      std::memcpy(to, std::addressof(element_key), sizeof(key));
    }
  }

  I first_;
  const type& projection_;
  bool is_descending_;
};

template <std::random_access_iterator I, class P>
[[nodiscard]] projected_elements<I, P> see_through(const P& projection, I first) {
  return projected_elements<I, P>(first, projection);
}

/// Calls body(std::span<const projected_key>) for the keys that projections give of the elements from `first` on.
template <class I, class Body, class... P>
void with_projected_keys(I first, const Body& body, const P&... projections) {
  const auto views = std::make_tuple(see_through(projections, first)...);
  const std::array keys = std::apply([](const auto&... view) { return std::array{view.as_key()...}; }, views);
  body(std::span<const projected_key>(keys));
}

/// The argument that is the range, options before it or not.
template <class... A>
struct element_argument {
  using type = void;
};
template <class R, class... A>
struct element_argument<R, A...> {
  using type = R;
};
template <class O, class R, class... A>
  requires std::same_as<std::remove_cvref_t<O>, sort_options>
struct element_argument<O, R, A...> {
  using type = R;
};
template <class... A>
using element_argument_t = typename element_argument<A...>::type;

}  // namespace detail

/// Sorts `elements` in place by what the projections give of them: any contiguous range of a trivially copyable type.
/// Stable.
template <in_place_element_range R, key_projection<R>... P>
  requires(sizeof...(P) >= 1 && sizeof...(P) <= most_record_keys)
void sort_by(const sort_options& options, R&& elements, P... projections) {
  const auto sort = [&](std::span<const detail::projected_key> keys) {
    detail::sort_by(std::ranges::data(elements), std::ranges::size(elements), sizeof(std::ranges::range_value_t<R>),
                    keys, options);
  };
  detail::with_projected_keys(std::ranges::cdata(elements), sort, projections...);
}
template <in_place_element_range R, key_projection<R>... P>
  requires(sizeof...(P) >= 1 && sizeof...(P) <= most_record_keys)
void sort_by(R&& elements, P... projections) { spansort::sort_by(sort_options{}, elements, std::move(projections)...); }

/// Writes into `indices` (4 or 8 bytes each, as many as elements) the order in which sort_by() would put `elements`:
/// elements[indices[0]] is the first. The elements, of any type in any random-access range (std::deque, a view), stay
/// as they are. 32-bit indices serve up to 2^32 elements (2^31 when signed). Throws invalid_argument also when the
/// counts differ.
template <std::ranges::random_access_range R, std::ranges::contiguous_range S, key_projection<R>... P>
  requires(std::ranges::sized_range<R>&& in_place_range<S>&& sort_index<std::ranges::range_value_t<S>> &&
           sizeof...(P) >= 1 && sizeof...(P) <= most_record_keys)
void argsort_by(const sort_options& options, R&& elements, S&& indices, P... projections) {
  using index = std::ranges::range_value_t<S>;
  const auto num_elements = static_cast<std::uint64_t>(std::ranges::size(elements));
  detail::require_same_count(num_elements, std::ranges::size(indices), "indices");
  detail::require_index_range(num_elements, static_cast<std::uint64_t>(std::numeric_limits<index>::max()));
  const auto argsort = [&](std::span<const detail::projected_key> keys) {
    detail::argsort_by(num_elements, keys, std::ranges::data(indices), sizeof(index), options);
  };
  detail::with_projected_keys(std::ranges::begin(elements), argsort, projections...);
}
template <std::ranges::random_access_range R, std::ranges::contiguous_range S, key_projection<R>... P>
  requires(std::ranges::sized_range<R>&& in_place_range<S>&& sort_index<std::ranges::range_value_t<S>> &&
           sizeof...(P) >= 1 && sizeof...(P) <= most_record_keys)
void argsort_by(R&& elements, S&& indices, P... projections) {
  spansort::argsort_by(sort_options{}, elements, indices, std::move(projections)...);
}

/// Returns the order in which sort_by() would put `elements`, as 64-bit indices; otherwise as above.
template <std::ranges::random_access_range R, key_projection<R>... P>
  requires(std::ranges::sized_range<R> && sizeof...(P) >= 1 && sizeof...(P) <= most_record_keys)
[[nodiscard]] std::vector<std::uint64_t> argsort_by(const sort_options& options, R&& elements, P... projections) {
  std::vector<std::uint64_t> indices(static_cast<std::size_t>(std::ranges::size(elements)));
  spansort::argsort_by(options, elements, indices, std::move(projections)...);
  return indices;
}
template <std::ranges::random_access_range R, key_projection<R>... P>
  requires(std::ranges::sized_range<R> && sizeof...(P) >= 1 && sizeof...(P) <= most_record_keys)
[[nodiscard]] std::vector<std::uint64_t> argsort_by(R&& elements, P... projections) {
  return spansort::argsort_by(sort_options{}, elements, std::move(projections)...);
}

// The reason stands in the line that compilers show.
// clang-format off
template <class... A> requires detail::not_contiguous<detail::element_argument_t<A...>>
detail::refused<"sort_by takes contiguous memory: copy to a std::vector, or use argsort_by()"> sort_by(A&&...) = delete;
template <class... A> requires detail::const_elements<detail::element_argument_t<A...>>
detail::refused<"sort_by works in place, and these elements are const: copy them, or use argsort_by()"> sort_by(A&&...) = delete;
template <class... A> requires detail::temporary_container<detail::element_argument_t<A...>>
detail::refused<"sort_by works in place, and this container is a temporary: give it a name"> sort_by(A&&...) = delete;
template <class... A> requires detail::not_copied_as_bytes<detail::element_argument_t<A...>>
detail::refused<"sort_by takes trivially copyable elements: for others use argsort_by()"> sort_by(A&&...) = delete;
template <in_place_element_range R, class... P> requires(!(key_projection<P, R> && ...))
detail::refused<"sort_by: a projection takes one element and gives a key; one of these does not"> sort_by(R&&, P...) = delete;
template <in_place_element_range R, class... P> requires(!(key_projection<P, R> && ...))
detail::refused<"sort_by: a projection takes one element and gives a key; one of these does not"> sort_by(const sort_options&, R&&, P...) = delete;
// clang-format on

}  // namespace spansort
