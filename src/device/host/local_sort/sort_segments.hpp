// SPDX-License-Identifier: Apache-2.0
// The published local sorts of host devices share this: a request becomes calls of a sorter, segment by segment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/host/parallel_sort.hpp"
#include "device/host/primitives.hpp"
#include "device/host/record_dispatch.hpp"
#include "device/host/sort_level.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {

/// What a sorter works with: threads, sizes, and those who watch.
class sort_work {
 public:
  sort_work(const execution& with, const local_sort_request& request)
      : with_(with), digit_bits_(request.digit_bits), can_stop_(request.segments.size() == 1) {}

  [[nodiscard]] workers& team() const { return with_.team; }
  [[nodiscard]] unsigned num_threads() const { return with_.team.num_threads(); }
  /// Returns the widest digit that was asked for, else `own`.
  [[nodiscard]] unsigned digit_bits(unsigned own) const { return digit_bits_ == 0 ? own : digit_bits_; }
  [[nodiscard]] piece_list cut(std::uint64_t num_keys) const {
    return cut_into_pieces(num_keys, num_threads(), with_.limits.piece_keys);
  }
  /// Returns whether so much output is written past the caches.
  [[nodiscard]] bool streams(std::uint64_t size_bytes) const { return size_bytes >= with_.limits.stream_bytes; }

  /// Adds to the progress that is shown.
  void advance(std::uint64_t num_keys) const {
    if (with_.watch != nullptr) with_.watch->work_done.fetch_add(num_keys, std::memory_order_relaxed);
  }
  /// Throws where the monitor asks for the end, as long as the source is whole.
  void stop_if_asked() const {
    if (can_stop_ && with_.watch != nullptr && with_.watch->stop_requested.load(std::memory_order_relaxed)) {
      throw stop_requested{};
    }
  }
  /// Says that the sort cannot stop from here on.
  void source_is_overwritten() { can_stop_ = false; }

 private:
  execution with_;
  unsigned digit_bits_;
  bool can_stop_;
};

/// One segment as a sorter sees it. The arrays point at its first record.
template <class K, class V>
struct sorted_segment {
  split_records<K, V> source;
  split_records<K, V> alternate;  ///< null where the algorithm sorts in place
  std::uint64_t count = 0;        ///< at least 2
  keys::bit_range bits;           ///< not empty; all keys agree above it
  void* scratch = nullptr;
};

template <class K, class V>
void copy_records(const sort_work& work, split_records<K, V> from, split_records<K, V> to, std::uint64_t count) {
  if (from.keys == to.keys) return;
  const piece_list pieces = work.cut(count);
  work.team().for_each(pieces.size(), [&](std::uint64_t i) {
    const piece p = pieces[i];
    std::copy_n(from.keys + p.begin, p.count, to.keys + p.begin);
    if constexpr (value_bytes_of<V> != 0) std::copy_n(from.values + p.begin, p.count, to.values + p.begin);
  });
}

/// Sorts a request by Sorter<K, V, Order>(work, codec, outcome).sort(segment), which returns where the records end and
/// adds its passes and bytes to the outcome.
template <template <class, class, class> class Sorter>
local_sort_outcome sort_segments(const execution& with, const local_sort_request& request) {
  return keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> codec = request.shape.codec.template of<K>();
    return with_value_and_order<K>(request.shape, codec, [&]<class V, class Order>() {
      sort_work work(with, request);
      local_sort_outcome all;
      for (const sort_segment& s : request.segments) {
        if (s.count == 0) continue;
        const split_records<K, V> source = split<K, V>(request.source) + s.begin;
        const split_records<K, V> alternate =
            request.alternate.keys == nullptr ? split_records<K, V>{} : split<K, V>(request.alternate) + s.begin;
        const split_records<K, V> result = request.result_in_alternate ? alternate : source;
        split_records<K, V> end = source;
        local_sort_outcome one;
        if (s.count > 1 && !s.bits.empty()) {
          end = Sorter<K, V, Order>(work, codec, one).sort({source, alternate, s.count, s.bits, request.scratch});
        }
        copy_records(work, end, result, s.count);
        all.num_passes = std::max(all.num_passes, one.num_passes);
        all.bytes_moved += one.bytes_moved;
      }
      return all;
    });
  });
}

}  // namespace spansort::device::host
