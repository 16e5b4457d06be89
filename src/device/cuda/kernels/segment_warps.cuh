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
  K keys[segment_warp_slots];  ///< as they were loaded, then encoded in order
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
  static constexpr unsigned at_once = 32 / lanes;                            ///< segments of a warp
  static constexpr unsigned rows = (segment_warp_class_of(Class).most_keys() + 31) / 32;  ///< of a segment's keys
  static_assert(at_once * stride <= segment_warp_slots);

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
      sort();
      put_back();
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

  /// Calls f(base, at, position) for this lane's keys in the order of the arrays, with neighbouring lanes at neighbouring
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
        each_row([&](unsigned base, unsigned at, std::uint32_t position) {
          begin_copy(to + base + at, from + position);
        });
      });
    }
    wait_for_copies();
    __syncwarp();
    const K* const keys = shared_.keys + lane_ / lanes * stride;
    const unsigned first = lane_ % lanes;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      const unsigned place = i * lanes + first;
      items_[i] =
          place < mine_.count ? items::make(a_.codec.encode(keys[place]), place) : items::behind(place);
    }
    __syncwarp();
  }

  /// Returns where shared memory has the values.
  template <class V>
  [[nodiscard]] __device__ __forceinline__ V* values_as(const V*) const {
    return reinterpret_cast<V*>(&shared_ + 1);
  }

  __device__ __forceinline__ void sort() {
    sort_in_thread<each>(items_);
#pragma unroll
    for (unsigned half = 1; half < lanes; half *= 2) {
      meet_mirrored(2 * half - 1, (lane_ & half) == 0);
#pragma unroll
      for (unsigned distance = half / 2; distance != 0; distance /= 2) meet(distance, (lane_ & distance) == 0);
      merge_in_thread<0, each>(items_);
    }
  }

  /// Compares with the keys of another lane, last with first, and keeps the lesser ones or the greater ones.
  __device__ __forceinline__ void meet_mirrored(unsigned lane_mask, bool keeps_lesser) {
#pragma unroll
    for (unsigned i = 0; i < each / 2; ++i) {
      const item low = shuffle_item(items_[each - 1 - i], lane_mask);
      const item high = shuffle_item(items_[i], lane_mask);
      items_[i] = one_of(items_[i], low, keeps_lesser);
      items_[each - 1 - i] = one_of(items_[each - 1 - i], high, keeps_lesser);
    }
  }
  __device__ __forceinline__ void meet(unsigned lane_mask, bool keeps_lesser) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      items_[i] = one_of(items_[i], shuffle_item(items_[i], lane_mask), keeps_lesser);
    }
  }

  /// Returns where a segment's shared memory has the key of a place in the result. Lanes that store as many neighbouring
  /// keys each meet in few banks.
  [[nodiscard]] static __device__ __forceinline__ unsigned padded(unsigned place) { return place + place / 16; }

  __device__ __forceinline__ void put_back() {
    const unsigned base = lane_ / lanes * stride;
    const unsigned first = lane_ % lanes * each;
    const bool stores_keys = !(KeepsPlaces && (a_.codec.folds_ties || a_.to_keys == nullptr));
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      const unsigned slot = base + padded(first + i);
      if (stores_keys) shared_.keys[slot] = items::key_of(items_[i]);
      if constexpr (KeepsPlaces) shared_.places[slot] = static_cast<std::uint16_t>(items::place_of(items_[i]));
    }
    __syncwarp();
  }

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
      if (a_.codec.folds_ties) {
        return each_row([&](unsigned base, unsigned at, std::uint32_t position) {
          store_global(a_.to_keys + position, shared_.keys[base + shared_.places[base + padded(at)]]);
        });
      }
    }
    each_row([&](unsigned base, unsigned at, std::uint32_t position) {
      store_global(a_.to_keys + position, a_.codec.decode(shared_.keys[base + padded(at)]));
    });
  }

  const segment_arguments<K>& a_;
  shared_memory& shared_;
  const unsigned lane_ = threadIdx.x % 32;
  std::uint32_t num_listed_ = 0;
  listed_segment mine_;  ///< the segment that this lane helps to sort
  item items_[each];
};

template <unsigned Class, class K, bool KeepsPlaces>
__device__ __forceinline__ void sort_classes(const segment_arguments<K>& a,
                                             segment_warp_memory<K, KeepsPlaces>& shared, std::uint32_t job,
                                             std::uint32_t num_warps) {
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
