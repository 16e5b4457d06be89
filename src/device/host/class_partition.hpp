// SPDX-License-Identifier: Apache-2.0
// One pass over keys alone partitions them into classes without counting them first. Each thread takes tiles, scatters
// a tile to slots in its cache, each as large as its class's share of a sample asks for, and writes whole lines of them
// to blocks. A tile whose slots overflow, as those of inputs that are nearly in order do, is counted. Nothing of the
// source is overwritten. Stable: a thread's blocks hold keys in the order of its tiles.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "device/host/class_kernels.hpp"
#include "device/host/heavy_filter.hpp"
#include "device/host/heavy_values.hpp"
#include "device/host/sort_watch.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// All threads cut their tiles into slots like this.
struct slot_plan {
  std::uint64_t tile_keys = 0;
  std::vector<std::uint32_t> begins;  ///< [class], and the end of the last
};

/// Most classes that the scratch of a thread has room for.
inline constexpr unsigned most_classes = 2048;

template <class K>
class class_partition {
 public:
  static constexpr std::uint64_t line_keys = 64 / sizeof(K);

  /// Takes memory for the links of blocks, and `spare_bytes` of each thread for those that end up not full. `alternate`
  /// is as large as what will be partitioned. Heavy values, where there are any, are counted and left out.
  class_partition(workers& team, const keys::codec_of<K>& codec, const key_classes<K>& classes,
                  std::span<const K> sample, const heavy_values<K>* heavy, K* alternate, std::uint64_t num_keys,
                  std::uint64_t spare_bytes, bool stream)
      : team_(team),
        codec_(codec),
        classes_(classes),
        heavy_(heavy),
        stream_(stream),
        slots_(plan_slots(classes, sample)),
        pool_(block_keys_for(classes.num_classes, spare_bytes)),
        writers_(team.num_threads()),
        heavy_counts_(heavy == nullptr ? 0 : heavy->values().size(), 0) {
    pool_.add(alternate, num_keys);
    pool_.add(reinterpret_cast<K*>(team.spare_blocks(spare_bytes)), team.num_threads() * spare_bytes / sizeof(K));
  }

  /// Reads all keys, unless asked to stop.
  void run(const K* keys, std::uint64_t num_keys, const sort_watch& watch, bool can_stop) {
    const std::uint64_t num_tiles = base::ceil_div(num_keys, slots_.tile_keys);
    std::atomic<std::uint64_t> next{0};
    team_.for_each(writers_.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      std::uint64_t tile = next.fetch_add(1, std::memory_order_relaxed);
      // A thread that has run another of these tasks finds no tile any more, so its scratch is one writer's.
      if (tile >= num_tiles) return;
      writers_[i] = make_writer(scratch);
      tile_state state = make_state(scratch);
      for (; tile < num_tiles && !(can_stop && watch.stopping()); tile = next.fetch_add(1, std::memory_order_relaxed)) {
        const std::uint64_t begin = tile * slots_.tile_keys;
        const std::uint64_t count = std::min(slots_.tile_keys, num_keys - begin);
        if (heavy_ == nullptr) {
          move_tile(writers_[i], state, keys + begin, count);
        } else {
          move_light(writers_[i], state, keys + begin, count);
        }
        watch.advance(count);
      }
      if (heavy_ != nullptr) finish_light(writers_[i], state);
      finish_streaming();
    });
  }

  [[nodiscard]] const std::vector<class_writer<K>>& writers() const noexcept { return writers_; }
  /// Returns how often each heavy value was met.
  [[nodiscard]] const std::vector<std::uint64_t>& heavy_counts() const noexcept { return heavy_counts_; }
  [[nodiscard]] std::uint64_t num_counted_tiles() const noexcept { return num_counted_tiles_.load(); }

 private:
  /// A thread's arrays for one tile, and whether slots have served it.
  struct tile_state {
    K* slots = nullptr;
    std::uint32_t* cursors = nullptr;
    std::uint32_t* counts = nullptr;
    std::uint32_t* begins = nullptr;
    K* light = nullptr;  ///< keys that are no heavy values and wait for a tile
    std::uint64_t num_light = 0;
    std::uint32_t* heavy_counters = nullptr;
    std::uint64_t num_filtered = 0;  ///< since the counters were last emptied
    unsigned failures = 0;
    unsigned tiles_to_count = 0;
  };

  static constexpr std::uint64_t slot_room = max_local_bytes / sizeof(K);

  [[nodiscard]] static std::uint64_t block_keys_for(unsigned num_classes, std::uint64_t spare_bytes) {
    std::uint64_t bytes = std::uint64_t{1} << 14;
    while (bytes * (num_classes + block_pool<K>::at_once(bytes)) > spare_bytes) bytes /= 2;
    return bytes / sizeof(K);
  }

  /// Slots hold six standard deviations more than a class's share, which is a guess where classes come from a sample.
  [[nodiscard]] static slot_plan plan_slots(const key_classes<K>& classes, std::span<const K> sample) {
    std::vector<double> shares(classes.num_classes, 0.0);
    const double spare = classes.is_linear ? 1.1 : 1.0;
    if (classes.is_linear) {
      std::fill(shares.begin(), shares.end(), 1.0 / classes.num_classes);
    } else {
      for (const K key : sample) shares[classes.of(key)] += 1;
      // A class may have more than the share that the sample tells: three standard deviations, and some that it missed.
      for (double& s : shares) s = (s + 3 * std::sqrt(s) + 4) / static_cast<double>(sample.size());
    }
    slot_plan plan;
    plan.tile_keys =
        std::clamp<std::uint64_t>(std::uint64_t{64} * classes.num_classes, std::uint64_t{1} << 12, slot_room / 4);
    for (;; plan.tile_keys /= 2) {
      plan.begins.clear();
      std::uint64_t begin = 0;
      for (const double share : shares) {
        plan.begins.push_back(static_cast<std::uint32_t>(begin));
        const double expected = share * spare * static_cast<double>(plan.tile_keys);
        const auto keys = static_cast<std::uint64_t>(expected + 6 * std::sqrt(expected)) + line_keys;
        begin += (base::ceil_div(keys, line_keys) | 1) * line_keys;  // odd, or slots fall into the same sets
      }
      plan.begins.push_back(static_cast<std::uint32_t>(begin));
      const std::uint64_t counted = plan.tile_keys + 3 * line_keys * classes.num_classes;
      if (std::max(begin + plan.tile_keys, counted) + line_keys <= slot_room) return plan;
    }
  }

  [[nodiscard]] class_writer<K> make_writer(worker_scratch& scratch) {
    auto* const words = reinterpret_cast<std::uint32_t*>(scratch.cursors.get());
    class_writer<K> w;
    w.pool = &pool_;
    w.num_classes = classes_.num_classes;
    w.nexts = reinterpret_cast<K**>(words);
    w.ends = w.nexts + most_classes;
    w.first_blocks = words + 4 * most_classes;
    w.last_blocks = words + 5 * most_classes;
    w.rest_counts = words + 6 * most_classes;
    w.own_blocks = words + 10 * most_classes;
    w.rests = reinterpret_cast<K*>(scratch.combining.get() + combining_bytes / 2);
    w.start();
    return w;
  }

  [[nodiscard]] tile_state make_state(worker_scratch& scratch) const {
    auto* const counters = reinterpret_cast<std::uint32_t*>(scratch.combining.get());
    static_assert(heavy_values<K>::num_counters * sizeof(std::uint32_t) <= combining_bytes / 2);
    if (heavy_ != nullptr) std::fill_n(counters, heavy_values<K>::num_counters, 0U);
    auto* const words = reinterpret_cast<std::uint32_t*>(scratch.cursors.get());
    return {.slots = reinterpret_cast<K*>(scratch.records[0].get()),
            .cursors = words + 7 * most_classes,
            .counts = words + 8 * most_classes,
            .begins = words + 9 * most_classes,
            .light = reinterpret_cast<K*>(scratch.records[1].get()),
            .heavy_counters = counters};
  }

  /// Leaves heavy values out, and moves a tile of the other keys whenever there is one.
  void move_light(const class_writer<K>& writer, tile_state& state, const K* keys, std::uint64_t num_keys) {
    constexpr std::uint64_t most_counted = std::uint64_t{1} << 31;
    if (state.num_filtered + num_keys > most_counted) add_counters(state);
    state.num_filtered += num_keys;
    state.num_light += filter_heavy(*heavy_, keys, num_keys, state.light + state.num_light, state.heavy_counters);
    if (state.num_light < slots_.tile_keys) return;
    move_tile(writer, state, state.light, slots_.tile_keys);
    state.num_light -= slots_.tile_keys;
    std::copy_n(state.light + slots_.tile_keys, state.num_light, state.light);
  }

  void finish_light(const class_writer<K>& writer, tile_state& state) {
    move_tile(writer, state, state.light, state.num_light);
    add_counters(state);
  }

  void add_counters(tile_state& state) {
    const std::lock_guard lock(heavy_mutex_);
    for (std::size_t v = 0; v < heavy_counts_.size(); ++v) {
      std::uint32_t* const of_value = state.heavy_counters + heavy_->values()[v].cell * heavy_values<K>::num_lanes;
      for (std::size_t lane = 0; lane < heavy_values<K>::num_lanes; ++lane)
        heavy_counts_[v] += std::exchange(of_value[lane], 0U);
    }
    state.num_filtered = 0;
  }

  void move_tile(const class_writer<K>& writer, tile_state& state, const K* keys, std::uint64_t num_keys) {
    constexpr unsigned most_failures = 2;
    constexpr unsigned tiles_after_failures = 64;
    if (state.tiles_to_count == 0) {
      const tile_slots<K> slots{state.slots, state.cursors, slots_.begins.data()};
      begin_slots(writer, slots);
      scatter_to_slots(codec_, classes_, keys, num_keys, slots);
      bool overflows = false;
      for (unsigned c = 0; c < classes_.num_classes; ++c) overflows |= state.cursors[c] > slots_.begins[c + 1];
      if (!overflows) {
        state.failures = 0;
        return flush_slots(writer, slots, stream_);
      }
      if (++state.failures >= most_failures) state.tiles_to_count = tiles_after_failures;
    } else {
      --state.tiles_to_count;
    }
    move_counted_tile(writer, state, keys, num_keys);
  }

  void move_counted_tile(const class_writer<K>& writer, const tile_state& state, const K* keys,
                         std::uint64_t num_keys) {
    std::fill_n(state.counts, classes_.num_classes, 0U);
    count_classes(codec_, classes_, keys, num_keys, state.counts);
    std::uint32_t begin = 0;
    for (unsigned c = 0; c < classes_.num_classes; ++c) {
      state.begins[c] = begin;
      // A whole line of rests is read, and written, at each begin.
      begin += static_cast<std::uint32_t>(
          (base::ceil_div<std::uint64_t>(state.counts[c] + writer.rest_counts[c], line_keys) + 1) * line_keys);
    }
    const tile_slots<K> slots{state.slots, state.cursors, state.begins};
    begin_slots(writer, slots);
    scatter_runs_to_slots(codec_, classes_, keys, num_keys, slots);
    flush_slots(writer, slots, stream_);
    num_counted_tiles_.fetch_add(1, std::memory_order_relaxed);
  }

  workers& team_;
  keys::codec_of<K> codec_;
  key_classes<K> classes_;
  const heavy_values<K>* heavy_;
  bool stream_;
  slot_plan slots_;
  block_pool<K> pool_;
  std::vector<class_writer<K>> writers_;
  std::mutex heavy_mutex_;
  std::vector<std::uint64_t> heavy_counts_;
  std::atomic<std::uint64_t> num_counted_tiles_{0};
};

}  // namespace spansort::device::host
