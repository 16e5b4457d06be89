// SPDX-License-Identifier: Apache-2.0
// The first kernel of the segmented sort looks at all segments: a warp takes 32 neighbouring ones, lists those that
// others sort, and sorts the short ones itself, a thread each. Short segments are most where segments are many, and
// neighbours lie side by side, so that a warp loads and stores their records in one piece.
#pragma once

#include "device/cuda/kernels/segment_arguments.cuh"

namespace spansort::device::cuda {

template <class K, bool KeepsPlaces>
class segment_threads_warp {
 public:
  using items = segment_items<K, KeepsPlaces>;
  using item = typename items::item;
  static constexpr unsigned tile_keys = 32 * most_thread_keys;
  static constexpr unsigned thread_place_bits = 5;
  static_assert(most_thread_keys <= 1U << thread_place_bits);

  struct alignas(16) shared_memory {
    /// Keys lie by slot_of(). Where places are kept they stay as they were loaded; else they are encoded, in order.
    K keys[tile_keys + tile_keys / 16];
    std::uint16_t places[KeepsPlaces ? tile_keys : 2];  ///< in the tile, of the keys in order
  };
  /// Returns the shared memory of a warp, with its values.
  [[nodiscard]] static constexpr unsigned shared_bytes(unsigned value_bytes) {
    return sizeof(shared_memory) + tile_keys * value_bytes;
  }

  __device__ __forceinline__ segment_threads_warp(const segment_arguments<K>& arguments, shared_memory& shared)
      : a_(arguments), shared_(shared) {}

  __device__ __forceinline__ void run(std::uint64_t segment) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (segment < a_.bounds.num_segments) {
      begin = a_.bounds.at(segment);
      end = a_.bounds.at(segment + 1);
    }
    // Segments overlap where offsets decrease, and partitions of overlapping ones would spoil each other's counts.
    if (begin > end) atomicAdd(&a_.memory.control->num_large_keys, overlapping);
    // Offsets that decrease or lie beyond the keys are nobody's segment.
    const bool is_one = begin <= end && end <= a_.num_keys;
    begin_ = static_cast<std::uint32_t>(begin);
    const std::uint32_t length = is_one ? static_cast<std::uint32_t>(end - begin) : 0;
    if (__any_sync(0xffffffffU, length > most_thread_keys)) list(length);
    count_ = length <= most_thread_keys ? length : 0;
    const unsigned most = warp_max(count_);
    if (most < (a_.index_bytes != 0 ? 1U : 2U)) return;
    find_places();
    load();
    sort(most);
    store();
  }

 private:
  static constexpr unsigned long long overlapping = 1ULL << 40;  ///< more than there can be keys

  /// Adds the segments that this warp does not sort to the lists of their classes.
  __device__ __forceinline__ void list(std::uint32_t length) const {
    const segment_memory& m = a_.memory;
    for (unsigned c = 0; c < num_warp_classes; ++c) {
      const bool is_mine = length >= least_keys_of_class(c) && length <= segment_warp_class_of(c).most_keys();
      const std::uint32_t at = take_number(is_mine, &m.control->num_listed[c]);
      if (is_mine && at < m.most_listed[c]) m.listed[c][at] = {begin_, length};
    }
    for (unsigned i = 0; i < num_finish_sizes; ++i) {
      const unsigned more_than = i == 0 ? most_warp_keys : a_.limits.finish_keys[i == 0 ? 0 : i - 1];
      const bool is_mine = length > more_than && length <= a_.limits.finish_keys[i];
      const std::uint32_t at = take_number(is_mine, &m.msd.control->num_jobs[i]);
      if (is_mine && at < m.most_jobs[i]) m.msd.jobs[i][at] = {begin_, length << 1};
    }
    if (length <= a_.limits.most_finished()) return;
    const std::uint32_t num_tiles = (length - 1) / a_.limits.tile_keys + 1;
    atomicAdd(&m.control->num_large_keys, static_cast<unsigned long long>(length));
    const std::uint32_t number = atomicAdd(&m.msd.control->num_buckets[0], 1U);
    const std::uint32_t first_tile = atomicAdd(&m.msd.control->num_tiles[0], num_tiles);
    if (number < m.msd.most_buckets) m.msd.buckets[0][number] = {begin_, length, first_tile, 0, 0};
  }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t take_number(bool is_mine, std::uint32_t* counter) const {
    const unsigned takers = __ballot_sync(0xffffffffU, is_mine);
    if (takers == 0) return 0;
    std::uint32_t first = 0;
    if (lane_ == 0) first = atomicAdd(counter, static_cast<std::uint32_t>(__popc(takers)));
    first = __shfl_sync(0xffffffffU, first, 0);
    return first + static_cast<std::uint32_t>(__popc(takers & ((1U << lane_) - 1)));
  }

  /// Finds where each segment lies in the tile, and which segments begin a run: records that lie side by side.
  __device__ __forceinline__ void find_places() {
    unsigned sum = count_;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const unsigned left = __shfl_up_sync(0xffffffffU, sum, distance);
      if (lane_ >= distance) sum += left;
    }
    start_ = sum - count_;
    total_ = __shfl_sync(0xffffffffU, sum, 31);
    // What is added to a place in the tile to have the position in the array is the same along a run.
    const std::uint32_t shift = begin_ - start_;
    const unsigned filled = __ballot_sync(0xffffffffU, count_ != 0);
    const unsigned filled_before = filled & ((1U << lane_) - 1);
    const auto last_filled = static_cast<unsigned>(31 - __clz(static_cast<int>(filled_before | 1)));
    const std::uint32_t shift_before = __shfl_sync(0xffffffffU, shift, static_cast<int>(last_filled));
    // Lanes that read along segments of equal odd lengths find their keys in different banks; even lengths need a skew.
    const unsigned odd = __ballot_sync(0xffffffffU, count_ % 2 != 0);
    skew_ = __popc(odd) >= 16 ? 31 : (sizeof(K) == 8 ? 4 : 5);
    heads_ = __ballot_sync(0xffffffffU, count_ != 0 && (filled_before == 0 || shift != shift_before));
  }

  /// Calls f(first, last, shift) for each run: its places in the tile, and what makes them positions in the array.
  template <class F>
  __device__ __forceinline__ void each_run(F&& f) const {
    for (unsigned heads = heads_; heads != 0;) {
      const int head = __ffs(static_cast<int>(heads)) - 1;
      heads &= heads - 1;
      const unsigned first = __shfl_sync(0xffffffffU, start_, head);
      const unsigned next = __shfl_sync(0xffffffffU, start_, heads == 0 ? head : __ffs(static_cast<int>(heads)) - 1);
      const std::uint32_t shift = __shfl_sync(0xffffffffU, begin_ - start_, head);
      f(first, heads == 0 ? total_ : next, shift);
    }
  }

  /// Returns where the tile's shared memory has a key.
  [[nodiscard]] __device__ __forceinline__ unsigned slot_of(unsigned place) const { return place + (place >> skew_); }

  /// Returns the position in the array of a place in the tile. The sum wraps round where offsets decrease, for a
  /// segment may begin before its place then.
  [[nodiscard]] static __device__ __forceinline__ std::uint32_t position_of(std::uint32_t shift, unsigned at) {
    return shift + at;
  }

  __device__ __forceinline__ void load() {
    each_run([&](unsigned first, unsigned last, std::uint32_t shift) {
#pragma unroll 8
      for (unsigned at = first + lane_; at < last; at += 32) {
        begin_key_copy(&shared_.keys[slot_of(at)], a_.keys + position_of(shift, at));
      }
    });
    if constexpr (KeepsPlaces) {
      for_value_words(a_.values, a_.value_bytes, [&](const auto* from) {
        auto* const to = values_as(from);
        each_run([&](unsigned first, unsigned last, std::uint32_t shift) {
#pragma unroll 8
          for (unsigned at = first + lane_; at < last; at += 32) begin_copy(to + at, from + position_of(shift, at));
        });
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

  /// Sorts by the least network that has room for the longest segment.
  __device__ __forceinline__ void sort(unsigned most) {
    if (most <= 4) {
      sort_by_network<4>();
    } else if (most <= 8) {
      sort_by_network<8>();
    } else if (most <= 12) {
      sort_by_network<12>();
    } else if (most <= 14) {
      sort_by_network<14>();
    } else if (most <= 16) {
      sort_by_network<16>();
    } else if (most <= 18) {
      sort_by_network<18>();
    } else if (most <= 20) {
      sort_by_network<20>();
    } else if (most <= 24) {
      sort_by_network<24>();
    } else if (most <= 28) {
      sort_by_network<28>();
    } else {
      sort_by_network<32>();
    }
    __syncwarp();
  }

  template <unsigned Count>
  __device__ __forceinline__ void sort_by_network() {
    if constexpr (KeepsPlaces && sizeof(K) >= 4) {
      if (__all_sync(0xffffffffU, sort_packed<Count>())) return;
      sort_items<most_thread_keys>();
    } else {
      sort_items<Count>();
    }
  }

  [[nodiscard]] __device__ __forceinline__ K encoded(unsigned place) const {
    return a_.codec.encode(shared_.keys[slot_of(start_ + place)]);
  }

  /// Returns whether the places are in order now.
  template <unsigned Count>
  [[nodiscard]] __device__ __forceinline__ bool sort_packed() {
    K words[Count];
    K differing = 0;
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) words[i] = i < count_ ? encoded(i) : K{0};
#pragma unroll
    for (unsigned i = 1; i < Count; ++i) {
      if (i < count_) differing |= words[i] ^ words[0];
    }
    const packed_keys<K, thread_place_bits> pack(differing);
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) words[i] = i < count_ ? pack.make(words[i], i) : pack.behind(i);
    sort_in_thread<Count>(words);
    bool agree = false;
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) {
      if (i >= count_) continue;
      const unsigned place = pack.place_of(words[i]);
      shared_.places[start_ + i] = static_cast<std::uint16_t>(a_.index_bytes != 0 ? place : start_ + place);
      if (i + 1 < Count) agree = agree || (i + 1 < count_ && pack.agree(words[i], words[i + 1]));
    }
    if (pack.is_exact || !agree) return true;
    const unsigned shift = a_.index_bytes != 0 ? 0 : start_;
    K last = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const K key = encoded(shared_.places[start_ + i] - shift);
      if (key < last) return false;
      last = key;
    }
    return true;
  }

  template <unsigned Count>
  __device__ __forceinline__ void sort_items() {
    item mine[Count];
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) mine[i] = i < count_ ? items::make(encoded(i), i) : items::behind(i);
    sort_in_thread<Count>(mine);
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) {
      if (i >= count_) continue;
      if constexpr (KeepsPlaces) {
        const unsigned place = items::place_of(mine[i]);
        shared_.places[start_ + i] = static_cast<std::uint16_t>(a_.index_bytes != 0 ? place : start_ + place);
      } else {
        shared_.keys[slot_of(start_ + i)] = items::key_of(mine[i]);
      }
    }
  }

  __device__ __forceinline__ void store() const {
    if constexpr (KeepsPlaces) {
      if (a_.index_bytes != 0) {
        return store_rows([&](unsigned at, std::uint32_t position) {
          store_index(a_.to_values, a_.index_bytes, position, shared_.places[at]);
        });
      }
      for_value_words(a_.values, a_.value_bytes, [&](const auto* from) {
        const auto* const values = values_as(from);
        auto* const to = static_cast<std::remove_cvref_t<decltype(*from)>*>(a_.to_values);
        store_rows(
            [&](unsigned at, std::uint32_t position) { store_global(to + position, values[shared_.places[at]]); });
      });
      store_rows([&](unsigned at, std::uint32_t position) {
        store_global(a_.to_keys + position, shared_.keys[slot_of(shared_.places[at])]);
      });
    } else {
      store_rows([&](unsigned at, std::uint32_t position) {
        store_global(a_.to_keys + position, a_.codec.decode(shared_.keys[slot_of(at)]));
      });
    }
  }

  /// Calls f(at, position) for each place in the tile, neighbouring lanes at neighbouring ones.
  template <class F>
  __device__ __forceinline__ void store_rows(F&& f) const {
    each_run([&](unsigned first, unsigned last, std::uint32_t shift) {
#pragma unroll 4
      for (unsigned at = first + lane_; at < last; at += 32) f(at, position_of(shift, at));
    });
  }

  const segment_arguments<K>& a_;
  shared_memory& shared_;
  const unsigned lane_ = threadIdx.x % 32;
  std::uint32_t begin_ = 0;  ///< of this lane's segment
  unsigned count_ = 0;       ///< of its keys, 0 where this warp does not sort it
  unsigned start_ = 0;       ///< its place in the tile
  unsigned total_ = 0;
  unsigned skew_ = 0;   ///< of the tile's slots
  unsigned heads_ = 0;  ///< lanes whose segments begin a run
};

/// One thread a segment; one read of the bounds, one read and one write of the records of short segments. For each warp
/// of a block shared_bytes() of dynamic shared memory.
template <class K, bool KeepsPlaces>
__global__ void __launch_bounds__(segment_thread_block,
                                  segment_thread_blocks_each(segment_items<K, KeepsPlaces>::item_bytes))
    segment_threads_kernel(__grid_constant__ const segment_arguments<K> a) {
  if constexpr (compiles_segmented_sort) {
    using warp = segment_threads_warp<K, KeepsPlaces>;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    unsigned char* const mine = shared_bytes + threadIdx.x / 32 * warp::shared_bytes(a.value_bytes);
    warp(a, *reinterpret_cast<typename warp::shared_memory*>(mine))
        .run(std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x);
  }
}

}  // namespace spansort::device::cuda
