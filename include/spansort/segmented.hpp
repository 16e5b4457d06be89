// SPDX-License-Identifier: Apache-2.0
// Segmented sorts: many segments of one array are sorted, each by itself. The rows of a matrix are segments that all
// have the same length.
//
// Segment i of keys with `offsets` are the keys from position offsets[i] up to offsets[i + 1]: num_segments + 1
// positions of 32 or 64 bits, signed or not, that never decrease and end at the number of keys or before. A segment
// may be empty. Keys before the first and behind the last position are left alone. The layout is that of CUB's
// segmented sorts, Apache Arrow's lists and CSR matrices.
//
// All calls block until the result is in place. Keys, values, indices and offsets are contiguous host memory, and none
// overlaps another. Each segment has the result that sort(), sort_pairs() and argsort() would give for it alone.
// The CPU sorts, whatever the devices of `auto`: threads take segments as they come free, and what is larger than
// 512 KiB (65,536 pairs) and than its share of the work is sorted by all threads together. Of the options `devices`
// (`auto`, `cpu`, `host:N`), `threads` and `memory_limit_bytes` count, and `report` is filled without phases; the
// others are not looked at. Segments in the memory of a GPU are sorted there by the calls of enqueue.hpp.
// Memory beside the arrays: up to 9 MiB a thread, which the thread keeps, and what sort.hpp says of a sort of the
// largest segment where that is larger than 512 KiB. Values of other widths than 4, 8 and 16 bytes take 8 bytes a key
// and the values' own size.
// Errors: invalid_argument, and out_of_memory by `memory_limit_bytes`, before anything is touched. Where memory ends
// in the midst of a sort (out_of_memory), each segment is either sorted or as it was, with its values.
#pragma once

#include <cstdint>
#include <ranges>
#include <span>

#include "spansort/options.hpp"
#include "spansort/ranges.hpp"
#include "spansort/sort.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// Contiguous memory with positions of 32 or 64 bits, signed or not.
template <class R>
concept offset_range = key_range<R> && std::is_integral_v<std::ranges::range_value_t<R>> &&
    (sizeof(std::ranges::range_value_t<R>) == 4 || sizeof(std::ranges::range_value_t<R>) == 8);

// These functions take keys and offsets whose types are known at run time: offsets of type u32, i32, u64 or i64.

/// Sorts the keys of each segment in place. Keys that tie in value are ordered by bits, as in sort().
/// Throws invalid_argument for offsets that decrease, are negative or lie beyond the keys.
void sort_segments(key_span keys, const_key_span offsets, direction d = direction::ascending,
                   const sort_options& options = {});
/// Sorts the keys of each segment and moves `keys.num_keys` values of `value_bytes` bytes along. Stable.
void sort_pairs_segments(key_span keys, void* values, std::uint64_t value_bytes, const_key_span offsets,
                         direction d = direction::ascending, const sort_options& options = {});
/// Writes the stable order of each segment: keys.num_keys indices of `index_bytes` 4 or 8, which count from 0 in each
/// segment. Keys are not changed; indices outside of all segments are not written.
void argsort_segments(const_key_span keys, void* indices, std::uint64_t index_bytes, const_key_span offsets,
                      direction d = direction::ascending, const sort_options& options = {});

/// These do the same to rows of `row_length` keys each. Throw invalid_argument where the number of keys is no multiple
/// of it.
void sort_rows(key_span keys, std::uint64_t row_length, direction d = direction::ascending,
               const sort_options& options = {});
void sort_pairs_rows(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t row_length,
                     direction d = direction::ascending, const sort_options& options = {});
void argsort_rows(const_key_span keys, void* indices, std::uint64_t index_bytes, std::uint64_t row_length,
                  direction d = direction::ascending, const sort_options& options = {});

namespace detail {

template <class R>
[[nodiscard]] const_key_span positions_of(const R& offsets) {
  return as_const_key_span(std::span<const std::remove_cv_t<std::ranges::range_value_t<R>>>(offsets));
}

/// The indices of a segment are less than its length, so an index type needs no room for all keys.
template <class R, class S>
struct segment_index_arrays {
  const_key_span keys;
  void* indices = nullptr;
  static constexpr std::uint64_t index_bytes = sizeof(std::ranges::range_value_t<S>);
  segment_index_arrays(const R& key_range, S& index_range)
      : keys(positions_of(key_range)), indices(std::ranges::data(index_range)) {
    require_same_count(std::ranges::size(key_range), std::ranges::size(index_range), "indices");
  }
};

}  // namespace detail

/// Sorts each segment of `keys` in place, in direction `d`:
///     std::vector<float> keys{3, 1, 2, 9, 8};
///     spansort::sort_segments(keys, std::vector<std::uint32_t>{0, 3, 5});  // 1 2 3, 8 9
template <in_place_key_range R, offset_range O>
void sort_segments(R&& keys, const O& offsets, direction d = direction::ascending, const sort_options& options = {}) {
  sort_segments(as_key_span(std::span(keys)), detail::positions_of(offsets), d, options);
}

/// Sorts each segment of `keys` and moves `values`, one a key, along. Stable.
template <in_place_key_range R, in_place_value_range S, offset_range O>
void sort_pairs_segments(R&& keys, S&& values, const O& offsets, direction d = direction::ascending,
                         const sort_options& options = {}) {
  const detail::record_arrays all(keys, values);
  sort_pairs_segments(all.keys, all.values, all.value_bytes, detail::positions_of(offsets), d, options);
}

/// Writes into `indices`, one a key, the stable order of each segment, which counts from 0 in each segment:
/// keys[offsets[i] + indices[offsets[i]]] is the first of segment i. Keys are not changed. 32-bit indices serve
/// segments of up to 2^31 keys.
template <key_range R, in_place_index_range S, offset_range O>
void argsort_segments(const R& keys, S&& indices, const O& offsets, direction d = direction::ascending,
                      const sort_options& options = {}) {
  const detail::segment_index_arrays all(keys, indices);
  argsort_segments(all.keys, all.indices, all.index_bytes, detail::positions_of(offsets), d, options);
}

/// Sorts each row of a matrix, `row_length` keys that follow each other, as numpy.sort does along the last axis.
template <in_place_key_range R>
void sort_rows(R&& keys, std::uint64_t row_length, direction d = direction::ascending,
               const sort_options& options = {}) {
  sort_rows(as_key_span(std::span(keys)), row_length, d, options);
}

/// Sorts each row and moves `values`, one a key, along. Stable.
template <in_place_key_range R, in_place_value_range S>
void sort_pairs_rows(R&& keys, S&& values, std::uint64_t row_length, direction d = direction::ascending,
                     const sort_options& options = {}) {
  const detail::record_arrays all(keys, values);
  sort_pairs_rows(all.keys, all.values, all.value_bytes, row_length, d, options);
}

/// Writes the stable order of each row, which counts from 0 in each row, as numpy.argsort does along the last axis.
template <key_range R, in_place_index_range S>
void argsort_rows(const R& keys, S&& indices, std::uint64_t row_length, direction d = direction::ascending,
                  const sort_options& options = {}) {
  const detail::segment_index_arrays all(keys, indices);
  argsort_rows(all.keys, all.indices, all.index_bytes, row_length, d, options);
}

}  // namespace spansort
