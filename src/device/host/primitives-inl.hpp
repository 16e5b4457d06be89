// SPDX-License-Identifier: Apache-2.0
// Bodies of primitives.hpp: the request's order and value width become template arguments here. Included by the
// instantiation units only.
#pragma once

#include <algorithm>
#include <vector>

#include "device/host/count_intervals.hpp"
#include "device/host/merge_records.hpp"
#include "device/host/parallel_sort.hpp"
#include "device/host/primitives.hpp"
#include "device/host/record_dispatch.hpp"

namespace spansort::device::host {

template <class K>
void run_histogram(const execution& with, const histogram_request& request) {
  const keys::codec_of<K> codec = request.shape.codec.template of<K>();
  const bool has_values = request.shape.value_bytes != 0;
  const auto count = [&]<class Order>(const Order& order) {
    const auto* const keys = static_cast<const K*>(request.keys);
    std::uint64_t num_counts = 0;
    for (const keys::digit_position digit : request.digits) num_counts += digit.num_buckets();
    const std::vector<bit_digit<K>> digits(request.digits.begin(), request.digits.end());
    const piece_list pieces = cut_into_pieces(request.num_keys, with.team.num_threads(), with.limits.piece_keys);
    std::vector<std::uint64_t> counts(pieces.size() * num_counts, 0);
    std::vector<look_result<K>> found(pieces.size());
    const look_request<K> wanted{request.found_shape != nullptr, false, 0};
    with.team.for_each(pieces.size(), [&](std::uint64_t i, worker_scratch&) {
      found[i] = count_and_look(order, codec, keys + pieces[i].begin, pieces[i].count,
                                std::span<const bit_digit<K>>(digits), counts.data() + i * num_counts, wanted);
      if (with.watch != nullptr) with.watch->work_done.fetch_add(pieces[i].count, std::memory_order_relaxed);
    });
    for (std::uint64_t c = 0; c < num_counts; ++c) {
      request.counts[c] = 0;
      for (std::uint64_t i = 0; i < pieces.size(); ++i) request.counts[c] += counts[i * num_counts + c];
    }
    if (request.found_shape != nullptr) {
      *request.found_shape = shape_of(join_orders(order, keys, pieces, found), has_values);
    }
  };
  if (codec.is_identity()) return count(identity_order<K>(codec));
  if (codec.folds_ties) return count(folding_order<K>(codec));
  count(bijective_order<K>(codec));
}

template <class K>
void run_partition(const execution& with, const partition_request& request, const records* destinations) {
  const keys::codec_of<K> codec = request.shape.codec.template of<K>();
  with_value_and_order<K>(request.shape, codec, [&]<class V, class Order>() {
    const Order order(codec);
    const split_records<K, V> source = split<K, V>(request.source);
    const bit_digit<K> digit(request.digit);
    const std::uint64_t num_buckets = digit.num_buckets();
    // One piece need not be counted: the caller says where its buckets begin.
    const piece_list pieces = with.team.num_threads() == 1
                                  ? piece_list{request.num_keys, 1}
                                  : cut_into_pieces(request.num_keys, with.team.num_threads(), with.limits.piece_keys);
    // [piece][bucket]: first how many, then where.
    std::vector<std::uint64_t> counts(pieces.size() * num_buckets, 0);
    if (pieces.size() > 1) {
      with.team.for_each(pieces.size(), [&](std::uint64_t i, worker_scratch&) {
        count_digits(order, source.keys + pieces[i].begin, pieces[i].count, digit, counts.data() + i * num_buckets);
      });
    }
    std::vector<split_records<K, V>> starts(pieces.size() * num_buckets);
    for (std::uint64_t b = 0; b < num_buckets; ++b) {
      split_records<K, V> next = split<K, V>(destinations[b]);
      for (std::uint64_t i = 0; i < pieces.size(); ++i) {
        starts[i * num_buckets + b] = next;
        if (next.keys != nullptr) next = next + counts[i * num_buckets + b];
      }
    }
    const bool stream = request.num_keys * request.shape.bytes() >= with.limits.stream_bytes;
    with.team.for_each(pieces.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      partition_records(order, scratch, stream, source + pieces[i].begin, pieces[i].count, digit,
                        starts.data() + i * num_buckets);
      if (with.watch != nullptr) with.watch->work_done.fetch_add(pieces[i].count, std::memory_order_relaxed);
    });
  });
}

template <class K>
local_sort_outcome run_local_sort(const execution& with, const local_sort_request& request) {
  const keys::codec_of<K> codec = request.shape.codec.template of<K>();
  return with_value_and_order<K>(request.shape, codec, [&]<class V, class Order>() {
    return parallel_sorter<K, V, Order>(with.team, codec, with.limits, with.watch, request.flow)
        .sort(split<K, V>(request.source), split<K, V>(request.alternate), request.result_in_alternate,
              request.segments);
  });
}

template <class K>
void run_swap_mirrored(const execution& with, const swap_mirrored_request& request) {
  with_value(request.shape.value_bytes, [&]<class V>() {
    const split_records<K, V> left = split<K, V>(request.left);
    const split_records<K, V> right = split<K, V>(request.right);
    const piece_list pieces = cut_into_pieces(request.num_records, with.team.num_threads(), with.limits.piece_keys);
    with.team.for_each(pieces.size(), [&](std::uint64_t i, worker_scratch&) {
      const std::uint64_t end = pieces[i].begin + pieces[i].count;
      for (std::uint64_t j = pieces[i].begin; j < end; ++j) {
        const std::uint64_t mirrored = request.num_records - 1 - j;
        const packed_record<K, V> from_left = left.get(j);
        left.put(j, right.get(mirrored));
        right.put(mirrored, from_left);
      }
      if (with.watch != nullptr) with.watch->work_done.fetch_add(2 * pieces[i].count, std::memory_order_relaxed);
    });
  });
}

template <class K>
void run_merge(const execution& with, const merge_request& request) {
  const keys::codec_of<K> codec = request.shape.codec.template of<K>();
  with_value_and_order<K>(request.shape, codec, [&]<class V, class Order>() {
    const Order order(codec);
    const sorted_runs<K, V> runs{{split<K, V>(request.left), request.num_left},
                                 {split<K, V>(request.right), request.num_right}};
    const split_records<K, V> destination = split<K, V>(request.destination);
    const piece_list pieces =
        cut_into_pieces(request.num_left + request.num_right, with.team.num_threads(), with.limits.piece_keys);
    with.team.for_each(pieces.size(), [&](std::uint64_t i) {
      merge_records(order, cut_runs(order, runs, pieces[i]), destination + pieces[i].begin);
      if (with.watch != nullptr) with.watch->work_done.fetch_add(pieces[i].count, std::memory_order_relaxed);
    });
  });
}

}  // namespace spansort::device::host
