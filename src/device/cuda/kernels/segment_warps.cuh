// SPDX-License-Identifier: Apache-2.0
// Segments of middle length are sorted by warps. A lane sorts some keys in its registers, and bitonic merges join those
// of 2, 4, 8 ... neighbouring lanes until they are a segment's. Where a segment does not take all lanes, a warp sorts
// several of a class. Nothing depends on the keys, and places make the order stable.
//
// Source: Batcher, Sorting networks and their applications (1968), on bitonic sorters. Halves of a bitonic sequence may
// have any even length, so that lanes may hold 12 keys as well as 16.
#pragma once

#include "device/cuda/kernels/segment_arguments.cuh"

namespace spansort::device::cuda {

/// The shared memory of a warp; the values' follows it.
template <class K, bool KeepsPlaces>
struct alignas(16) segment_warp_memory {
  /// Where places are kept they stay as they were loaded; else they are encoded, in order.
  K keys[segment_warp_slots];
  std::uint16_t places[KeepsPlaces ? segment_warp_slots : 8];

  [[nodiscard]] static constexpr unsigned bytes_with_values(unsigned value_bytes) {
    return sizeof(segment_warp_memory) + segment_warp_slots * value_bytes;
  }
};

template <class K, bool KeepsPlaces, unsigned Class>
class segment_warp {
 public:
  using items = segment_items<K, KeepsPlaces>;
  using item = typename items::item;
  using shared_memory = segment_warp_memory<K, KeepsPlaces>;
  static constexpr unsigned lanes = segment_warp_class_of(Class).lanes;
  static constexpr unsigned each = segment_warp_class_of(Class).each;
  static constexpr unsigned stride = segment_warp_class_of(Class).stride();
  static constexpr unsigned at_once = 32 / lanes;                                         ///< segments of a warp
  static constexpr unsigned rows = (segment_warp_class_of(Class).most_keys() + 31) / 32;  ///< of a segment's keys
  static_assert(at_once * stride <= segment_warp_slots);
  static constexpr unsigned warp_place_bits = 9;
  static_assert(most_warp_keys <= 1U << warp_place_bits);

  __device__ __forceinline__ segment_warp(const segment_arguments<K>& arguments, shared_memory& shared)
      : a_(arguments), shared_(shared) {}

  /// Sorts the class's segments, taking turns with all other warps from `job` on. Returns the first turn that there is
  /// none for.
  __device__ __forceinline__ std::uint32_t run(std::uint32_t job, std::uint32_t num_warps) {
    num_listed_ = min(a_.memory.control->num_listed[Class], a_.memory.most_listed[Class]);
    const std::uint32_t num_jobs = (num_listed_ + at_once - 1) / at_once;
    mine_ = listed(job);
    for (; job < num_jobs; job += num_warps) {
      const listed_segment next = listed(job + num_warps);
      load();
      order();
      store();
      __syncwarp();
      mine_ = next;
    }
    return job - num_jobs;
  }

 private:
  [[nodiscard]] __device__ __forceinline__ listed_segment listed(std::uint32_t job) const {
    const std::uint64_t entry = std::uint64_t{job} * at_once + lane_ / lanes;
    return entry < num_listed_ ? a_.memory.listed[Class][entry] : listed_segment{};
  }

  /// Calls f(base, at, position) for this lane's keys in the order of the arrays, neighbouring lanes at neighbouring
  /// ones: a key's segment begins at `base` in shared memory, the key is at place `at` in it, and at `position` in the
  /// arrays.
  template <class F>
  __device__ __forceinline__ void each_row(F&& f) const {
#pragma unroll
    for (unsigned s = 0; s < at_once; ++s) {
      const std::uint32_t begin = __shfl_sync(0xffffffffU, mine_.begin, s * lanes);
      const std::uint32_t count = __shfl_sync(0xffffffffU, mine_.count, s * lanes);
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        if (r * 32 + lane_ < count) f(s * stride, r * 32 + lane_, begin + lane_ + r * 32);
      }
    }
  }

  __device__ __forceinline__ void load() {
    each_row([&](unsigned base, unsigned at, std::uint32_t position) {
      begin_key_copy(&shared_.keys[base + at], a_.keys + position);
    });
    if constexpr (KeepsPlaces) {
      for_value_words(a_.values, a_.value_bytes, [&](const auto* from) {
        auto* const to = values_as(from);
        each_row(
            [&](unsigned base, unsigned at, std::uint32_t position) { begin_copy(to + base + at, from + position); });
      });
    }
    wait_for_copies();
    __syncwarp();
  }

  /// Returns where shared memory has the values.
  template <class V>
  [[nodiscard]] __device__ __forceinline__ V* values_as(const V*) const {
    return reinterpret_cast<V*>(&shared_ + 1);
  }

  /// Finds the order of all segments, and puts the places in order, or where none are kept the keys.
  __device__ __forceinline__ void order() {
    if constexpr (KeepsPlaces && sizeof(K) >= 4) {
      if (sort_packed()) return;
    }
    item mine[each];
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      mine[i] = is_key(i) ? items::make(encoded(first_place(i)), first_place(i)) : items::behind(first_place(i));
    }
    __syncwarp();
    sort(mine);
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      if constexpr (KeepsPlaces) {
        put_place(i, items::place_of(mine[i]));
      } else {
        shared_.keys[slot_of_result(i)] = items::key_of(mine[i]);
      }
    }
    __syncwarp();
  }

  // Lanes begin with keys that lie as far apart as there are lanes, so that they read from different banks.
  [[nodiscard]] __device__ __forceinline__ unsigned first_place(unsigned i) const { return i * lanes + lane_ % lanes; }
  [[nodiscard]] __device__ __forceinline__ bool is_key(unsigned i) const { return first_place(i) < mine_.count; }
  /// Returns the encoded key at a place of this lane's segment.
  [[nodiscard]] __device__ __forceinline__ K encoded(unsigned place) const {
    return a_.codec.encode(shared_.keys[lane_ / lanes * stride + place]);
  }
  [[nodiscard]] __device__ __forceinline__ unsigned slot_of_result(unsigned i) const {
    return lane_ / lanes * stride + padded(lane_ % lanes * each + i);
  }
  __device__ __forceinline__ void put_place(unsigned i, unsigned place) {
    shared_.places[slot_of_result(i)] = static_cast<std::uint16_t>(place);
  }

  /// Returns, to all lanes alike, whether the places are in order now.
  [[nodiscard]] __device__ __forceinline__ bool sort_packed() {
    K words[each];
    K differing = 0;
    const K one = mine_.count == 0 ? K{0} : encoded(0);
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      words[i] = is_key(i) ? encoded(first_place(i)) : one;
      differing |= words[i] ^ one;
    }
    const packed_keys<K, warp_place_bits> pack(warp_or_key(differing));
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      words[i] = is_key(i) ? pack.make(words[i], first_place(i)) : pack.behind(first_place(i));
    }
    sort(words);
#pragma unroll
    for (unsigned i = 0; i < each; ++i) put_place(i, pack.place_of(words[i]));
    __syncwarp();
    if (pack.is_exact) return true;
    // The first key of the next lane follows this lane's last one, but for a segment's last lane.
    const unsigned first = lane_ % lanes * each;
    const K following = __shfl_down_sync(0xffffffffU, words[0], 1);
    const bool has_following = lane_ % lanes + 1 != lanes && first + each < mine_.count;
    bool agree = has_following && pack.agree(words[each - 1], following);
#pragma unroll
    for (unsigned i = 0; i + 1 < each; ++i) {
      agree = agree || (first + i + 1 < mine_.count && pack.agree(words[i], words[i + 1]));
    }
    if (!__any_sync(0xffffffffU, agree)) return true;
    bool is_wrong = false;
    for (unsigned i = 0; i < each && first + i + 1 < mine_.count; ++i) {
      const unsigned base = lane_ / lanes * stride;
      is_wrong = is_wrong || encoded(shared_.places[base + padded(first + i + 1)]) <
                                 encoded(shared_.places[base + padded(first + i)]);
    }
    return !__any_sync(0xffffffffU, is_wrong);
  }

  template <class T>
  __device__ __forceinline__ void sort(T (&items_of_lane)[each]) const {
    sort_in_thread<each>(items_of_lane);
#pragma unroll
    for (unsigned half = 1; half < lanes; half *= 2) {
      meet_mirrored(items_of_lane, 2 * half - 1, (lane_ & half) == 0);
#pragma unroll
      for (unsigned distance = half / 2; distance != 0; distance /= 2) {
        meet(items_of_lane, distance, (lane_ & distance) == 0);
      }
      merge_in_thread<0, each>(items_of_lane);
    }
  }

  /// Compares with the keys of another lane, last with first, and keeps the lesser ones or the greater ones.
  template <class T>
  static __device__ __forceinline__ void meet_mirrored(T (&mine)[each], unsigned lane_mask, bool keeps_lesser) {
#pragma unroll
    for (unsigned i = 0; i < each / 2; ++i) {
      const T low = shuffle_item(mine[each - 1 - i], lane_mask);
      const T high = shuffle_item(mine[i], lane_mask);
      mine[i] = one_of(mine[i], low, keeps_lesser);
      mine[each - 1 - i] = one_of(mine[each - 1 - i], high, keeps_lesser);
    }
  }
  template <class T>
  static __device__ __forceinline__ void meet(T (&mine)[each], unsigned lane_mask, bool keeps_lesser) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) mine[i] = one_of(mine[i], shuffle_item(mine[i], lane_mask), keeps_lesser);
  }

  /// Returns where a segment's shared memory has what belongs to a place in the result. Lanes that store as many
  /// neighbouring ones each meet in few banks.
  [[nodiscard]] static __device__ __forceinline__ unsigned padded(unsigned place) { return place + place / 16; }

  __device__ __forceinline__ void store() const {
    if constexpr (KeepsPlaces) {
      if (a_.index_bytes != 0) {
        return each_row([&](unsigned base, unsigned at, std::uint32_t position) {
          store_index(a_.to_values, a_.index_bytes, position, shared_.places[base + padded(at)]);
        });
      }
      for_value_words(a_.values, a_.value_bytes, [&](const auto* from) {
        const auto* const values = values_as(from);
        auto* const to = static_cast<std::remove_cvref_t<decltype(*from)>*>(a_.to_values);
        each_row([&](unsigned base, unsigned at, std::uint32_t position) {
          store_global(to + position, values[base + shared_.places[base + padded(at)]]);
        });
      });
      each_row([&](unsigned base, unsigned at, std::uint32_t position) {
        store_global(a_.to_keys + position, shared_.keys[base + shared_.places[base + padded(at)]]);
      });
    } else {
      each_row([&](unsigned base, unsigned at, std::uint32_t position) {
        store_global(a_.to_keys + position, a_.codec.decode(shared_.keys[base + padded(at)]));
      });
    }
  }

  const segment_arguments<K>& a_;
  shared_memory& shared_;
  const unsigned lane_ = threadIdx.x % 32;
  std::uint32_t num_listed_ = 0;
  listed_segment mine_;  ///< the segment that this lane helps to sort
};

template <unsigned Class, class K, bool KeepsPlaces>
__device__ __forceinline__ void sort_classes(const segment_arguments<K>& a, segment_warp_memory<K, KeepsPlaces>& shared,
                                             std::uint32_t job, std::uint32_t num_warps) {
  job = segment_warp<K, KeepsPlaces, Class>(a, shared).run(job, num_warps);
  if constexpr (Class != 0) sort_classes<Class - 1>(a, shared, job, num_warps);
}

/// Sorts all listed segments. Any number of blocks of segment_warp_block threads; for each warp of a block
/// bytes_with_values() of dynamic shared memory. One read and one write of each record.
template <class K, bool KeepsPlaces>
__global__ void __launch_bounds__(segment_warp_block,
                                  segment_warp_blocks_each(segment_items<K, KeepsPlaces>::item_bytes))
    segment_warps_kernel(__grid_constant__ const segment_arguments<K> a) {
  if constexpr (compiles_segmented_sort) {
    using memory = segment_warp_memory<K, KeepsPlaces>;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    unsigned char* const mine = shared_bytes + threadIdx.x / 32 * memory::bytes_with_values(a.value_bytes);
    constexpr unsigned warps = segment_warp_block / 32;
    sort_classes<num_warp_classes - 1>(a, *reinterpret_cast<memory*>(mine), blockIdx.x * warps + threadIdx.x / 32,
                                       gridDim.x * warps);
  }
}

}  // namespace spansort::device::cuda
