// SPDX-License-Identifier: Apache-2.0
// Stable merges by merge path (Green, McColl, Bader: "GPU Merge Path: A GPU Merging Algorithm", ICS 2012): the merge is
// cut into tiles of equal size; a first kernel finds by binary search what each tile takes of either run, a second one
// merges tiles in shared memory, where every thread finds its own part by the same search.
//
// Keys are read and written once, in order. Values are fetched by the positions of their keys: a warp's come from at
// most two places a step, each read in order.
#include <algorithm>
#include <cstdint>

#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/merge.hpp"
#include "device/cuda/tuning/merge_policy.hpp"

namespace spansort::device::cuda {
namespace {

template <class K, class V>
struct merge_arguments {
  const K* left = nullptr;
  const K* right = nullptr;
  const V* left_values = nullptr;
  const V* right_values = nullptr;
  std::uint64_t num_left = 0;
  std::uint64_t num_right = 0;
  K* to = nullptr;
  V* to_values = nullptr;
  std::uint64_t first = 0;        ///< record of the merge with which the first tile begins
  std::uint64_t* cuts = nullptr;  ///< records of the left run before each tile, and before the end of the last
};

/// Returns how many records of the left run are among the first `num_first` of the merge. `left_is_first(l, r)` says
/// that record l of the left run comes before record r of the right one.
template <class N, class LeftIsFirst>
__device__ __forceinline__ N co_rank(N num_left, N num_right, N num_first, const LeftIsFirst& left_is_first) {
  N low = num_first > num_right ? num_first - num_right : 0;
  N high = num_first < num_left ? num_first : num_left;
  while (low < high) {
    const N middle = low + (high - low) / 2;
    if (left_is_first(middle, num_first - 1 - middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Finds what lies before each tile. Any number of blocks; no shared memory; a thread a cut.
template <class K, class V, class Order>
__global__ void merge_cuts_kernel(Order order, merge_arguments<K, V> a, unsigned tile_records, unsigned num_cuts) {
  const unsigned cut = blockIdx.x * merge_cuts_threads + threadIdx.x;
  if (cut >= num_cuts) return;
  const std::uint64_t total = a.num_left + a.num_right;
  const std::uint64_t at = a.first + std::uint64_t{cut} * tile_records;
  a.cuts[cut] = co_rank(a.num_left, a.num_right, at < total ? at : total, [&](std::uint64_t l, std::uint64_t r) {
    return order.encode(order.take(a.left[l])) <= order.encode(order.take(a.right[r]));
  });
}

template <class K, class V>
inline constexpr merge_policy compiled_merge = merge_policy_of(compiled_family, sizeof(K), value_bytes_of<V>).sizes;

/// One block's work on one tile.
template <class K, class V, class Order>
class merge_tile {
 public:
  static constexpr unsigned threads = compiled_merge<K, V>.threads;
  static constexpr unsigned items = compiled_merge<K, V>.items;
  static constexpr unsigned tile_records = threads * items;
  static_assert(tile_records <= 1U << 16, "a record's position in the tile fits 16 bits");

  struct shared_memory {
    K keys[tile_records];                 ///< of the left run, then of the right one; then merged
    std::uint16_t origins[tile_records];  ///< where a merged key stood before
  };
  static_assert(sizeof(shared_memory) <= 48U << 10, "granted without being asked");

  __device__ __forceinline__ merge_tile(const Order& order, const merge_arguments<K, V>& arguments,
                                        shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared) {
    const std::uint64_t total = a_.num_left + a_.num_right;
    const std::uint64_t rest = total - begin_;
    count_ = rest < tile_records ? static_cast<unsigned>(rest) : tile_records;
    left_begin_ = a_.cuts[blockIdx.x];
    num_left_ = static_cast<unsigned>(a_.cuts[blockIdx.x + 1] - left_begin_);
    right_begin_ = begin_ - left_begin_;
  }

  __device__ __forceinline__ void run() {
    load_keys();
    __syncthreads();
    merge_own();
    __syncthreads();
    put_merged();
    __syncthreads();
    store_keys();
    if constexpr (value_bytes_of<V> != 0) move_values();
  }

 private:
  /// All loads of a thread come before its first store, which the compiler would not move them across.
  __device__ __forceinline__ void load_keys() {
#pragma unroll
    for (unsigned item = 0; item < items; ++item) {
      const unsigned i = item * threads + threadIdx.x;
      if (i < num_left_) {
        keys_[item] = a_.left[left_begin_ + i];
      } else if (i < count_) {
        keys_[item] = a_.right[right_begin_ + (i - num_left_)];
      }
    }
#pragma unroll
    for (unsigned item = 0; item < items; ++item) {
      const unsigned i = item * threads + threadIdx.x;
      if (i < count_) shared_.keys[i] = order_.take(keys_[item]);
    }
  }

  /// Every thread merges `items` neighbours of the result into registers.
  __device__ __forceinline__ void merge_own() {
    const unsigned own_begin = threadIdx.x * items < count_ ? threadIdx.x * items : count_;
    unsigned l = co_rank(num_left_, count_ - num_left_, own_begin, [&](unsigned left, unsigned right) {
      return order_.encode(shared_.keys[left]) <= order_.encode(shared_.keys[num_left_ + right]);
    });
    unsigned r = num_left_ + own_begin - l;
    K of_left = l < num_left_ ? shared_.keys[l] : K{};
    K of_right = r < count_ ? shared_.keys[r] : K{};
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (own_begin + i >= count_) break;
      const bool takes_left = r >= count_ || (l < num_left_ && order_.encode(of_left) <= order_.encode(of_right));
      keys_[i] = takes_left ? of_left : of_right;
      origins_[i] = static_cast<std::uint16_t>(takes_left ? l : r);
      if (takes_left) {
        if (++l < num_left_) of_left = shared_.keys[l];
      } else {
        if (++r < count_) of_right = shared_.keys[r];
      }
    }
  }

  __device__ __forceinline__ void put_merged() {
    const unsigned own_begin = threadIdx.x * items;
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
      if (own_begin + i >= count_) break;
      shared_.keys[own_begin + i] = keys_[i];
      if constexpr (value_bytes_of<V> != 0) shared_.origins[own_begin + i] = origins_[i];
    }
  }

  __device__ __forceinline__ void store_keys() {
#pragma unroll
    for (unsigned item = 0; item < items; ++item) {
      const unsigned i = item * threads + threadIdx.x;
      if (i < count_) a_.to[begin_ + i] = order_.give(shared_.keys[i]);
    }
  }

  /// Moves values, each time as many as fit 16 registers: their loads come before their stores.
  __device__ __forceinline__ void move_values() {
    constexpr unsigned together = 64 / sizeof(V) < items ? 64 / sizeof(V) : items;
#pragma unroll
    for (unsigned first = 0; first < items; first += together) {
      V values[together] = {};
#pragma unroll
      for (unsigned j = 0; j < together; ++j) {
        const unsigned i = (first + j) * threads + threadIdx.x;
        if (first + j >= items || i >= count_) continue;
        const unsigned origin = shared_.origins[i];
        values[j] = origin < num_left_ ? a_.left_values[left_begin_ + origin]
                                       : a_.right_values[right_begin_ + (origin - num_left_)];
      }
#pragma unroll
      for (unsigned j = 0; j < together; ++j) {
        const unsigned i = (first + j) * threads + threadIdx.x;
        if (first + j < items && i < count_) a_.to_values[begin_ + i] = values[j];
      }
    }
  }

  const Order& order_;
  const merge_arguments<K, V>& a_;
  shared_memory& shared_;
  std::uint64_t begin_ = a_.first + std::uint64_t{blockIdx.x} * tile_records;  ///< of the tile in the merge
  std::uint64_t left_begin_ = 0;
  std::uint64_t right_begin_ = 0;
  unsigned count_ = 0;     ///< records of the tile
  unsigned num_left_ = 0;  ///< of which in the left run
  K keys_[items] = {};
  std::uint16_t origins_[items] = {};
};

/// Merges a tile a block. The block has policy.threads threads; each record is read and written once. `cuts` are those
/// of the kernel above. The destination overlaps neither run.
template <class K, class V, class Order>
__global__ void __launch_bounds__(compiled_merge<K, V>.threads) merge_kernel(Order order, merge_arguments<K, V> a) {
  using tile = merge_tile<K, V, Order>;
  __shared__ typename tile::shared_memory shared;
  tile(order, a, shared).run();
}

template <class K, class V, class Order>
void run_merge(const launch_site& site, const Order& order, const merge_request& request) {
  const merge_policy policy = merge_policy_of(site.family(), sizeof(K), value_bytes_of<V>).sizes;
  const unsigned tile_records = policy.threads * policy.items;
  // The cuts lie where the tile states of partitions do.
  const std::uint64_t most_tiles = site.memory.tile_capacity * kernel_workspace::tile_state_bytes / 8 - 1;
  merge_arguments<K, V> a;
  a.left = static_cast<const K*>(request.left.keys);
  a.right = static_cast<const K*>(request.right.keys);
  a.left_values = static_cast<const V*>(request.left.values);
  a.right_values = static_cast<const V*>(request.right.values);
  a.num_left = request.num_left;
  a.num_right = request.num_right;
  a.to = static_cast<K*>(request.destination.keys);
  a.to_values = static_cast<V*>(request.destination.values);
  a.cuts = reinterpret_cast<std::uint64_t*>(site.memory.tile_states);
  const std::uint64_t all_tiles = base::ceil_div(a.num_left + a.num_right, std::uint64_t{tile_records});
  for (std::uint64_t done = 0; done < all_tiles; done += most_tiles) {
    const auto num_tiles = static_cast<unsigned>(std::min(most_tiles, all_tiles - done));
    const unsigned num_cuts = num_tiles + 1;
    a.first = done * tile_records;
    merge_cuts_kernel<<<base::ceil_div(num_cuts, merge_cuts_threads), merge_cuts_threads, 0, site.stream>>>(
        order, a, tile_records, num_cuts);
    check_done(cudaGetLastError(), "merge_cuts_kernel");
    merge_kernel<<<num_tiles, policy.threads, 0, site.stream>>>(order, a);
    check_done(cudaGetLastError(), "merge_kernel");
  }
}

}  // namespace

template <class K>
void launch_merge(const launch_site& site, const keys::codec_of<K>& codec, const merge_request& request) {
  if (request.num_left + request.num_right == 0) return;
  with_value(request.shape.value_bytes, [&]<class V>() {
    with_order<K>(codec, [&](const auto& order) { run_merge<K, V>(site, order, request); });
  });
}

template void launch_merge<std::uint8_t>(const launch_site&, const keys::codec_of<std::uint8_t>&, const merge_request&);
template void launch_merge<std::uint16_t>(const launch_site&, const keys::codec_of<std::uint16_t>&,
                                          const merge_request&);
template void launch_merge<std::uint32_t>(const launch_site&, const keys::codec_of<std::uint32_t>&,
                                          const merge_request&);
template void launch_merge<std::uint64_t>(const launch_site&, const keys::codec_of<std::uint64_t>&,
                                          const merge_request&);

}  // namespace spansort::device::cuda
