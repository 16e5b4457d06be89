// SPDX-License-Identifier: Apache-2.0
// This sorts pairs of 32-bit keys and values that are more than a thread's caches hold. The splitters of a sample part
// each tile of the input into buckets inside a thread's caches, and tiles are written out one behind the other, so that
// nothing is counted beforehand and memory is written in order. A thread then gathers the runs of a bucket from all
// tiles and sorts them by splitters of their own, and a bucket of one key is done when its runs lie in the result. A
// pair is read and written in its tile, read with its run, and written to the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/host/pair_buckets.hpp"
#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/sort_watch.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

class tiled_pairs_sorter {
 public:
  using key = std::uint32_t;
  using split = split_records<key, value4>;

  tiled_pairs_sorter(workers& team, const keys::codec_of<key>& codec, const sort_limits& limits)
      : team_(team), codec_(codec), limits_(limits) {}

  /// Looks at a sample. Returns false where the machine has no fast kernels for this, where there are too few pairs,
  /// too many, or more threads than it has been measured with, where the pairs may be in order, which a sort by levels
  /// finds out, and where they are of a few hundred keys, which levels count.
  [[nodiscard]] bool choose(const key* keys, std::uint64_t num_keys);

  /// Writes the tiles of `from` to the memory of `beside`, which has as many pairs and does not overlap it. Leaves out
  /// those from which on `watch` wants to stop.
  void partition(split from, split beside, std::uint64_t num_keys, const sort_watch& watch, bool can_stop);

  /// Writes the buckets to `result`, each sorted but for those of large_buckets(). Hands over what is in its place;
  /// `position` is that of the result in the whole.
  void sort_buckets(split result, const sort_watch& watch, std::uint64_t position);

  /// Buckets, few if any, that no thread's caches hold, by chance or because the sample was deceived.
  [[nodiscard]] const std::vector<sort_segment>& large_buckets() const noexcept { return large_; }

 private:
  struct tile {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
    std::byte* pairs = nullptr;  ///< packed, of any alignment
  };

  /// The pairs of a tile that are of one bucket.
  struct run {
    const std::byte* pairs = nullptr;
    std::uint64_t count = 0;
  };

  /// A bucket that is sorted, or, of one whose runs need no sort or find no room, those of some tiles.
  struct task {
    std::uint64_t bucket = 0;
    std::uint64_t first_tile = 0;
    std::uint64_t end_tile = 0;
    std::uint64_t begin = 0;  ///< in the result
    std::uint64_t count = 0;
    bool is_bucket = false;
    bool is_last = false;  ///< nothing is left to be done for its pairs
  };

  [[nodiscard]] std::uint64_t tile_pairs() const noexcept;
  void cut(std::uint64_t num_keys);
  /// Both arrays beside the records hold packed pairs, half of them each; the last of an odd number has a tile to
  /// itself.
  void place_tiles(split beside, std::uint64_t num_keys);
  void partition_tile(split from, std::uint64_t t, worker_scratch& scratch, bool stream);
  /// Makes the tasks, in the order of the result.
  void make_tasks();
  void add_tasks(std::uint64_t b, std::uint64_t begin, std::uint64_t count);

  [[nodiscard]] run run_of(std::uint64_t b, std::uint64_t t) const noexcept {
    const std::uint64_t begin = b == 0 ? 0 : ends_[(b - 1) * tiles_.size() + t];
    return {tiles_[t].pairs + begin * sizeof(packed_pair), ends_[b * tiles_.size() + t] - begin};
  }
  /// Copies the runs of a task to where they lie side by side. Those that are next are fetched meanwhile.
  void gather(const task& work, packed_pair* to) const;
  static void fetch(run from);

  workers& team_;
  const keys::codec_of<key>& codec_;
  const sort_limits& limits_;
  pair_splitters splitters_;
  std::vector<tile> tiles_;
  std::vector<std::uint16_t> ends_;  ///< [bucket][tile]: where runs end
  std::vector<task> tasks_;
  std::vector<sort_segment> large_;
  packed_pair last_pair_ = 0;
};

}  // namespace spansort::device::host
