// SPDX-License-Identifier: Apache-2.0
// The finish of the MSD hybrid sort: a block orders neighbouring records on chip, with one read and one write of each.
//
// Bins of the highest bits in which the keys differ bring each key close to its position, and comparisons within the
// bin do the rest: that is one atomic operation and a few comparisons a key where keys spread. Where bins are crowded,
// rounds of digits do it instead (msd_rounds.cuh). Both are stable where that shows: records that tie are ordered by
// the places where they were loaded.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/msd_rounds.cuh"

namespace spansort::device::cuda {

/// One block's work on one job.
template <class K, class V, class Order, unsigned Threads>
class msd_finish_block {
 public:
  using sizes = msd_finish_sizes<K, V, Order, Threads>;
  using shared_memory = typename sizes::shared_memory;
  static constexpr unsigned items = sizes::items;
  static constexpr unsigned bins = sizes::bins;
  /// Keys are compared with so many neighbours on each side; threads that read from odd distances of each other find
  /// their keys in different banks.
  static constexpr unsigned most_distance = 6;
  static_assert(2 * most_distance < 16, "a move has 4 bits");
  static constexpr bool has_neighbours = Order::holds_encoded && items % 2 == 1;

  __device__ __forceinline__ msd_finish_block(const Order& order, const msd_arguments<K, V>& arguments,
                                              const msd_job& job, shared_memory& shared)
      : order_(order),
        shared_(shared),
        from_(at_begin(arguments.sides[job.side()], job.begin)),
        to_(at_begin(arguments.sides[arguments.result_side], job.begin)),
        count_(job.count()) {}

  __device__ __forceinline__ void run() {
    load_keys();
    const K differing = find_differing_bits();
    if (differing == 0) {
      if (from_.keys != to_.keys) copy();
    } else {
      count_in_bins(differing);
      if (find_bin_begins()) {
        fill_bins();
        if (order_by_neighbours()) {
          store_in_order();
        } else {
          order_within_bins();
          store();
        }
      } else {
        finish_by_rounds<K, V, Order, Threads>(order_, from_, to_, count_, differing, shared_);
      }
    }
    __syncthreads();
  }

 private:
  [[nodiscard]] static __device__ __forceinline__ typed_records<K, V> at_begin(const typed_records<K, V>& array,
                                                                               std::uint32_t begin) {
    typed_records<K, V> moved{array.keys + begin, nullptr};
    if constexpr (sizes::has_values) moved.values = array.values + begin;
    return moved;
  }
  [[nodiscard]] __device__ __forceinline__ bool has(unsigned item) const { return sizes::place_of(item) < count_; }

  __device__ __forceinline__ void load_keys() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) keys_[i] = has(i) ? from_.keys[sizes::place_of(i)] : K{0};
#pragma unroll
    for (unsigned i = 0; i < items; ++i) keys_[i] = order_.take(keys_[i]);
  }

  /// Returns the bits in which any key's encoding differs from the first one's, to all threads alike, and zeroes what
  /// is counted.
  [[nodiscard]] __device__ __forceinline__ K find_differing_bits() {
    const K first = order_.encode(order_.take(from_.keys[0]));
    K mine = 0;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (has(i)) mine |= static_cast<K>(order_.encode(keys_[i]) ^ first);
    }
    if (threadIdx.x == 0) shared_.differing[0] = shared_.differing[1] = shared_.comparisons = shared_.largest_bin = 0;
    shared_.bins_of_thread[threadIdx.x] = {0, 0, 0, 0};
    __syncthreads();
    const std::uint32_t low = warp_or(static_cast<std::uint32_t>(mine));
    if (threadIdx.x % 32 == 0 && low != 0) atomicOr(&shared_.differing[0], low);
    if constexpr (sizeof(K) == 8) {
      const std::uint32_t high = warp_or(static_cast<std::uint32_t>(mine >> 32));
      if (threadIdx.x % 32 == 0 && high != 0) atomicOr(&shared_.differing[1], high);
    }
    __syncthreads();
    if constexpr (sizeof(K) == 8) {
      return static_cast<K>(shared_.differing[1]) << 32 | shared_.differing[0];
    } else {
      return shared_.differing[0];
    }
  }

  /// Copies a job whose keys are all alike.
  __device__ __forceinline__ void copy() const {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (!has(i)) continue;
      store_global(to_.keys + sizes::place_of(i), order_.give(keys_[i]));
      if constexpr (sizes::has_values) {
        store_global(to_.values + sizes::place_of(i), from_.values[sizes::place_of(i)]);
      }
    }
  }

  /// Returns the bin of an encoded key. The shift is read from shared memory, for otherwise the compiler sees that it
  /// knows a key's bin from an earlier step, and keeps or spills it.
  [[nodiscard]] __device__ __forceinline__ unsigned bin_of(K encoded) const {
    return static_cast<unsigned>(encoded >> shared_.shift) & (bins - 1);
  }
  [[nodiscard]] static __device__ __forceinline__ unsigned half_of(unsigned bin) { return bin % 2 * 16; }
  [[nodiscard]] __device__ __forceinline__ unsigned begin_of(unsigned bin) const {
    return shared_.bin_words[bin / 2] >> half_of(bin) & 0xffffU;
  }

  /// Counts keys by their highest bits that differ. Each key has a number in its bin, in no order.
  __device__ __forceinline__ void count_in_bins(K differing) {
    constexpr unsigned bin_bits = 31 - __builtin_clz(bins);
    const unsigned num_bits = highest_bit(differing) + 1;
    const unsigned shift = num_bits > bin_bits ? num_bits - bin_bits : 0;
    if (threadIdx.x == 0) shared_.shift = shift;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (!has(i)) continue;
      const unsigned bin = static_cast<unsigned>(order_.encode(keys_[i]) >> shift) & (bins - 1);
      positions_[i] = atomicAdd(&shared_.bin_words[bin / 2], 1U << half_of(bin)) >> half_of(bin) & 0xffffU;
    }
    __syncthreads();
  }

  /// Turns counts into where bins begin. Returns, to all threads alike, whether few enough comparisons order the keys
  /// within them.
  [[nodiscard]] __device__ __forceinline__ bool find_bin_begins() {
    const uint4 counts = shared_.bins_of_thread[threadIdx.x];
    const std::uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
    unsigned sum = 0;
    unsigned comparisons = 0;
    unsigned largest = 0;
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned low = words[w] & 0xffffU;
      const unsigned high = words[w] >> 16;
      sum += low + high;
      comparisons += low * low + high * high;
      largest = max(largest, max(low, high));
    }
    comparisons = warp_sum(comparisons);
    largest = warp_max(largest);
    if (threadIdx.x % 32 == 0) {
      atomicAdd(&shared_.comparisons, comparisons);
      atomicMax(&shared_.largest_bin, largest);
    }
    unsigned before = sum_over_block<Threads>(sum, shared_.warp_sums).before;
    std::uint32_t begins[4];
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned low = words[w] & 0xffffU;
      begins[w] = before | (before + low) << 16;
      before += low + (words[w] >> 16);
    }
    shared_.bins_of_thread[threadIdx.x] = {begins[0], begins[1], begins[2], begins[3]};
    __syncthreads();
    return shared_.comparisons <= most_comparisons_each * count_;
  }

  __device__ __forceinline__ void fill_bins() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (!has(i)) continue;
      const unsigned slot = begin_of(bin_of(order_.encode(keys_[i]))) + positions_[i];
      shared_.keys[slot] = keys_[i];
      if constexpr (sizes::keeps_places) shared_.places[slot] = static_cast<std::uint16_t>(sizes::place_of(i));
    }
    __syncthreads();
  }

  /// Brings keys in order where all bins are small, and their places with them. Returns, to all threads alike, whether
  /// they are: nothing is done where a bin is large or keys are not held encoded, and where places are kept keys that
  /// tie have to be ordered by them yet.
  [[nodiscard]] __device__ __forceinline__ bool order_by_neighbours() {
    if constexpr (!has_neighbours) {
      return false;
    } else {
      if (shared_.largest_bin > most_distance + 1) return false;
      compare_neighbours();
      move_to_positions();
      if constexpr (sizes::keeps_places) return !has_ties();
      return true;
    }
  }

  /// Takes the keys of neighbouring slots, and finds the position of each. Keys of different bins are in order already,
  /// so a key is moved by those neighbours alone that are on its wrong side, as far as the largest bin reaches. Each
  /// two keys of a thread are compared once.
  __device__ __forceinline__ void compare_neighbours() {
    const unsigned reach = shared_.largest_bin - 1;
    const unsigned first = threadIdx.x * items;
    // Before the first key lies the least one and behind the last the greatest, which move nothing.
    K before[most_distance];  // nearest first
    K behind[most_distance];
#pragma unroll
    for (unsigned d = 0; d < most_distance; ++d) {
      before[d] = d < reach && first > d && first < count_ ? shared_.keys[first - d - 1] : K{0};
      behind[d] = d < reach && first + items + d < count_ ? shared_.keys[first + items + d] : static_cast<K>(~K{0});
    }
#pragma unroll
    for (unsigned i = 0; i < items; ++i)
      keys_[i] = first + i < count_ ? shared_.keys[first + i] : static_cast<K>(~K{0});
    // Each key has 4 bits, which hold how far it moves, plus most_distance.
    std::uint32_t moves[(items + 7) / 8];
    const auto one_of = [](unsigned i) { return 1U << i % 8 * 4; };
#pragma unroll
    for (std::uint32_t& eight : moves) eight = most_distance * 0x11111111U;
#pragma unroll
    for (unsigned d = 1; d <= most_distance; ++d) {
      if (d > reach) break;
#pragma unroll
      for (unsigned i = 0; i < items; ++i) {
        if (i < d && keys_[i] < before[d - i - 1]) moves[i / 8] -= one_of(i);
        const bool is_mine = i + d < items;
        const K other = is_mine ? keys_[is_mine ? i + d : 0] : behind[is_mine ? 0 : i + d - items];
        if (!(other < keys_[i])) continue;
        moves[i / 8] += one_of(i);
        if (is_mine) moves[(i + d) / 8] -= one_of(i + d);
      }
    }
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      positions_[i] = first + i + (moves[i / 8] >> i % 8 * 4 & 0xfU) - most_distance;
    }
  }

  /// Puts the keys of neighbouring slots, and their places, into their positions.
  __device__ __forceinline__ void move_to_positions() {
    const unsigned first = threadIdx.x * items;
    [[maybe_unused]] std::uint16_t places[items];
    if constexpr (sizes::keeps_places) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) places[i] = first + i < count_ ? shared_.places[first + i] : 0;
    }
    __syncthreads();  // all have read theirs
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (first + i >= count_) continue;
      shared_.keys[positions_[i]] = keys_[i];
      if constexpr (sizes::keeps_places) shared_.places[positions_[i]] = places[i];
    }
    __syncthreads();
  }

  /// Returns, to all threads alike, whether any two keys that are in order tie.
  [[nodiscard]] __device__ __forceinline__ bool has_ties() const {
    bool ties = false;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      const unsigned slot = sizes::place_of(i);
      ties = ties || (slot + 1 < count_ && shared_.keys[slot] == shared_.keys[slot + 1]);
    }
    return __syncthreads_or(ties) != 0;
  }

  /// Stores what is in order in shared memory.
  __device__ __forceinline__ void store_in_order() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (has(i)) store_global(to_.keys + sizes::place_of(i), order_.give(shared_.keys[sizes::place_of(i)]));
    }
    if constexpr (sizes::has_values) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) positions_[i] = sizes::place_of(i);
      store_values<sizes>(shared_, static_cast<const V*>(from_.values), to_.values, count_, positions_);
    }
  }

  /// Takes each slot's key, and finds its position among those of its bin.
  __device__ __forceinline__ void order_within_bins() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (!has(i)) continue;
      const unsigned slot = sizes::place_of(i);
      keys_[i] = shared_.keys[slot];
      const K key = order_.encode(keys_[i]);
      const unsigned bin = bin_of(key);
      const unsigned begin = begin_of(bin);
      const unsigned end = bin + 1 == bins ? count_ : begin_of(bin + 1);
      unsigned position = begin;
      for (unsigned other = begin; other < end; ++other) {
        if (other != slot && comes_before(other, slot, key)) ++position;
      }
      positions_[i] = position;
    }
  }

  /// Returns whether the key in slot `other` comes before `key`, which is in `slot`.
  [[nodiscard]] __device__ __forceinline__ bool comes_before(unsigned other, unsigned slot, K key) const {
    const K others = order_.encode(shared_.keys[other]);
    if (others != key) return others < key;
    if constexpr (sizes::keeps_places) {
      return shared_.places[other] < shared_.places[slot];
    } else {
      return other < slot;
    }
  }

  /// Stores keys at their positions, and the values that were loaded with them. All keys of the job have been read.
  __device__ __forceinline__ void store() const {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (has(i)) store_global(to_.keys + positions_[i], order_.give(keys_[i]));
    }
    if constexpr (sizes::has_values) {
      store_values<sizes>(shared_, static_cast<const V*>(from_.values), to_.values, count_, positions_);
    }
  }

  const Order& order_;
  shared_memory& shared_;
  const typed_records<K, V> from_;
  const typed_records<K, V> to_;
  const unsigned count_;  ///< of the job's records
  K keys_[items];         ///< first those that this thread loads, then those in its slots
  unsigned positions_[items];
};

/// Finishes the jobs of one size. Any number of blocks of `Threads` threads; sizeof(shared_memory) bytes of dynamic
/// shared memory. One read and one write of each record; a job may end where it began.
template <class K, class V, class Order, unsigned Threads>
__global__ void __launch_bounds__(Threads, finish_blocks_each(Threads))
    msd_finish_kernel(Order order, __grid_constant__ const msd_arguments<K, V> a, unsigned size) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (compiles_msd_hybrid) {
    const std::uint32_t num_jobs = a.memory.control->num_jobs[size];
    const msd_job* const jobs = a.memory.jobs[size];
    with_known_folding(order, [&]<class Known>(const Known& known) {
      using block = msd_finish_block<K, V, Known, Threads>;
      auto& shared = *reinterpret_cast<typename block::shared_memory*>(shared_bytes);
      msd_job job = blockIdx.x < num_jobs ? jobs[blockIdx.x] : msd_job{};
      for (std::uint32_t j = blockIdx.x; j < num_jobs; j += gridDim.x) {
        const msd_job next = j + gridDim.x < num_jobs ? jobs[j + gridDim.x] : msd_job{};
        block(known, a, job, shared).run();
        job = next;
      }
    });
  }
}

}  // namespace spansort::device::cuda
