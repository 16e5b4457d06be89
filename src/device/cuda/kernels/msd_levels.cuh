// SPDX-License-Identifier: Apache-2.0
// One level of the MSD hybrid sort before its records move: the digits of all large buckets are counted, and the counts
// become a plan. The plan says where each bucket's records go, which of the new buckets are large and so are
// partitioned on the next level, and which neighbours a block finishes together.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/first_of_digits.cuh"
#include "device/cuda/kernels/msd_memory.hpp"
#include "device/cuda/kernels/published_sorts.cuh"

namespace spansort::device::cuda {

/// Kernels whose sizes the GPU has no room for are compiled empty, and are not launched.
inline constexpr bool compiles_msd_hybrid = has_msd_hybrid(compiled_family);

/// A level's digit.
struct msd_level {
  unsigned number = 0;
  unsigned shift = 0;
  unsigned mask = 0;
  bool is_in_order = false;  ///< its records lie where their digits say already

  /// Returns the level whose digit is the highest of `num_bits` bits.
  [[nodiscard]] static constexpr msd_level of(unsigned number, unsigned num_bits) noexcept {
    const unsigned bits = num_bits < max_partition_bits ? num_bits : max_partition_bits;
    return {number, num_bits - bits, (1U << bits) - 1};
  }
  [[nodiscard]] constexpr bool is_last() const noexcept { return shift == 0; }
  [[nodiscard]] constexpr msd_level next() const noexcept { return of(number + 1, shift); }
};

/// The kernels are given this. `sides` are the two arrays between which records move.
template <class K, class V>
struct msd_arguments {
  typed_records<K, V> sides[2];
  msd_memory memory;
  msd_limits limits;
  unsigned result_side = 0;  ///< where finished records are wanted

  [[nodiscard]] __device__ __forceinline__ const msd_bucket* buckets(const msd_level& at) const {
    return memory.buckets[at.number % 2];
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t num_tiles(const msd_level& at) const {
    return memory.control->num_tiles[at.number];
  }
  /// Returns the bucket that a tile is of.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t bucket_of(const msd_level& at, std::uint32_t tile) const {
    return memory.bucket_of_tile[at.number % 2][tile];
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t* counts_of(const msd_level& at, std::uint32_t bucket) const {
    return memory.counts[at.number % 2] + std::uint64_t{bucket} * max_partition_buckets;
  }
};

/// Makes the whole input the only bucket of the first level, or the only job where a block can finish it. One block of
/// max_partition_buckets threads.
template <class K, class V>
__global__ void __launch_bounds__(max_partition_buckets)
    msd_begin_kernel(__grid_constant__ const msd_arguments<K, V> a, std::uint32_t num_keys) {
  msd_control& control = *a.memory.control;
  if (num_keys <= a.limits.most_finished()) {
    if (threadIdx.x != 0) return;
    unsigned size = 0;
    while (num_keys > a.limits.finish_keys[size]) ++size;
    control.num_jobs[size] = 1;
    a.memory.jobs[size][0] = {0, num_keys << 1};
    return;
  }
  const std::uint32_t num_tiles = (num_keys - 1) / a.limits.tile_keys + 1;
  if (threadIdx.x == 0) {
    control.num_buckets[0] = 1;
    control.num_tiles[0] = num_tiles;
    a.memory.buckets[0][0] = {0, num_keys, 0, 0, 0};
  }
  for (std::uint32_t t = threadIdx.x; t < num_tiles; t += max_partition_buckets) a.memory.bucket_of_tile[0][t] = 0;
}

/// Makes buckets of the second level of records that are in order by the bits of their encodings above `shift`, as
/// `order` makes these, and counts their digits. In these bits keys may differ in the lowest 8 and in as many more as
/// number the blocks. A block for each bucket, with a thread for each digit and one for the bucket's end.
template <class K, class V, class Order>
__global__ void __launch_bounds__(max_partition_buckets + 32)
    msd_begin_in_order_kernel(Order order, __grid_constant__ const msd_arguments<K, V> a, std::uint32_t num_keys,
                              unsigned shift, const order_action* decision) {
  // The kernels behind this one have nothing to do without buckets.
  if (decision != nullptr && *decision != order_action::passes) return;
  __shared__ std::uint32_t begins[max_partition_buckets + 1];
  const K* const keys = a.sides[0].keys;
  if (threadIdx.x <= max_partition_buckets) {
    const K num_digits = static_cast<K>(gridDim.x) * max_partition_buckets;
    const K agreeing = (order.encode(order.take(keys[0])) >> shift) / num_digits * num_digits;
    const K digits = agreeing + blockIdx.x * max_partition_buckets + threadIdx.x;
    begins[threadIdx.x] = first_of_digits(order, keys, num_keys, shift, digits);
  }
  __syncthreads();
  if (threadIdx.x >= max_partition_buckets) return;
  a.memory.counts[1][blockIdx.x * max_partition_buckets + threadIdx.x] = begins[threadIdx.x + 1] - begins[threadIdx.x];
  if (threadIdx.x != 0) return;
  a.memory.buckets[1][blockIdx.x] = {begins[0], begins[max_partition_buckets] - begins[0], 0, 0, 0};
  if (blockIdx.x == 0) a.memory.control->num_buckets[1] = gridDim.x;
}

/// One block's part of the histogram: neighbouring tiles. Counts of one bucket's tiles are added up before they go to
/// the device's memory.
template <class K, class V, class Order>
class msd_histogram_block {
 public:
  static constexpr msd_partition_policy policy = msd_partition_policy_of(sizeof(K), value_bytes_of<V>).sizes;
  static constexpr unsigned threads = policy.threads;
  static constexpr unsigned items = policy.items;
  static constexpr unsigned tile_keys = policy.tile_keys();
  static constexpr std::uint32_t no_bucket = ~std::uint32_t{0};

  __device__ __forceinline__ msd_histogram_block(const Order& order, const msd_arguments<K, V>& arguments,
                                                 const msd_level& level, std::uint32_t* counters)
      : order_(order), a_(arguments), at_(level), counters_(counters) {}

  __device__ __forceinline__ void run() {
    const std::uint64_t num_tiles = a_.num_tiles(at_);
    const auto end = static_cast<std::uint32_t>(num_tiles * (blockIdx.x + 1) / gridDim.x);
    if (threadIdx.x < max_partition_buckets) counters_[threadIdx.x] = 0;
    __syncthreads();
    for (auto tile = static_cast<std::uint32_t>(num_tiles * blockIdx.x / gridDim.x); tile < end; ++tile) {
      const std::uint32_t number = a_.bucket_of(at_, tile);
      if (number != number_) {
        add_to_bucket();
        number_ = number;
        bucket_ = a_.buckets(at_)[number];
      }
      count(tile - bucket_.first_tile);
    }
    add_to_bucket();
  }

 private:
  __device__ __forceinline__ void count(std::uint32_t tile_of_bucket) const {
    const std::uint32_t first = tile_of_bucket * tile_keys;
    const std::uint32_t num_valid = min(tile_keys, bucket_.count - first);
    const K* const keys = a_.sides[bucket_.side].keys + bucket_.begin + first;
    K mine[items];
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned at = i * threads + threadIdx.x;
      mine[i] = at < num_valid ? keys[at] : K{0};
    }
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (i * threads + threadIdx.x < num_valid) {
        atomicAdd(counters_ + digit_of_key(order_, mine[i], at_.shift, at_.mask), 1U);
      }
    }
  }

  __device__ __forceinline__ void add_to_bucket() const {
    __syncthreads();
    if (threadIdx.x < max_partition_buckets) {
      const std::uint32_t count = counters_[threadIdx.x];
      if (count != 0) atomicAdd(a_.counts_of(at_, number_) + threadIdx.x, count);
      counters_[threadIdx.x] = 0;
    }
    __syncthreads();
  }

  const Order& order_;
  const msd_arguments<K, V>& a_;
  const msd_level at_;
  std::uint32_t* counters_;
  std::uint32_t number_ = no_bucket;
  msd_bucket bucket_;
};

/// Counts the digits of all large buckets of the level. Any number of blocks of policy.threads threads; 1 KiB of shared
/// memory. One read of the keys of large buckets.
template <class K, class V, class Order>
__global__ void __launch_bounds__(msd_histogram_block<K, V, Order>::threads,
                                  msd_histogram_block<K, V, Order>::policy.histogram_blocks_each)
    msd_histogram_kernel(Order order, __grid_constant__ const msd_arguments<K, V> a, msd_level level) {
  __shared__ std::uint32_t counters[max_partition_buckets];
  if constexpr (compiles_msd_hybrid) msd_histogram_block<K, V, Order>(order, a, level, counters).run();
}

/// One block's plan for a large bucket, with a thread for each of the buckets that it falls into. Further threads have
/// empty buckets behind them.
template <class K, class V, unsigned Threads>
class msd_plan_block {
 public:
  static constexpr unsigned threads = Threads;
  static constexpr unsigned warps = threads / 32;
  static_assert(threads >= max_partition_buckets);

  struct shared_memory {
    unsigned warp_sums[warps];
    unsigned begins_group[warps];  ///< a bit for each bucket
    std::uint32_t group_begins[threads + 1];
    std::uint32_t num_pieces;              ///< of what the whole block writes
    std::uint32_t numbers[threads];        ///< of new buckets, or the first of several jobs
    std::uint32_t first_entries[threads];  ///< tiles, or where records begin
    std::uint32_t num_entries[threads];
  };

  __device__ __forceinline__ msd_plan_block(const msd_arguments<K, V>& arguments, const msd_level& level,
                                            shared_memory& shared)
      : a_(arguments), at_(level), shared_(shared) {}

  __device__ __forceinline__ void run(std::uint32_t number) {
    place_buckets(number);
    if (threadIdx.x == 0) shared_.num_pieces = 0;
    __syncthreads();
    const bool is_large = count_ > a_.limits.most_finished();
    if (is_large && !at_.is_last()) add_bucket();
    if (is_large && at_.is_last() && side_ != a_.result_side) add_copies();
    __syncthreads();
    if (!at_.is_last()) {
      write_tiles();
    } else {
      write_copies();
    }
    add_jobs(is_large);
    __syncthreads();
  }

 private:
  /// Finds where each bucket begins, and which side its records will be on. A bucket that has all of them needs no
  /// move.
  __device__ __forceinline__ void place_buckets(std::uint32_t number) {
    msd_bucket& parent = a_.memory.buckets[at_.number % 2][number];
    const msd_bucket whole = parent;
    std::uint32_t* const counts = a_.counts_of(at_, number);
    count_ = threadIdx.x < max_partition_buckets ? counts[threadIdx.x] : 0;
    const std::uint32_t before = sum_over_block<threads>(count_, shared_.warp_sums).before;
    if (threadIdx.x < max_partition_buckets) counts[threadIdx.x] = before;
    begin_ = whole.begin + before;
    before_ = before;
    const bool stays = __syncthreads_or(count_ == whole.count) != 0;
    side_ = stays || at_.is_in_order ? whole.side : whole.side ^ 1U;
    shared_.group_begins[threadIdx.x] = begin_;
    if (threadIdx.x == 0) {
      shared_.group_begins[threads] = whole.begin + whole.count;
      if (stays) parent.stays = 1;
    }
  }

  /// Makes this thread's bucket one of the next level.
  __device__ __forceinline__ void add_bucket() {
    msd_control& control = *a_.memory.control;
    const unsigned next = at_.number + 1;
    const std::uint32_t num_tiles = (count_ - 1) / a_.limits.tile_keys + 1;
    const std::uint32_t number = atomicAdd(&control.num_buckets[next], 1U);
    const std::uint32_t first_tile = atomicAdd(&control.num_tiles[next], num_tiles);
    a_.memory.buckets[next % 2][number] = {begin_, count_, first_tile, static_cast<std::uint16_t>(side_), 0};
    add_piece(number, first_tile, num_tiles);
  }

  /// Makes this thread's bucket jobs of the finish, for it is in order and lies on the wrong side.
  __device__ __forceinline__ void add_copies() {
    const std::uint32_t num_jobs = (count_ - 1) / a_.limits.most_finished() + 1;
    const std::uint32_t first = atomicAdd(&a_.memory.control->num_jobs[num_finish_sizes - 1], num_jobs);
    add_piece(first, threadIdx.x, num_jobs);
  }

  __device__ __forceinline__ void add_piece(std::uint32_t number, std::uint32_t first_entry,
                                            std::uint32_t num_entries) {
    const std::uint32_t piece = atomicAdd(&shared_.num_pieces, 1U);
    shared_.numbers[piece] = number;
    shared_.first_entries[piece] = first_entry;
    shared_.num_entries[piece] = num_entries;
  }

  /// Writes for each tile of the new buckets which one it is of, and zeroes the buckets' counts.
  __device__ __forceinline__ void write_tiles() {
    const unsigned next = (at_.number + 1) % 2;
    for (std::uint32_t piece = 0; piece < shared_.num_pieces; ++piece) {
      const std::uint32_t number = shared_.numbers[piece];
      std::uint32_t* const bucket_of_tile = a_.memory.bucket_of_tile[next] + shared_.first_entries[piece];
      for (std::uint32_t t = threadIdx.x; t < shared_.num_entries[piece]; t += threads) bucket_of_tile[t] = number;
      if (threadIdx.x >= max_partition_buckets) continue;
      a_.memory.counts[next][std::uint64_t{number} * max_partition_buckets + threadIdx.x] = 0;
    }
  }

  __device__ __forceinline__ void write_copies() {
    const std::uint32_t most = a_.limits.most_finished();
    for (std::uint32_t piece = 0; piece < shared_.num_pieces; ++piece) {
      const std::uint32_t bucket = shared_.first_entries[piece];
      const std::uint32_t begin = shared_.group_begins[bucket];
      const std::uint32_t count = shared_.group_begins[bucket + 1] - begin;
      for (std::uint32_t j = threadIdx.x; j < shared_.num_entries[piece]; j += threads) {
        a_.memory.jobs[num_finish_sizes - 1][shared_.numbers[piece] + j] = {begin + j * most,
                                                                            min(most, count - j * most) << 1 | side_};
      }
    }
  }

  /// Fuses small neighbours that begin in the same cell, and makes each group a job of the finish.
  __device__ __forceinline__ void add_jobs(bool is_large) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned beginning = __ballot_sync(0xffffffffU, !follows_its_neighbour());
    if (lane == 0) shared_.begins_group[threadIdx.x / 32] = beginning;
    __syncthreads();
    const bool follows = (beginning >> lane & 1) == 0;
    const std::uint32_t total = follows || is_large ? 0 : shared_.group_begins[end_of_group()] - begin_;
#pragma unroll
    for (unsigned size = 0; size < num_finish_sizes; ++size) {
      const bool is_mine = total != 0 && total <= a_.limits.finish_keys[size] &&
                           (size == 0 || total > a_.limits.finish_keys[size == 0 ? 0 : size - 1]);
      const unsigned takers = __ballot_sync(0xffffffffU, is_mine);
      if (takers == 0) continue;
      std::uint32_t first = 0;
      if (lane == 0) {
        first = atomicAdd(&a_.memory.control->num_jobs[size], static_cast<std::uint32_t>(__popc(takers)));
      }
      first = __shfl_sync(0xffffffffU, first, 0);
      const auto rank = static_cast<unsigned>(__popc(takers & ((1U << lane) - 1)));
      if (is_mine) a_.memory.jobs[size][first + rank] = {begin_, total << 1 | side_};
    }
  }

  /// Returns whether this thread's bucket is fused with the one before it.
  [[nodiscard]] __device__ __forceinline__ bool follows_its_neighbour() const {
    if (threadIdx.x == 0) return false;
    const std::uint32_t left_count = begin_ - shared_.group_begins[threadIdx.x - 1];
    const std::uint32_t left_before = before_ - left_count;
    return max(count_, left_count) <= a_.limits.fused_keys &&
           before_ / a_.limits.cell_keys == left_before / a_.limits.cell_keys;
  }

  /// Returns the first bucket behind the group that this thread's bucket begins.
  [[nodiscard]] __device__ __forceinline__ unsigned end_of_group() const {
    const unsigned lane = threadIdx.x % 32;
    unsigned warp = threadIdx.x / 32;
    const unsigned behind = lane == 31 ? 0 : shared_.begins_group[warp] >> (lane + 1);
    if (behind != 0) return threadIdx.x + static_cast<unsigned>(__ffs(static_cast<int>(behind)));
    for (++warp; warp < warps; ++warp) {
      const unsigned begins = shared_.begins_group[warp];
      if (begins != 0) return warp * 32 + static_cast<unsigned>(__ffs(static_cast<int>(begins))) - 1;
    }
    return threads;
  }

  const msd_arguments<K, V>& a_;
  const msd_level at_;
  shared_memory& shared_;
  std::uint32_t count_ = 0;   ///< of this thread's bucket
  std::uint32_t begin_ = 0;   ///< in the arrays
  std::uint32_t before_ = 0;  ///< in the bucket that falls apart
  unsigned side_ = 0;         ///< where its records will be
};

/// Makes the plan of a level. Any number of blocks of max_partition_buckets threads; 5 KiB of shared memory.
template <class K, class V>
__global__ void __launch_bounds__(max_partition_buckets)
    msd_plan_kernel(__grid_constant__ const msd_arguments<K, V> a, msd_level level) {
  using block = msd_plan_block<K, V, max_partition_buckets>;
  __shared__ typename block::shared_memory shared;
  const std::uint32_t num_buckets = a.memory.control->num_buckets[level.number];
  for (std::uint32_t b = blockIdx.x; b < num_buckets; b += gridDim.x) block(a, level, shared).run(b);
}

}  // namespace spansort::device::cuda
