// SPDX-License-Identifier: Apache-2.0
// Stable partition of one thread's piece with software write-combining: a line or more of each bucket is collected in
// cache and written out whole, past the caches where the output is large. One read and one write of every record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/host/level_digit.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

template <class K, class V, class Order, unsigned line_bytes>
class record_partitioner {
 public:
  static constexpr std::uint64_t line_keys = line_bytes / sizeof(K);
  /// Bytes of combining buffer that one bucket takes.
  static constexpr std::uint64_t bucket_bytes = line_keys * (sizeof(K) + value_bytes_of<V>);

  /// `stream`: write past the caches.
  record_partitioner(const Order& order, worker_scratch& scratch, bool stream)
      : order_(order),
        stream_(stream),
        lines_(reinterpret_cast<K*>(scratch.combining.get())),
        cursors_(reinterpret_cast<K**>(scratch.cursors.get())),
        begins_(cursors_ + (std::uint64_t{1} << max_digit_bits)),
        value_begins_(reinterpret_cast<V**>(begins_ + (std::uint64_t{1} << max_digit_bits))) {}

  /// `destinations[b]`: where this piece's records of bucket b go.
  template <class Digit>
  void partition(split_records<K, V> source, std::uint64_t num_keys, const Digit& digit,
                 const split_records<K, V>* destinations) {
    const std::uint64_t num_buckets = digit.num_buckets();
    value_lines_ = reinterpret_cast<V*>(lines_ + num_buckets * line_keys);
    for (std::uint64_t b = 0; b < num_buckets; ++b) {
      cursors_[b] = begins_[b] = destinations[b].keys;
      if constexpr (value_bytes_of<V> != 0) value_begins_[b] = destinations[b].values;
    }
    // Copies of its own stay in registers: the compiler need not fear that a store has changed them.
    const Order order = order_;
    const Digit own_digit = digit;
    const buffers to{lines_, value_lines_, cursors_};
    std::uint64_t i = 0;
    if constexpr (Digit::wants_many) {
      move_tiles(order, to, source, num_keys, own_digit);
    } else {
      for (; i + 8 <= num_keys; i += 8) move(order, to, source, i, 8, own_digit);
      for (; i < num_keys; ++i) move(order, to, source, i, 1, own_digit);
    }
    for (std::uint64_t b = 0; b < num_buckets; ++b) flush_rest(b);
    finish_streaming();
  }

 private:
  struct buffers {
    K* __restrict lines;
    V* __restrict value_lines;
    K** __restrict cursors;
  };

  template <class Digit>
  void move_tiles(const Order& order, const buffers& to, split_records<K, V> source, std::uint64_t num_keys,
                  const Digit& digit) {
    K encoded[splitter_tile_keys];
    std::uint16_t found[splitter_tile_keys];
    for (std::uint64_t begin = 0; begin < num_keys; begin += splitter_tile_keys) {
      const std::uint64_t n = std::min(splitter_tile_keys, num_keys - begin);
      const split_records<K, V> tile = source + begin;
      for (std::uint64_t i = 0; i < n; ++i) encoded[i] = order.encode(tile.keys[i]);
      digit.find(encoded, n, found);
      std::uint64_t i = 0;
      for (; i + 8 <= n; i += 8) put(to, tile + i, 8, found + i);
      for (; i < n; ++i) put(to, tile + i, 1, found + i);
    }
  }

  template <class Digit>
  [[gnu::always_inline]] void move(const Order& order, const buffers& to, split_records<K, V> source, std::uint64_t i,
                                   unsigned n, const Digit& digit) {
    std::size_t buckets[8];
    for (unsigned j = 0; j < n; ++j) buckets[j] = digit.of(order.encode(source.keys[i + j]));
    put(to, source + i, n, buckets);
  }

  /// Adds `n` <= 8 records to the lines of their buckets.
  template <class Bucket>
  [[gnu::always_inline]] void put(const buffers& to, split_records<K, V> source, unsigned n, const Bucket* buckets) {
    K moved[8];
    for (unsigned j = 0; j < n; ++j) moved[j] = source.keys[j];
    for (unsigned j = 0; j < n; ++j) {
      const std::size_t b = buckets[j];
      K* const cursor = to.cursors[b];
      const std::uint64_t lane = lane_of(cursor);
      to.lines[b * line_keys + lane] = moved[j];
      if constexpr (value_bytes_of<V> != 0) to.value_lines[b * line_keys + lane] = source.values[j];
      to.cursors[b] = cursor + 1;
      if (lane == line_keys - 1) [[unlikely]]
        flush_line(b, cursor + 1);
    }
  }

  /// Position in a line: lines start where the destination's addresses do.
  [[nodiscard]] static std::uint64_t lane_of(const K* p) noexcept {
    return reinterpret_cast<std::uintptr_t>(p) / sizeof(K) % line_keys;
  }

  void flush_line(std::size_t b, K* end) {
    if (end - begins_[b] < static_cast<std::ptrdiff_t>(line_keys)) return flush(b, begins_[b], end);
    K* const to = end - line_keys;
    write_line(to, lines_ + b * line_keys, line_bytes, stream_);
    if constexpr (value_bytes_of<V> != 0) {
      write_line(value_begins_[b] + (to - begins_[b]), value_lines_ + b * line_keys, line_keys * sizeof(V), stream_);
    }
  }

  void flush_rest(std::size_t b) {
    K* const end = cursors_[b];
    const std::uint64_t lane = lane_of(end);
    flush(b, std::max(begins_[b], end - lane), end);
  }

  /// Part of a line: what lies before or behind it may be another thread's.
  void flush(std::size_t b, K* from, K* end) {
    if (from == end) return;
    const std::uint64_t first = b * line_keys + lane_of(from);
    const auto count = static_cast<std::uint64_t>(end - from);
    std::memcpy(from, lines_ + first, count * sizeof(K));
    if constexpr (value_bytes_of<V> != 0) {
      std::memcpy(value_begins_[b] + (from - begins_[b]), value_lines_ + first, count * sizeof(V));
    }
  }

  Order order_;
  bool stream_;
  K* __restrict lines_;
  V* __restrict value_lines_ = nullptr;
  K** __restrict cursors_;
  K** begins_;
  V** value_begins_;
};

/// Scatters records without combining writes, for digits that are too wide for the buffers.
template <class K, class V, class Order, class Digit>
void scatter_records(const Order& order, worker_scratch& scratch, split_records<K, V> source, std::uint64_t num_keys,
                     const Digit& digit, const split_records<K, V>* destinations) {
  auto* const positions = reinterpret_cast<std::uint64_t*>(scratch.cursors.get());
  std::fill_n(positions, digit.num_buckets(), std::uint64_t{0});
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const packed_record<K, V> r = source.get(i);
    const std::size_t b = digit.of(order.encode(r.key));
    destinations[b].put(positions[b]++, r);
  }
}

/// Partitions with the longest lines whose buffers stay in the second-level cache.
template <class K, class V, class Order, class Digit>
void partition_records(const Order& order, worker_scratch& scratch, bool stream, split_records<K, V> source,
                       std::uint64_t num_keys, const Digit& digit, const split_records<K, V>* destinations) {
  constexpr std::uint64_t cache_bytes = combining_bytes / 2;
  using long_lines = record_partitioner<K, V, Order, 128>;
  using short_lines = record_partitioner<K, V, Order, 64>;
  if (long_lines::bucket_bytes * digit.num_buckets() <= cache_bytes) {
    return long_lines(order, scratch, stream).partition(source, num_keys, digit, destinations);
  }
  if (short_lines::bucket_bytes * digit.num_buckets() <= combining_bytes) {
    return short_lines(order, scratch, stream).partition(source, num_keys, digit, destinations);
  }
  scatter_records(order, scratch, source, num_keys, digit, destinations);
}

}  // namespace spansort::device::host
