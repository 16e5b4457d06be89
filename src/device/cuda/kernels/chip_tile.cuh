// SPDX-License-Identifier: Apache-2.0
// The steps that sorts of few records share: where a block's tile has its records, what its keys tell of bits and
// order, and the ranks of records by a digit.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/partition_parts.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/small_sorts_policy.hpp"

namespace spansort::device::cuda {

/// Kernels whose sizes the GPU has no room for are compiled empty, and are not launched.
inline constexpr bool compiles_small_sorts = has_small_sorts(compiled_family);

/// Counters of the 256 buckets of a digit for each warp, in 16 bits, two of them in a word. A word of padding in each
/// row keeps threads that read down the rows in different banks.
inline constexpr unsigned small_digit_bits = 8;
inline constexpr unsigned small_digits = 1U << small_digit_bits;
inline constexpr unsigned digit_row_words = small_digits / 2 + 1;

template <unsigned Warps>
union digit_counters {
  std::uint32_t words[Warps][digit_row_words];
  std::uint16_t counts[Warps][2 * digit_row_words];
};

/// Facts that a look at all keys finds.
struct key_facts {
  std::uint64_t differing = 0;  ///< bits in which any key's encoding differs from the first one's
  std::uint32_t seen = 0;       ///< order_seen bits
};

/// The widest word of which a warp shuffles and reduces keys.
template <class K>
[[nodiscard]] __device__ __forceinline__ K warp_or_key(K key) {
  if constexpr (sizeof(K) == 8) {
    return static_cast<K>(warp_or(static_cast<std::uint32_t>(key >> 32))) << 32 |
           warp_or(static_cast<std::uint32_t>(key));
  } else {
    return static_cast<K>(warp_or(key));
  }
}
template <class K>
[[nodiscard]] __device__ __forceinline__ K shuffle_key(K key, unsigned lane) {
  if constexpr (sizeof(K) == 8) {
    return __shfl_sync(0xffffffffU, key, static_cast<int>(lane));
  } else {
    return static_cast<K>(__shfl_sync(0xffffffffU, static_cast<std::uint32_t>(key), static_cast<int>(lane)));
  }
}

[[nodiscard]] __device__ __forceinline__ unsigned lowest_bit(std::uint64_t bits) {
  return static_cast<unsigned>(__ffsll(static_cast<long long>(bits)) - 1);
}
[[nodiscard]] __device__ __forceinline__ unsigned highest_bit_of(std::uint64_t bits) {
  return static_cast<unsigned>(63 - __clzll(static_cast<long long>(bits)));
}

/// The positions of a tile's records: a warp has neighbouring ones, lane after lane and then item after item.
template <unsigned Items>
struct warp_striped {
  static constexpr unsigned group = Items % 4 == 0 ? 4 : 2;  ///< items that are ranked together
  static_assert(Items % group == 0);
  unsigned items = Items;  ///< that each thread has: whole groups, at most Items
  const unsigned thread = threadIdx.x;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;

  [[nodiscard]] __device__ __forceinline__ unsigned place_of(unsigned item) const {
    return (warp * items + item) * 32 + lane;
  }
  /// Calls f(item) for each item.
  template <class F>
  __device__ __forceinline__ void each(F&& f) const {
#pragma unroll
    for (unsigned i = 0; i < Items; ++i) {
      if (i < items) f(i);
    }
  }
};

/// Returns what a warp's neighbouring keys say of the order of a tile. `encoded(i)` is the key of an item,
/// `next_of(place)` the key at a place that another warp has, and `num_followed` how many of the tile's records have
/// one behind them. Keys that are in no order are seen to be so in the last item, and the others are not looked at.
template <class K, unsigned Items, class Encoded, class Next>
[[nodiscard]] __device__ __forceinline__ std::uint32_t order_seen_in(const warp_striped<Items>& tile,
                                                                     unsigned num_followed, unsigned begin_bit,
                                                                     const Encoded& encoded, const Next& next_of) {
  std::uint32_t seen = 0;
  K following = 0;  // the key of lane 0 in the next item
#pragma unroll
  for (unsigned j = 0; j < Items; ++j) {
    const unsigned i = Items - 1 - j;
    if (i >= tile.items || (seen & (seen_descent | seen_ascent)) == (seen_descent | seen_ascent)) continue;
    const unsigned place = tile.place_of(i);
    const K key = encoded(i);
    K right = shuffle_key(key, (tile.lane + 1) % 32);
    const K first = shuffle_key(key, 0);
    if (tile.lane == 31) {
      right = following;
      if (i + 1 == tile.items && place < num_followed) right = next_of(place + 1);
    }
    following = first;
    const K a = static_cast<K>(key >> begin_bit);
    const K b = static_cast<K>(right >> begin_bit);
    const std::uint32_t mine = b < a ? seen_descent : (a < b ? seen_ascent : seen_equal);
    seen |= warp_or(place < num_followed ? mine : 0);
  }
  return seen;
}

/// Returns, for several digits at once, the lanes of a full warp that have the same digit (partition_parts.cuh). Votes
/// on the digits take turns, for one has to wait for the last of its own.
template <unsigned Count>
__device__ __forceinline__ void find_lanes_with_digits(const unsigned (&digits)[Count], unsigned (&peers)[Count]) {
#pragma unroll
  for (unsigned j = 0; j < Count; ++j) peers[j] = 0xffffffffU;
#pragma unroll
  for (unsigned bit = 0; bit < small_digit_bits; ++bit) {
#pragma unroll
    for (unsigned j = 0; j < Count; ++j) {
      unsigned same_bit = 0;
      asm volatile(
          "{\n"
          "  .reg .pred is_set;\n"
          "  .reg .b32 masked;\n"
          "  and.b32 masked, %1, %2;\n"
          "  setp.ne.u32 is_set, masked, 0;\n"
          "  vote.sync.ballot.b32 %0, is_set, 0xffffffff;\n"
          "  @!is_set not.b32 %0, %0;\n"
          "}"
          : "=r"(same_bit)
          : "r"(digits[j]), "r"(1U << bit));
      peers[j] &= same_bit;
    }
  }
}

/// Takes the rank of each item among the records of its warp with the same digit: the highest lane of those with the
/// same digit takes ranks for all of them. The warp's counters are cleared before.
template <unsigned Warps, unsigned Items, class Digit, class Take>
__device__ __forceinline__ void rank_in_warps(const warp_striped<Items>& tile, digit_counters<Warps>& counters,
                                              const Digit& digit_of_item, const Take& take) {
  std::uint32_t* const row = counters.words[tile.warp];
  for (unsigned w = tile.lane; w < digit_row_words; w += 32) row[w] = 0;
  __syncwarp();
  const unsigned lanes_below = (1U << tile.lane) - 1;
  constexpr unsigned together = warp_striped<Items>::group;
#pragma unroll
  for (unsigned begin = 0; begin < Items; begin += together) {
    if (begin >= tile.items) continue;
    std::uint32_t first[together];
    unsigned digits[together];
    unsigned peers[together];
#pragma unroll
    for (unsigned j = 0; j < together; ++j) digits[j] = digit_of_item(begin + j);
    find_lanes_with_digits(digits, peers);
#pragma unroll
    for (unsigned j = 0; j < together; ++j) {
      const auto leader = static_cast<unsigned>(31 - __clz(static_cast<int>(peers[j])));
      const unsigned half = digits[j] % 2 * 16;
      first[j] = 0;
      if (tile.lane == leader)
        first[j] = atomicAdd(row + digits[j] / 2, static_cast<unsigned>(__popc(peers[j])) << half);
    }
#pragma unroll
    for (unsigned j = 0; j < together; ++j) {
      const int leader = 31 - __clz(static_cast<int>(peers[j]));
      const std::uint32_t both = __shfl_sync(0xffffffffU, first[j], leader);
      take(begin + j, (both >> digits[j] % 2 * 16 & 0xffffU) + static_cast<unsigned>(__popc(peers[j] & lanes_below)));
    }
  }
}

/// Returns the sum of `x` over the threads before this one. The next call comes behind a barrier.
template <unsigned Threads>
[[nodiscard]] __device__ __forceinline__ unsigned sum_before(unsigned x, std::uint32_t* warp_sums) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  unsigned sum = x;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned left = __shfl_up_sync(0xffffffffU, sum, distance);
    if (lane >= distance) sum += left;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  return warp_sum(lane < warp ? warp_sums[lane] : 0) + sum - x;
}

/// Turns the warps' counts into where the records of each digit and warp begin in the tile. All threads read counts
/// behind a barrier.
template <unsigned Threads>
__device__ __forceinline__ void find_digit_begins(digit_counters<Threads / 32>& counters, std::uint32_t* warp_sums) {
  constexpr unsigned rows_each = 8;
  constexpr unsigned groups = Threads / small_digits;
  static_assert(groups * rows_each == Threads / 32);
  const unsigned digit = threadIdx.x / groups;
  const unsigned first_row = threadIdx.x % groups * rows_each;
  unsigned of_row[rows_each];
  unsigned sum = 0;
#pragma unroll
  for (unsigned r = 0; r < rows_each; ++r) sum += of_row[r] = counters.counts[first_row + r][digit];
  unsigned begin = sum_before<Threads>(sum, warp_sums);
#pragma unroll
  for (unsigned r = 0; r < rows_each; ++r) {
    counters.counts[first_row + r][digit] = static_cast<std::uint16_t>(begin);
    begin += of_row[r];
  }
  __syncthreads();
}

}  // namespace spansort::device::cuda
