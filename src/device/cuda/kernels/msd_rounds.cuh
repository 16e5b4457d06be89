// SPDX-License-Identifier: Apache-2.0
// The finish of jobs whose keys crowd in few bins: rounds of 8-bit digits from the lowest bit up, in shared memory,
// each stable. What a round moves are words that are made of 16 bits of a key and of the place where the key was
// loaded. Keys are read again for every other round and once at the end, so that no register holds them in between.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/kernels/msd_levels.cuh"
#include "device/cuda/kernels/partition_parts.cuh"

namespace spansort::device::cuda {

/// The sizes of a finish, and what its block has in shared memory.
template <class K, class V, class Order, unsigned Threads>
struct msd_finish_sizes {
  static constexpr unsigned threads = Threads;
  static constexpr bool has_values = value_bytes_of<V> != 0;
  static constexpr bool keeps_places = has_values || !Order::holds_encoded;
  static constexpr unsigned items = finish_items(sizeof(K), keeps_places, Threads);
  static constexpr unsigned most_keys = Threads * items;
  static constexpr unsigned warps = Threads / 32;
  static constexpr unsigned bins = Threads * bins_a_thread;
  static constexpr unsigned digit_bits = 8;
  static constexpr unsigned digits = 1U << digit_bits;
  static_assert(bins_a_thread == 8, "a thread's bins are one word of 16 bytes");
  static_assert(most_keys <= 0xffffU, "places have 16 bits, and one is no record's");

  struct shared_memory {
    union {
      uint4 bins_of_thread[Threads];
      std::uint32_t bin_words[bins / 2];          ///< two bins each: counts, then where they begin
      std::uint16_t digit_counts[warps][digits];  ///< of a round
    };
    union {
      K keys[most_keys];
      struct {
        std::uint32_t words[most_keys];      ///< 16 bits of a key above its place
        std::uint16_t positions[most_keys];  ///< by place
      } rounds;
    };
    std::uint16_t places[keeps_places ? most_keys : 2];  ///< of the keys beside them
    unsigned warp_sums[warps];
    std::uint32_t differing[2];  ///< low and high bits in which any key differs from the first
    std::uint32_t comparisons;   ///< that ordering within the bins takes
    std::uint32_t largest_bin;   ///< its keys
    unsigned shift;              ///< of the bins
  };
  static_assert(!compiles_msd_hybrid || sizeof(shared_memory) <= most_shared_bytes(kernel_family::ampere));

  /// Returns the place of this thread's item in the job.
  [[nodiscard]] static __device__ __forceinline__ unsigned place_of(unsigned item) {
    return item * Threads + threadIdx.x;
  }
};

template <class K>
[[nodiscard]] __device__ __forceinline__ unsigned highest_bit(K bits) {
  if constexpr (sizeof(K) == 8) {
    return static_cast<unsigned>(63 - __clzll(static_cast<long long>(bits)));
  } else {
    return static_cast<unsigned>(31 - __clz(static_cast<int>(bits)));
  }
}

/// Stores values behind their keys, which are in order: each comes from the place that its key was loaded from. The job
/// may end where it began, so all values are read before any is stored.
template <class Sizes, class V>
__device__ __forceinline__ void store_values(const typename Sizes::shared_memory& shared, const V* from, V* to,
                                             unsigned count, const unsigned (&positions)[Sizes::items]) {
  V moved[Sizes::items];
#pragma unroll
  for (unsigned i = 0; i < Sizes::items; ++i) {
    const unsigned slot = Sizes::place_of(i);
    if (slot < count) moved[i] = from[shared.places[slot]];
  }
  __syncthreads();
#pragma unroll
  for (unsigned i = 0; i < Sizes::items; ++i) {
    if (Sizes::place_of(i) < count) store_global(to + positions[i], moved[i]);
  }
}

/// One block's work on one job.
template <class K, class V, class Order, unsigned Threads>
class msd_rounds_block {
 public:
  using sizes = msd_finish_sizes<K, V, Order, Threads>;
  using shared_memory = typename sizes::shared_memory;
  static constexpr unsigned items = sizes::items;
  static constexpr unsigned digits = sizes::digits;

  __device__ __forceinline__ msd_rounds_block(const Order& order, const typed_records<K, V>& from,
                                              const typed_records<K, V>& to, unsigned count, shared_memory& shared)
      : order_(order), from_(from), to_(to), count_(count), shared_(shared) {}

  /// Orders the job by the bits that differ.
  __device__ __forceinline__ void run(K differing) {
    const unsigned top = highest_bit(differing);
    // Positions begin as places.
#pragma unroll
    for (unsigned i = 0; i < items; ++i) positions_[i] = sizes::place_of(i);
    __syncthreads();
    for (unsigned shift = 0; shift <= top; shift += 16) {
      const auto window = static_cast<unsigned>(differing >> shift) & 0xffffU;
      if (window == 0) continue;
      write_words(shift);
      __syncthreads();
      if ((window & 0xffU) != 0) order_words(16);
      if (window >> 8 != 0) order_words(24);
      find_positions();
    }
    store();
  }

 private:
  [[nodiscard]] __device__ __forceinline__ bool has(unsigned item) const { return sizes::place_of(item) < count_; }

  __device__ __forceinline__ void write_words(unsigned shift) {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      // Places behind the end come last in every round.
      std::uint32_t word = ~std::uint32_t{0};
      if (has(i)) {
        const K key = order_.encode(order_.take(from_.keys[sizes::place_of(i)]));
        word = static_cast<std::uint32_t>(key >> shift) << 16 | sizes::place_of(i);
      }
      shared_.rounds.words[positions_[i]] = word;
    }
  }

  /// One round over the words' 8 bits from `shift` up. A warp holds 32 * items neighbouring words, lane after lane and
  /// then item after item.
  __device__ __forceinline__ void order_words(unsigned shift) {
    const unsigned warp = threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    const unsigned lanes_below = (1U << lane) - 1;
    std::uint16_t* const counts = shared_.digit_counts[warp];
    std::uint32_t words[items];
    unsigned ranks[items];
    for (unsigned d = lane; d < digits; d += 32) counts[d] = 0;
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      words[i] = shared_.rounds.words[warp * (32 * items) + i * 32 + lane];
      const unsigned digit = words[i] >> shift & (digits - 1);
      const unsigned peers = lanes_with_digit<sizes::digit_bits>(digit);
      const unsigned before = counts[digit];
      ranks[i] = before + static_cast<unsigned>(__popc(peers & lanes_below));
      __syncwarp();
      if ((peers & lanes_below) == 0) counts[digit] = static_cast<std::uint16_t>(before + __popc(peers));
      __syncwarp();
    }
    find_digit_begins();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      shared_.rounds.words[counts[words[i] >> shift & (digits - 1)] + ranks[i]] = words[i];
    }
    __syncthreads();
  }

  /// Turns the warps' counts into where each warp's words of each digit begin.
  __device__ __forceinline__ void find_digit_begins() {
    __syncthreads();
    unsigned sum = 0;
    if (threadIdx.x < digits) {
      for (unsigned w = 0; w < sizes::warps; ++w) {
        const unsigned of_warp = shared_.digit_counts[w][threadIdx.x];
        shared_.digit_counts[w][threadIdx.x] = static_cast<std::uint16_t>(sum);
        sum += of_warp;
      }
    }
    const unsigned before = sum_over_block<Threads>(sum, shared_.warp_sums).before;
    if (threadIdx.x < digits) {
      for (unsigned w = 0; w < sizes::warps; ++w) {
        const unsigned begin = shared_.digit_counts[w][threadIdx.x] + before;
        shared_.digit_counts[w][threadIdx.x] = static_cast<std::uint16_t>(begin);
      }
    }
    __syncthreads();
  }

  /// Tells each thread where the words of its keys are now.
  __device__ __forceinline__ void find_positions() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (!has(i)) continue;
      const unsigned place = shared_.rounds.words[sizes::place_of(i)] & 0xffffU;
      shared_.rounds.positions[place] = static_cast<std::uint16_t>(sizes::place_of(i));
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (has(i)) positions_[i] = shared_.rounds.positions[sizes::place_of(i)];
    }
    __syncthreads();
  }

  /// Brings keys to their positions in shared memory, and stores them and their values from there.
  __device__ __forceinline__ void store() {
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (!has(i)) continue;
      shared_.keys[positions_[i]] = from_.keys[sizes::place_of(i)];
      if constexpr (sizes::keeps_places) shared_.places[positions_[i]] = static_cast<std::uint16_t>(sizes::place_of(i));
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (has(i)) store_global(to_.keys + sizes::place_of(i), shared_.keys[sizes::place_of(i)]);
    }
    if constexpr (sizes::has_values) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) positions_[i] = sizes::place_of(i);
      store_values<sizes>(shared_, static_cast<const V*>(from_.values), to_.values, count_, positions_);
    }
  }

  const Order& order_;
  const typed_records<K, V> from_;
  const typed_records<K, V> to_;
  const unsigned count_;
  shared_memory& shared_;
  unsigned positions_[items];
};

/// This is a call, so that what the rounds need of registers is not taken from the way by bins.
template <class K, class V, class Order, unsigned Threads>
__device__ __noinline__ void finish_by_rounds(Order order, typed_records<K, V> from, typed_records<K, V> to,
                                              unsigned count, K differing,
                                              typename msd_finish_sizes<K, V, Order, Threads>::shared_memory& shared) {
  msd_rounds_block<K, V, Order, Threads>(order, from, to, count, shared).run(differing);
}

}  // namespace spansort::device::cuda
