// SPDX-License-Identifier: Apache-2.0
// Sorting networks of 1 to 32 rows of vectors: each column is sorted first, then neighbouring columns are merged until
// one block of all lanes is left, sorted row by row. This header is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_NETWORK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_NETWORK_INL
#undef SPANSORT_VECTOR_NETWORK_INL
#else
#define SPANSORT_VECTOR_NETWORK_INL
#endif

#include <cstddef>
#include <utility>

#include "device/host/vector_lanes-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// ---- columns

/// The 19 comparators of 8 inputs.
template <class V>
HWY_INLINE void sort_columns(V (&v)[8]) {
#define SPANSORT_ROWS(i, j) sort_rows(v[i], v[j])
  SPANSORT_ROWS(0, 2), SPANSORT_ROWS(1, 3), SPANSORT_ROWS(4, 6), SPANSORT_ROWS(5, 7);
  SPANSORT_ROWS(0, 4), SPANSORT_ROWS(1, 5), SPANSORT_ROWS(2, 6), SPANSORT_ROWS(3, 7);
  SPANSORT_ROWS(0, 1), SPANSORT_ROWS(2, 3), SPANSORT_ROWS(4, 5), SPANSORT_ROWS(6, 7);
  SPANSORT_ROWS(2, 4), SPANSORT_ROWS(3, 5), SPANSORT_ROWS(1, 4), SPANSORT_ROWS(3, 6);
  SPANSORT_ROWS(1, 2), SPANSORT_ROWS(3, 4), SPANSORT_ROWS(5, 6);
#undef SPANSORT_ROWS
}

/// Sorts 16 rows from `first` on: 60 comparators, the fewest known (Green; in the ten layers of Dobbelaere's list).
template <unsigned first, class V, std::size_t num_rows>
HWY_INLINE void sort_16_rows(V (&v)[num_rows]) {
#define SPANSORT_ROWS(i, j) sort_rows(v[first + i], v[first + j])
  SPANSORT_ROWS(0, 13), SPANSORT_ROWS(1, 12), SPANSORT_ROWS(2, 15), SPANSORT_ROWS(3, 14);
  SPANSORT_ROWS(4, 8), SPANSORT_ROWS(5, 6), SPANSORT_ROWS(7, 11), SPANSORT_ROWS(9, 10);
  SPANSORT_ROWS(0, 5), SPANSORT_ROWS(1, 7), SPANSORT_ROWS(2, 9), SPANSORT_ROWS(3, 4);
  SPANSORT_ROWS(6, 13), SPANSORT_ROWS(8, 14), SPANSORT_ROWS(10, 15), SPANSORT_ROWS(11, 12);
  SPANSORT_ROWS(0, 1), SPANSORT_ROWS(2, 3), SPANSORT_ROWS(4, 5), SPANSORT_ROWS(6, 8);
  SPANSORT_ROWS(7, 9), SPANSORT_ROWS(10, 11), SPANSORT_ROWS(12, 13), SPANSORT_ROWS(14, 15);
  SPANSORT_ROWS(0, 2), SPANSORT_ROWS(1, 3), SPANSORT_ROWS(4, 10), SPANSORT_ROWS(5, 11);
  SPANSORT_ROWS(6, 7), SPANSORT_ROWS(8, 9), SPANSORT_ROWS(12, 14), SPANSORT_ROWS(13, 15);
  SPANSORT_ROWS(1, 2), SPANSORT_ROWS(3, 12), SPANSORT_ROWS(4, 6), SPANSORT_ROWS(5, 7);
  SPANSORT_ROWS(8, 10), SPANSORT_ROWS(9, 11), SPANSORT_ROWS(13, 14);
  SPANSORT_ROWS(1, 4), SPANSORT_ROWS(2, 6), SPANSORT_ROWS(5, 8), SPANSORT_ROWS(7, 10);
  SPANSORT_ROWS(9, 13), SPANSORT_ROWS(11, 14);
  SPANSORT_ROWS(2, 4), SPANSORT_ROWS(3, 6), SPANSORT_ROWS(9, 12), SPANSORT_ROWS(11, 13);
  SPANSORT_ROWS(3, 5), SPANSORT_ROWS(6, 8), SPANSORT_ROWS(7, 9), SPANSORT_ROWS(10, 12);
  SPANSORT_ROWS(3, 4), SPANSORT_ROWS(5, 6), SPANSORT_ROWS(7, 8), SPANSORT_ROWS(9, 10), SPANSORT_ROWS(11, 12);
  SPANSORT_ROWS(6, 7), SPANSORT_ROWS(8, 9);
#undef SPANSORT_ROWS
}

/// A layer of Batcher's odd-even merge of two halves of 16 rows: those `distance` apart, but for the outermost.
template <unsigned distance, class V, std::size_t... i>
HWY_INLINE void merge_layer(V (&v)[32], std::index_sequence<i...>) {
  (sort_rows(v[distance + 2 * distance * (i / distance) + i % distance],
             v[2 * distance + 2 * distance * (i / distance) + i % distance]),
   ...);
}
template <class V, std::size_t... i>
HWY_INLINE void sort_halves(V (&v)[32], std::index_sequence<i...>) {
  (sort_rows(v[i], v[16 + i]), ...);
}

template <class V>
HWY_INLINE void sort_columns(V (&)[1]) {}
template <class V>
HWY_INLINE void sort_columns(V (&v)[2]) {
  sort_rows(v[0], v[1]);
}
template <class V>
HWY_INLINE void sort_columns(V (&v)[4]) {
  sort_rows(v[0], v[2]), sort_rows(v[1], v[3]);
  sort_rows(v[0], v[1]), sort_rows(v[2], v[3]);
  sort_rows(v[1], v[2]);
}
template <class V>
HWY_INLINE void sort_columns(V (&v)[16]) {
  sort_16_rows<0>(v);
}
/// No network of fewer than its 185 comparators is known.
template <class V>
HWY_INLINE void sort_columns(V (&v)[32]) {
  sort_16_rows<0>(v);
  sort_16_rows<16>(v);
  sort_halves(v, std::make_index_sequence<16>());
  merge_layer<8>(v, std::make_index_sequence<8>());
  merge_layer<4>(v, std::make_index_sequence<12>());
  merge_layer<2>(v, std::make_index_sequence<14>());
  merge_layer<1>(v, std::make_index_sequence<15>());
}

// ---- merges

/// Half of a bitonic merge: rows `first` and up against their mirrored partners.
template <unsigned first, unsigned num_rows, unsigned width, class D, class V, std::size_t n, std::size_t... i>
HWY_INLINE void mirror_rows(D d, V (&v)[n], std::index_sequence<i...>) {
  ((v[first + num_rows - 1 - i] = reverse_lanes<width>(d, v[first + num_rows - 1 - i])), ...);
  (sort_rows(v[first + i], v[first + num_rows - 1 - i]), ...);
}

template <unsigned first, unsigned num_rows, unsigned width, class D, class V, std::size_t n>
HWY_INLINE void merge_rows(D d, V (&v)[n]) {
  if constexpr (num_rows == 1) {
    const V x = v[first];
    v[first] = finish_row<width / 4>(d, sort_lanes<width / 2>(d, x, reverse_lanes<width>(d, x)));
  } else {
    mirror_rows<first, num_rows, width>(d, v, std::make_index_sequence<num_rows / 2>());
    merge_rows<first, num_rows / 2, width>(d, v);
    merge_rows<first + num_rows / 2, num_rows / 2, width>(d, v);
  }
}

/// Merges blocks of `width` / 2 columns, sorted row by row, until one block is left.
template <unsigned width, class D, class V, std::size_t n>
HWY_INLINE void merge_columns(D d, V (&v)[n]) {
  if constexpr (width <= hn::MaxLanes(d)) {
    merge_rows<0, n, width>(d, v);
    merge_columns<width * 2>(d, v);
  }
}

template <unsigned distance, class V, std::size_t n, std::size_t... i>
HWY_INLINE void sort_distant_rows(V (&v)[n], std::index_sequence<i...>) {
  (sort_rows(v[2 * distance * (i / distance) + i % distance],
             v[2 * distance * (i / distance) + i % distance + distance]),
   ...);
}
template <unsigned distance, class V, std::size_t n>
HWY_INLINE void merge_bitonic_rows(V (&v)[n]) {
  if constexpr (distance != 0) {
    sort_distant_rows<distance>(v, std::make_index_sequence<n / 2>());
    merge_bitonic_rows<distance / 2>(v);
  }
}
template <class D, class V, std::size_t n, std::size_t... i>
HWY_INLINE void finish_rows(D d, V (&v)[n], std::index_sequence<i...>) {
  ((v[i] = finish_row<hn::MaxLanes(D()) / 2>(d, v[i])), ...);
}

/// Sorts lanes that, row by row, ascend and then descend, or the other way round.
template <class D, class V, std::size_t n>
HWY_INLINE void merge_bitonic(D d, V (&v)[n]) {
  merge_bitonic_rows<n / 2>(v);
  finish_rows(d, v, std::make_index_sequence<n>());
}

/// Sorts all lanes of all rows.
template <class D, class V, std::size_t n>
HWY_INLINE void sort_network(D d, V (&v)[n]) {
  sort_columns(v);
  merge_columns<2>(d, v);
}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
