// SPDX-License-Identifier: Apache-2.0
// Counting keys between splitters on all threads, and collecting those of marked intervals: each thread collects in its
// scratch and takes room in the common array by the hundred kilobytes, so that they do not meet there.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "device/host/interval_kernels.hpp"
#include "device/host/primitives.hpp"

namespace spansort::device::host {

/// The splitters of a request with those first at which marks change. `order[s]` is the request's number of splitter s.
template <class K>
[[nodiscard]] splitter_list<K> list_splitters(const interval_request& request, std::vector<std::size_t>& order) {
  const auto is_marked = [&](std::size_t interval) { return (request.marked >> interval & 1) != 0; };
  const std::size_t num_splitters = request.splitters.size();
  order.clear();
  for (const bool turning : {true, false}) {
    for (std::size_t s = 0; s < num_splitters; ++s) {
      if ((is_marked(s) != is_marked(s + 1)) == turning) order.push_back(s);
    }
  }
  splitter_list<K> list;
  for (const std::size_t s : order) {
    list.splitters.push_back(static_cast<K>(request.splitters[s]));
    list.num_turning += is_marked(s) != is_marked(s + 1) ? 1 : 0;
  }
  list.last_is_marked = is_marked(num_splitters);
  return list;
}

/// All threads put here what they have collected.
template <class K>
class collected_keys {
 public:
  collected_keys(void* keys, std::uint64_t capacity) : keys_(static_cast<K*>(keys)), capacity_(capacity) {}

  void append(const K* keys, std::uint64_t count) {
    if (count == 0) return;
    const std::uint64_t begin = num_keys_.fetch_add(count, std::memory_order_relaxed);
    if (begin >= capacity_) return;
    std::memcpy(keys_ + begin, keys, std::min(count, capacity_ - begin) * sizeof(K));
  }

 private:
  K* keys_;
  std::uint64_t capacity_;
  std::atomic<std::uint64_t> num_keys_{0};
};

template <class K>
void run_count_intervals(const execution& with, const interval_request& request) {
  constexpr std::uint64_t block_keys = 16384 / sizeof(K);  // stays in the first-level cache
  constexpr std::uint64_t room_keys = (std::uint64_t{1} << 17) / sizeof(K);
  static_assert(room_keys * sizeof(K) <= max_local_bytes && room_keys > 2 * (block_keys + collect_slack_keys));
  SPANSORT_ASSERT(request.codec.is_bijective() && request.splitters.size() <= max_splitters);
  const keys::codec_of<K> codec = request.codec.template of<K>();
  const auto* const keys = static_cast<const K*>(request.keys);
  const std::size_t num_splitters = request.splitters.size();
  std::vector<std::size_t> order;
  const splitter_list<K> list = list_splitters<K>(request, order);
  const piece_list pieces = cut_into_pieces(request.num_keys, with.team.num_threads(), with.limits.piece_keys);
  std::vector<std::uint64_t> num_below(pieces.size() * num_splitters, 0);
  collected_keys<K> collected(request.collected, request.capacity);
  with.team.for_each(pieces.size(), [&](std::uint64_t i, worker_scratch& scratch) {
    K* const room = reinterpret_cast<K*>(scratch.records[0].get());
    std::uint64_t num_waiting = 0;
    const std::uint64_t end = pieces[i].begin + pieces[i].count;
    for (std::uint64_t begin = pieces[i].begin; begin < end; begin += block_keys) {
      num_waiting += collect_intervals(codec, keys + begin, std::min(block_keys, end - begin), list,
                                       num_below.data() + i * num_splitters, room + num_waiting);
      if (num_waiting + block_keys + collect_slack_keys <= room_keys) continue;
      collected.append(room, std::exchange(num_waiting, 0));
    }
    collected.append(room, num_waiting);
    if (with.watch != nullptr) with.watch->work_done.fetch_add(pieces[i].count, std::memory_order_relaxed);
  });
  std::vector<std::uint64_t> below(num_splitters + 1, request.num_keys);
  for (std::size_t s = 0; s < num_splitters; ++s) {
    below[order[s]] = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) below[order[s]] += num_below[i * num_splitters + s];
  }
  for (std::size_t s = 0; s <= num_splitters; ++s) request.counts[s] = below[s] - (s == 0 ? 0 : below[s - 1]);
}

}  // namespace spansort::device::host
