// SPDX-License-Identifier: Apache-2.0
#include "device/host/tiled_pairs.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

#include "base/math.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/sampled_repeats.hpp"
#include "device/host/scratch.hpp"
#include "device/host/sorted_sample.hpp"
#include "device/host/splitter_pairs.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {
namespace {

constexpr std::uint64_t fewest_pairs = std::uint64_t{1} << 12;  ///< however low the limit is
/// There are 2^8 buckets at most. Of more pairs one would too often find no room in a thread's scratch: by chance one
/// in 30 sorts of so many has such a bucket, and two in five of 5 * 2^22.
constexpr std::uint64_t most_pairs = std::uint64_t{9} << 21;
constexpr unsigned most_threads = 3;  ///< on more it has not been measured
constexpr std::uint64_t most_tile_pairs = std::uint64_t{1} << 15;
constexpr std::uint64_t samples_of_bucket = 32;
/// Where a sample misses one key in so many at most, buckets have few keys each, which a sort by levels counts: 2^24
/// pairs of 1,000 values took 6.7 ns a pair in tiles and 5.0 by levels.
constexpr std::uint64_t most_missed = 32;

/// Buckets are to have 2^14 pairs, as long as their splitters fit registers. From 2^23 pairs on there are more, for
/// those of twice as many would find no room in the second-level cache.
[[nodiscard]] unsigned bits_for(std::uint64_t num_keys) noexcept {
  constexpr unsigned wanted_bits = 14;
  constexpr unsigned fewest_bits = 4;  // the kernels have four levels or more
  constexpr unsigned most_bits_in_registers = 7;
  constexpr std::uint64_t many_pairs = std::uint64_t{1} << 23;
  const unsigned width = std::max(static_cast<unsigned>(std::bit_width(num_keys - 1)), wanted_bits + fewest_bits);
  return std::min(width - wanted_bits, num_keys > many_pairs ? pair_splitters::most_bits : most_bits_in_registers);
}

}  // namespace

bool tiled_pairs_sorter::choose(const key* keys, std::uint64_t num_keys) {
  if (num_keys < std::max(limits_.tiled_pairs, fewest_pairs) || num_keys > most_pairs) return false;
  if (team_.num_threads() > most_threads || !has_packed_buckets()) return false;
  const unsigned bits = bits_for(num_keys);
  std::vector<key> sample(std::min(samples_of_bucket << bits, num_keys / 8));
  const key_sampler<key> sampled(keys, num_keys, sample.size());
  for (std::uint64_t i = 0; i < sample.size(); ++i) sample[i] = codec_.encode(sampled(i));
  if (std::is_sorted(sample.begin(), sample.end()) || std::is_sorted(sample.rbegin(), sample.rend())) return false;
  sort_sample(team_, sample);
  if (most_missed * count_repeats(sample.data(), sample.size()).once <= sample.size()) return false;
  splitters_.choose(sample.data(), sample.size(), bits);
  cut(num_keys);
  ends_.resize(splitters_.num_buckets() * tiles_.size());
  tasks_.reserve(splitters_.num_buckets() + num_keys / tile_pairs() + 1);
  large_.reserve(num_keys / splitter_sorter::most_pairs + 1);
  return true;
}

std::uint64_t tiled_pairs_sorter::tile_pairs() const noexcept {
  static_assert(most_tile_pairs <= std::numeric_limits<std::uint16_t>::max());
  return std::clamp(limits_.tile_pairs, std::uint64_t{1}, most_tile_pairs);
}

void tiled_pairs_sorter::partition(split from, split beside, std::uint64_t num_keys, const sort_watch& watch,
                                   bool can_stop) {
  place_tiles(beside, num_keys);
  const bool stream = num_keys * sizeof(packed_pair) >= limits_.stream_pairs_bytes;
  team_.for_each(tiles_.size(), [&](std::uint64_t t, worker_scratch& scratch) {
    if (can_stop && watch.stopping()) return;
    partition_tile(from, t, scratch, stream);
    watch.advance(tiles_[t].count);
  });
  make_tasks();
}

void tiled_pairs_sorter::sort_buckets(split result, const sort_watch& watch, std::uint64_t position) {
  std::atomic<std::uint64_t> next{0};
  team_.for_each(tasks_.size(), [&](std::uint64_t i, worker_scratch& scratch) {
    // Whoever takes results away wants them from the begin on, not from where each thread has its share.
    const task& work = tasks_[!watch.has_flow() ? i : next.fetch_add(1, std::memory_order_relaxed)];
    const split to = result + work.begin;
    splitter_sorter sorter(codec_, scratch);
    gather(work, sorter.packed_room());
    if (work.is_bucket) {
      sorter.sort_packed(splitters_.range_of(work.bucket), to, work.count);
    } else {
      unpack_pairs(sorter.packed_room(), work.count, to.keys, to.values);
    }
    if (!work.is_last) return;
    watch.advance(work.count);
    watch.hand_over(position + work.begin, work.count);
  });
}

void tiled_pairs_sorter::cut(std::uint64_t num_keys) {
  const std::uint64_t half = num_keys / 2;
  const piece_list of_half(half, base::ceil_div(half, tile_pairs()));
  tiles_.reserve(2 * of_half.size() + 1);
  for (const std::uint64_t begin : {std::uint64_t{0}, half}) {
    for (std::uint64_t i = 0; i < of_half.size(); ++i) {
      tiles_.push_back({begin + of_half[i].begin, of_half[i].count, nullptr});
    }
  }
  if (2 * half != num_keys) tiles_.push_back({num_keys - 1, 1, nullptr});
}

void tiled_pairs_sorter::place_tiles(split beside, std::uint64_t num_keys) {
  const std::uint64_t half = num_keys / 2;
  for (tile& t : tiles_) {
    if (t.begin < half) {
      t.pairs = reinterpret_cast<std::byte*>(beside.keys) + t.begin * sizeof(packed_pair);
    } else if (t.begin < 2 * half) {
      t.pairs = reinterpret_cast<std::byte*>(beside.values) + (t.begin - half) * sizeof(packed_pair);
    } else {
      t.pairs = reinterpret_cast<std::byte*>(&last_pair_);
    }
  }
}

void tiled_pairs_sorter::partition_tile(split from, std::uint64_t t, worker_scratch& scratch, bool stream) {
  const tile& of = tiles_[t];
  auto* const buckets = reinterpret_cast<std::uint16_t*>(scratch.words.get());
  auto* const moved = reinterpret_cast<packed_pair*>(scratch.records[0].get());
  pair_mover mover;
  splitters_.find(codec_, from.keys + of.begin, of.count, buckets);
  mover.count(buckets, of.count, splitters_.num_buckets());
  mover.move(from + of.begin, buckets, of.count, moved);
  for (std::uint64_t b = 0; b < splitters_.num_buckets(); ++b) {
    ends_[b * tiles_.size() + t] = static_cast<std::uint16_t>(mover.end_of_moved(b));
  }
  write_sequence(of.pairs, moved, of.count * sizeof(packed_pair), stream);
  if (stream) finish_streaming();
}

void tiled_pairs_sorter::make_tasks() {
  std::uint64_t begin = 0;
  for (std::uint64_t b = 0; b < splitters_.num_buckets(); ++b) {
    std::uint64_t count = 0;
    for (std::uint64_t t = 0; t < tiles_.size(); ++t) count += run_of(b, t).count;
    add_tasks(b, begin, count);
    begin += count;
  }
}

void tiled_pairs_sorter::add_tasks(std::uint64_t b, std::uint64_t begin, std::uint64_t count) {
  if (count == 0) return;
  const key_range<key> range = splitters_.range_of(b);
  const bool is_of_one_key = range.least == range.greatest;
  if (!is_of_one_key && count <= splitter_sorter::most_pairs) {
    tasks_.push_back({b, 0, tiles_.size(), begin, count, true, true});
    return;
  }
  if (!is_of_one_key) large_.push_back({begin, count, {0, sizeof(key) * 8}});
  task part{b, 0, 0, begin, 0, false, is_of_one_key};
  for (std::uint64_t t = 0; t < tiles_.size(); ++t) {
    part.count += run_of(b, t).count;
    part.end_tile = t + 1;
    if (part.count < tile_pairs() && part.end_tile != tiles_.size()) continue;
    if (part.count != 0) tasks_.push_back(part);
    part.first_tile = part.end_tile;
    part.begin += part.count;
    part.count = 0;
  }
}

void tiled_pairs_sorter::gather(const task& work, packed_pair* to) const {
  constexpr std::uint64_t ahead = 2;
  for (std::uint64_t t = work.first_tile; t < work.end_tile; ++t) {
    if (t + ahead < work.end_tile) fetch(run_of(work.bucket, t + ahead));
    const run from = run_of(work.bucket, t);
    std::memcpy(to, from.pairs, from.count * sizeof(packed_pair));
    to += from.count;
  }
}

void tiled_pairs_sorter::fetch(run from) {
  constexpr std::uint64_t most_bytes = 1024;
  const std::uint64_t size = std::min(from.count * sizeof(packed_pair), most_bytes);
  for (std::uint64_t i = 0; i < size; i += 64) __builtin_prefetch(from.pairs + i, 0, 2);
}

}  // namespace spansort::device::host
