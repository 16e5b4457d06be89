// SPDX-License-Identifier: Apache-2.0
// sort, sort_pairs, argsort, is_sorted, and the sorter that keeps its buffers.
//
// All calls block until the result is in place. Keys and values are contiguous host memory.
// Memory beside the caller's arrays, n keys of k bytes with values of v bytes travelling along (0 for keys alone):
//   n * (k + v) + 1 MiB + 6 MiB a thread; with several devices n * (k + v) * 1.01, for the default `tuning.epsilon`.
//   Keys alone of 4 and 8 bytes: 5 MiB a thread more. Beside it some MiB of counts, up to 16 MiB for large arrays of
//   ascending runs.
//   On GPUs 2 * n * (k + v), 1 % more for several of them, and 34 MiB each; on one GPU (`single`), where no limit is
//   set and it has room, n * 3/2 more for keys of 8 bytes from 64 MiB on, and 5 MiB more for 2^27 keys of 4 bytes and
//   more. argsort (v: an index) copies the keys: n * k more.
// Keys alone of up to 512 KiB, up to 65,536 pairs (on two and three threads 49,152, on more 8,192) with values of 4, 8
// or 16 bytes and argsorts of as many keys, with default options or on the CPU without report, progress and limits on
// memory, are sorted by the calling thread, keys alone of 16 to 64 bits above 64 KiB with the help of others. It keeps
// its scratch for the next such call until it ends: of keys alone 5 times the keys, as a power of two, 3 MiB at most;
// 6 MiB for the others. Such an argsort allocates no copy of the keys.
// Keys of 32 bits alone, so sorted, up to 32 MiB, and of 64 bits up to 24 MiB (2 MiB on more than two threads), and
// of 8 and 16 bits up to 32 MiB (8 MiB on more than two threads) are sorted in place; so are keys of 32 and 64 bits
// up to 32 MiB in order or of values that repeat, and on one thread and two up to 256 MiB of values that repeat. The
// threads that help stay ready, and take 1.3 MiB each, the calling one too, eight at most, which the process keeps
// for the next such call. Of keys in order but for a few, the few take up to 256 KiB that the thread keeps, or, of
// larger arrays that are sorted in place, up to a fifth of the keys while the call lasts. Up to four ascending runs,
// and one that a tail in no order follows, take the memory of pairs (below) where they are merged.
// Pairs, argsorts (keys and indices), and other keys alone that free functions sort, of up to 32 MiB take n * (k + v),
// argsorts n * k more, all a quarter more of that (half up to 65,536 keys), and 6 MiB a thread, 16 at most; the process
// keeps those, too. Argsorts of more keys that are nearly in order take those threads' 6 MiB as well, and while the
// call lasts up to a sixteenth of n * k for samples of runs, or for a tail a twelfth of n * (k + v).
// Free functions leave the threads and workspace of a larger sort on the CPU, without limits on memory and report, to
// the next call: up to a thirty-second of the machine's memory, or a sixteenth of what was available at the first such
// call where that is less, and 1 GiB at most; a call that took more gives it back. Unless memory is locked, the kernel
// may take the workspace when it runs short of memory, but it counts as resident, and as address space, until then.
// Calls that were given a ceiling on the process's memory begin by giving it back. The first large call of the process
// on one thread or two sorts up to 64 MiB of keys of 32 and 64 bits alone in place, for its workspace would be new,
// unless they are such runs.
// release_kept_memory() gives back all that is kept but for the calling threads' own scratch.
// Data larger than the devices (`out_of_core`, or `auto` where `device_memory_bytes` or a GPU's free memory ends): n *
// (k + v) of host memory, pinned for GPUs, and on each device scratch and four parts, of 1/32 of the data each (of
// fewer the more devices), of 64 MiB where that is more, of less where the device has room for less only; at least
// 1/4096. Values of 1 to 16 bytes travel with their keys, widened to 4, 8 or 16 bytes (a size between costs n * that
// width more); wider values are ordered by an index of 8 bytes and moved once (n * (8 + sizeof(V)) more).
// Failure: when a call throws, the arrays are untouched, but for three cases. An exception of the progress callback
// that came too late to cancel leaves them sorted. A callback that throws `abandoned` (abandon.hpp) once they are being
// overwritten leaves them lost, neither input nor result. So does a GPU that fails while the result is being written to
// them, and the device_error says so. The indices of an argsort that throws are unspecified.
// A sort in whose midst even small allocations are refused throws std::bad_alloc with the arrays as they were, or one
// thread finishes it without memory, as slow as that is. Memory that a GPU's driver is refused is a
// failure of the GPU.
// Thread safety: free functions may run at the same time on different data; one sorter serves one thread at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/options.hpp"
#include "spansort/ranges.hpp"
#include "spansort/report.hpp"
#include "spansort/types.hpp"

namespace spansort {

namespace sorting {
struct flowing_calls;  // the library's own sorts of files
}

/// Keeps devices, threads and workspace from call to call. Movable, not copyable; a moved-from sorter can only be
/// destroyed or assigned to. After fork() the child must neither use nor destroy it: its threads did not come along.
class sorter {
 public:
  /// Checks `options`; devices are opened when first needed. Throws invalid_argument or device_error when the list
  /// names what is not there.
  explicit sorter(sort_options options = {});
  ~sorter();
  sorter(sorter&&) noexcept;
  sorter& operator=(sorter&&) noexcept;

  /// Sorts keys of a run-time type. Same promises as the free function.
  void sort(key_span keys, direction d = direction::ascending) { sort_keys(keys.type, keys.data, keys.num_keys, d); }
  /// Sorts keys and moves `keys.num_keys` values of `value_bytes` bytes along. Stable.
  void sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, direction d = direction::ascending) {
    sort_records(keys.type, keys.data, values, keys.num_keys, value_bytes, d);
  }
  /// Writes the stable permutation that sorts keys: indices of `index_bytes` 4 or 8. Keys are not changed.
  void argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, direction d = direction::ascending) {
    order_keys(keys.type, keys.data, indices, keys.num_keys, index_bytes, d);
  }

  template <in_place_key_range R>
  void sort(R&& keys, direction d = direction::ascending) {
    sort_keys(key_traits<std::ranges::range_value_t<R>>::type, std::ranges::data(keys), std::ranges::size(keys), d);
  }
  template <in_place_key_range R, in_place_value_range S>
  void sort_pairs(R&& keys, S&& values, direction d = direction::ascending);
  template <key_range R, in_place_index_range S>
  void argsort(R&& keys, S&& indices, direction d = direction::ascending);

  /// Bytes of workspace held now, the threads' scratch included.
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept;
  /// Gives the workspace back to the system.
  void release_workspace();

 private:
  friend struct sorting::flowing_calls;
  struct state;
  // These take arguments that fit registers: a key_span would be copied, which takes as long as to sort 16 keys.
  void sort_keys(key_type type, void* keys, std::uint64_t num_keys, direction d);
  void sort_records(key_type type, void* keys, void* values, std::uint64_t num_keys, std::uint64_t value_bytes,
                    direction d);
  void order_keys(key_type type, const void* keys, void* indices, std::uint64_t num_keys, std::uint64_t index_bytes,
                  direction d);
  std::unique_ptr<state> state_;
};

/// Gives back the memory that free functions keep on the CPU for their next call (above), and ends the threads that
/// they keep with large workspace. As long as these are there, oneTBB's finalize() returns false. What another thread's
/// call uses at this moment stays. Blocks until the memory is given back.
void release_kept_memory() noexcept;

namespace detail {
/// Throws invalid_argument unless both hold the same count.
void require_same_count(std::uint64_t num_keys, std::uint64_t num_others, const char* others);
/// Throws invalid_argument unless every position of `num_keys` keys is at most `largest_index`.
void require_index_range(std::uint64_t num_keys, std::uint64_t largest_index);
bool is_sorted(const_key_span keys, direction d);
// These take arguments that fit registers, as those of a sorter do.
void sort_keys(key_type type, void* keys, std::uint64_t num_keys, direction d);
void sort_keys(key_type type, void* keys, std::uint64_t num_keys, direction d, const sort_options& options);
void sort_records(key_type type, void* keys, void* values, std::uint64_t num_keys, std::uint64_t value_bytes,
                  direction d);
void sort_records(key_type type, void* keys, void* values, std::uint64_t num_keys, std::uint64_t value_bytes,
                  direction d, const sort_options& options);
void order_keys(key_type type, const void* keys, void* indices, std::uint64_t num_keys, std::uint64_t index_bytes,
                direction d);
void order_keys(key_type type, const void* keys, void* indices, std::uint64_t num_keys, std::uint64_t index_bytes,
                direction d, const sort_options& options);

/// The arrays of a call as ranges of bytes, after the checks that ranges allow.
template <class R, class S>
struct record_arrays {
  key_span keys;
  void* values = nullptr;
  static constexpr std::uint64_t value_bytes = sizeof(std::ranges::range_value_t<S>);
  record_arrays(R& key_range, S& value_range)
      : keys(as_key_span(std::span(key_range))), values(std::ranges::data(value_range)) {
    require_same_count(std::ranges::size(key_range), std::ranges::size(value_range), "values");
  }
};
template <class R, class S>
struct index_arrays {
  const_key_span keys;
  void* indices = nullptr;
  static constexpr std::uint64_t index_bytes = sizeof(std::ranges::range_value_t<S>);
  index_arrays(R& key_range, S& index_range)
      : keys(as_const_key_span(std::span<const std::remove_cv_t<std::ranges::range_value_t<R>>>(key_range))),
        indices(std::ranges::data(index_range)) {
    using index = std::ranges::range_value_t<S>;
    require_same_count(std::ranges::size(key_range), std::ranges::size(index_range), "indices");
    require_index_range(std::ranges::size(key_range), static_cast<std::uint64_t>(std::numeric_limits<index>::max()));
  }
};
}  // namespace detail

template <in_place_key_range R, in_place_value_range S>
void sorter::sort_pairs(R&& keys, S&& values, direction d) {
  const detail::record_arrays all(keys, values);
  sort_pairs(all.keys, all.values, all.value_bytes, d);
}

template <key_range R, in_place_index_range S>
void sorter::argsort(R&& keys, S&& indices, direction d) {
  const detail::index_arrays all(keys, indices);
  argsort(all.keys, all.indices, all.index_bytes, d);
}

/// Sorts `keys` in place, in direction `d`. Keys that tie in value are ordered by bits, so every device and algorithm
/// gives the same bytes. Throws invalid_argument, device_error, out_of_memory, cancelled.
template <in_place_key_range R>
void sort(R&& keys, direction d, const sort_options& options) {
  detail::sort_keys(key_traits<std::ranges::range_value_t<R>>::type, std::ranges::data(keys), std::ranges::size(keys),
                    d, options);
}
template <in_place_key_range R>
void sort(R&& keys, const sort_options& options) {
  spansort::sort(keys, direction::ascending, options);
}
template <in_place_key_range R>
void sort(R&& keys, direction d = direction::ascending) {
  detail::sort_keys(key_traits<std::ranges::range_value_t<R>>::type, std::ranges::data(keys), std::ranges::size(keys),
                    d);
}

/// Sorts `keys` and moves `values` along. Stable, ascending and descending. Throws as sort(); invalid_argument also
/// when the counts differ or the arrays overlap.
template <in_place_key_range R, in_place_value_range S>
void sort_pairs(R&& keys, S&& values, direction d, const sort_options& options) {
  const detail::record_arrays all(keys, values);
  detail::sort_records(all.keys.type, all.keys.data, all.values, all.keys.num_keys, all.value_bytes, d, options);
}
template <in_place_key_range R, in_place_value_range S>
void sort_pairs(R&& keys, S&& values, const sort_options& options) {
  spansort::sort_pairs(keys, values, direction::ascending, options);
}
template <in_place_key_range R, in_place_value_range S>
void sort_pairs(R&& keys, S&& values, direction d = direction::ascending) {
  const detail::record_arrays all(keys, values);
  detail::sort_records(all.keys.type, all.keys.data, all.values, all.keys.num_keys, all.value_bytes, d);
}

/// Writes into `indices` the stable order of `keys`: keys[indices[0]] is the first. Keys are not changed. 32-bit
/// indices serve up to 2^32 keys (2^31 when signed). Throws as sort_pairs().
template <key_range R, in_place_index_range S>
void argsort(R&& keys, S&& indices, direction d, const sort_options& options) {
  const detail::index_arrays all(keys, indices);
  detail::order_keys(all.keys.type, all.keys.data, all.indices, all.keys.num_keys, all.index_bytes, d, options);
}
template <key_range R, in_place_index_range S>
void argsort(R&& keys, S&& indices, const sort_options& options) {
  spansort::argsort(keys, indices, direction::ascending, options);
}
template <key_range R, in_place_index_range S>
void argsort(R&& keys, S&& indices, direction d = direction::ascending) {
  const detail::index_arrays all(keys, indices);
  detail::order_keys(all.keys.type, all.keys.data, all.indices, all.keys.num_keys, all.index_bytes, d);
}

/// Returns the stable order of `keys` as 64-bit indices. Throws as sort_pairs().
template <key_range R>
[[nodiscard]] std::vector<std::uint64_t> argsort(R&& keys, direction d, const sort_options& options = {}) {
  std::vector<std::uint64_t> indices(std::ranges::size(keys));
  spansort::argsort(keys, indices, d, options);
  return indices;
}
template <key_range R>
[[nodiscard]] std::vector<std::uint64_t> argsort(R&& keys, const sort_options& options = {}) {
  return spansort::argsort(keys, direction::ascending, options);
}

/// Returns whether `keys` are in value order: -0.0 equals +0.0, NaNs are last and equal. One read, no memory.
template <key_range R>
[[nodiscard]] bool is_sorted(R&& keys, direction d = direction::ascending) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::is_sorted(as_const_key_span(std::span<const key>(keys)), d);
}

// These overloads take keys whose type is known at run time.

inline void sort(key_span keys, direction d, const sort_options& options) {
  detail::sort_keys(keys.type, keys.data, keys.num_keys, d, options);
}
inline void sort(key_span keys, const sort_options& options) { spansort::sort(keys, direction::ascending, options); }
inline void sort(key_span keys, direction d = direction::ascending) {
  detail::sort_keys(keys.type, keys.data, keys.num_keys, d);
}

/// `values` are keys.num_keys values of `value_bytes` bytes each.
inline void sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, direction d,
                       const sort_options& options) {
  detail::sort_records(keys.type, keys.data, values, keys.num_keys, value_bytes, d, options);
}
inline void sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, const sort_options& options) {
  detail::sort_records(keys.type, keys.data, values, keys.num_keys, value_bytes, direction::ascending, options);
}
inline void sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, direction d = direction::ascending) {
  detail::sort_records(keys.type, keys.data, values, keys.num_keys, value_bytes, d);
}

/// `indices` are keys.num_keys integers of `index_bytes` 4 or 8.
inline void argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, direction d,
                    const sort_options& options) {
  detail::order_keys(keys.type, keys.data, indices, keys.num_keys, index_bytes, d, options);
}
inline void argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, const sort_options& options) {
  detail::order_keys(keys.type, keys.data, indices, keys.num_keys, index_bytes, direction::ascending, options);
}
inline void argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, direction d = direction::ascending) {
  detail::order_keys(keys.type, keys.data, indices, keys.num_keys, index_bytes, d);
}

[[nodiscard]] inline bool is_sorted(const_key_span keys, direction d = direction::ascending) {
  return detail::is_sorted(keys, d);
}

// These overloads take the elements from `first` up to `last`, contiguous iterators or pointers.

template <in_place_key_iterator I, std::sized_sentinel_for<I> L>
void sort(I first, L last, direction d, const sort_options& options) {
  spansort::sort(std::span(first, last), d, options);
}
template <in_place_key_iterator I, std::sized_sentinel_for<I> L>
void sort(I first, L last, const sort_options& options) {
  spansort::sort(std::span(first, last), options);
}
template <in_place_key_iterator I, std::sized_sentinel_for<I> L>
void sort(I first, L last, direction d = direction::ascending) {
  spansort::sort(std::span(first, last), d);
}

/// `values` is where the values begin, as many as keys.
template <in_place_key_iterator I, std::sized_sentinel_for<I> L, std::contiguous_iterator V>
void sort_pairs(I first, L last, V values, direction d, const sort_options& options = {}) {
  const std::span keys(first, last);
  spansort::sort_pairs(keys, std::span(values, keys.size()), d, options);
}
template <in_place_key_iterator I, std::sized_sentinel_for<I> L, std::contiguous_iterator V>
void sort_pairs(I first, L last, V values, const sort_options& options = {}) {
  spansort::sort_pairs(first, last, values, direction::ascending, options);
}

/// `indices` is where as many indices as keys are written.
template <key_iterator I, std::sized_sentinel_for<I> L, std::contiguous_iterator O>
void argsort(I first, L last, O indices, direction d, const sort_options& options = {}) {
  const std::span keys(first, last);
  spansort::argsort(keys, std::span(indices, keys.size()), d, options);
}
template <key_iterator I, std::sized_sentinel_for<I> L, std::contiguous_iterator O>
void argsort(I first, L last, O indices, const sort_options& options = {}) {
  spansort::argsort(first, last, indices, direction::ascending, options);
}

template <key_iterator I, std::sized_sentinel_for<I> L>
[[nodiscard]] bool is_sorted(I first, L last, direction d = direction::ascending) {
  return spansort::is_sorted(std::span(first, last), d);
}

// These overloads cannot be called. The reason stands in the line that compilers show.
// clang-format off
template <class R, class... A> requires detail::not_contiguous<R>
detail::refused<"sort takes contiguous memory: copy the keys to a std::vector"> sort(R&&, A&&...) = delete;
template <class R, class... A> requires detail::const_elements<R>
detail::refused<"sort works in place, and these keys are const: copy them, or use argsort()"> sort(R&&, A&&...) = delete;
template <class R, class... A> requires detail::temporary_container<R>
detail::refused<"sort works in place, and this container is a temporary: give it a name"> sort(R&&, A&&...) = delete;
template <class R, class... A> requires detail::no_keys<R, A...>
detail::refused<"sort takes keys, which these elements are not: for structs use sort_by() with projections, or give a comparison"> sort(R&&, A&&...) = delete;
template <class I, class L, class... A> requires detail::not_contiguous_iterator<I>
detail::refused<"sort takes contiguous memory: copy the keys to a std::vector"> sort(I, L, A&&...) = delete;

template <class K, class V, class... A> requires(detail::const_elements<K> || detail::const_elements<V>)
detail::refused<"sort_pairs works in place, and these keys or values are const: copy them, or use argsort()"> sort_pairs(K&&, V&&, A&&...) = delete;
template <class K, class V, class... A> requires(detail::temporary_container<K> || detail::temporary_container<V>)
detail::refused<"sort_pairs works in place, and a container is a temporary: give it a name"> sort_pairs(K&&, V&&, A&&...) = delete;
template <class K, class V, class... A> requires(detail::not_contiguous<K> || detail::not_contiguous<V>)
detail::refused<"sort_pairs takes contiguous memory: copy to a std::vector, or use argsort()"> sort_pairs(K&&, V&&, A&&...) = delete;

template <class R, class... A> requires detail::not_contiguous<R>
detail::refused<"argsort takes contiguous keys: copy them to a std::vector, or use argsort_by()"> argsort(R&&, A&&...) = delete;
// clang-format on

}  // namespace spansort

#include "spansort/merge_sort.hpp"
