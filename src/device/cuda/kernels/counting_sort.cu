// SPDX-License-Identifier: Apache-2.0
// The counting sort of keys without values, of one byte or two: all keys are counted by their value, and as many of
// each value are written. Nothing is moved, so a sort is one read and one write, and of keys of two bytes as many reads
// as a multiprocessor's shared memory makes ranges of their counters.
#include "device/cuda/kernels/counting_sort.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/warp_scan.cuh"
#include "device/cuda/tuning/counting_sort_policy.hpp"

namespace spansort::device::cuda {
namespace {

template <class K>
struct alignas(16) key_vector {
  static constexpr unsigned size = 16 / sizeof(K);
  K keys[size];
};

/// Returns how many keys lie between the last multiple of 16 bytes and `keys`.
template <class K>
__device__ __forceinline__ unsigned misplaced_keys(const K* keys) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(keys) % sizeof(key_vector<K>) / sizeof(K));
}

/// Returns the sum of `x` over the threads before this one. `sums` is shared memory for a word a warp.
__device__ __forceinline__ std::uint32_t sum_of_threads_before(std::uint32_t x, std::uint32_t* sums) {
  const std::uint32_t inclusive = inclusive_warp_sum(x);
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = inclusive;
  __syncthreads();
  if (threadIdx.x < 32) {
    const std::uint32_t own = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
    const std::uint32_t upto = inclusive_warp_sum(own);
    if (threadIdx.x < blockDim.x / 32) sums[threadIdx.x] = upto - own;
  }
  __syncthreads();
  return sums[threadIdx.x / 32] + inclusive - x;
}

// ---- Counting

/// Counters of a range of values in shared memory.
template <class K, class Order>
class range_counters {
 public:
  static constexpr unsigned columns = num_count_columns(sizeof(K));
  static constexpr unsigned num_ranges = num_value_ranges(compiled_family, sizeof(K));
  static constexpr unsigned range_values = num_values(sizeof(K)) / num_ranges;

  __device__ __forceinline__ range_counters(const Order& order, std::uint32_t* counters, unsigned range)
      : order_(order), own_(counters + threadIdx.x % columns), counters_(counters), first_(range * range_values) {
    auto* const words = reinterpret_cast<uint4*>(counters);
    for (unsigned i = threadIdx.x; i < range_values * columns / 4; i += blockDim.x) words[i] = uint4{0, 0, 0, 0};
    __syncthreads();
  }

  __device__ __forceinline__ void count(K key) {
    const unsigned at = unsigned{order_.encode(order_.take(key))} - first_;
    if (num_ranges == 1 || at < range_values) atomicAdd(own_ + at * columns, 1U);
  }

  /// Returns the count of the i-th value of the range, when all threads have counted.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t sum(unsigned i) const {
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) sum += counters_[i * columns + (c + i) % columns];
    return sum;
  }

  __device__ __forceinline__ void add_to(std::uint32_t* counts) const {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < range_values; i += blockDim.x) {
      const std::uint32_t count = sum(i);
      if (count != 0) atomicAdd(counts + first_ + i, count);
    }
  }

 private:
  const Order& order_;
  std::uint32_t* own_;
  std::uint32_t* counters_;
  unsigned first_;
};

/// Blocks of counting_threads, as many as there is room for at once, with counting_shared_bytes() of dynamic shared
/// memory; one read of the keys for each range. Adds to `counts`, which are zeroed before. Neighbouring blocks take the
/// ranges of the same keys, so that all but one of them find these in the second cache.
template <class K, class Order>
__global__ void __launch_bounds__(counting_threads)
    count_values_kernel(Order order, __grid_constant__ const counting_request<K> request) {
  extern __shared__ __align__(16) std::uint32_t counters[];
  if (request.decision != nullptr && *request.decision != order_action::passes) return;
  using counters_of_range = range_counters<K, Order>;
  using vector = key_vector<K>;
  counters_of_range mine(order, counters, blockIdx.x % counters_of_range::num_ranges);
  const unsigned part = blockIdx.x / counters_of_range::num_ranges;
  const unsigned num_parts = gridDim.x / counters_of_range::num_ranges;
  const std::uint32_t before = min((vector::size - misplaced_keys(request.keys)) % vector::size, request.num_keys);
  const std::uint32_t num_vectors = (request.num_keys - before) / vector::size;
  const auto* const vectors = reinterpret_cast<const vector*>(request.keys + before);
  const std::uint32_t behind = before + num_vectors * vector::size;
  if (part == 0) {
    if (threadIdx.x < before) mine.count(request.keys[threadIdx.x]);
    if (threadIdx.x < request.num_keys - behind) mine.count(request.keys[behind + threadIdx.x]);
  }
  constexpr unsigned tile_vectors = counting_threads * counting_vectors;
  for (std::uint64_t begin = std::uint64_t{part} * tile_vectors; begin < num_vectors;
       begin += std::uint64_t{num_parts} * tile_vectors) {
    vector loaded[counting_vectors];
#pragma unroll
    for (unsigned i = 0; i < counting_vectors; ++i) {
      const std::uint64_t at = begin + i * counting_threads + threadIdx.x;
      if (at < num_vectors) loaded[i] = vectors[at];
    }
#pragma unroll
    for (unsigned i = 0; i < counting_vectors; ++i) {
      if (begin + i * counting_threads + threadIdx.x >= num_vectors) continue;
#pragma unroll
      for (unsigned k = 0; k < vector::size; ++k) mine.count(loaded[i].keys[k]);
    }
  }
  mine.add_to(request.counts);
}

/// Turns the counts of all values of two bytes into the place of the first key of each. One block.
__global__ void __launch_bounds__(counting_threads) find_places_kernel(std::uint32_t* counts) {
  constexpr unsigned warp_values = num_values(2) / (counting_threads / 32);
  constexpr unsigned turn_values = 4 * 32;
  __shared__ std::uint32_t sums[counting_threads / 32];
  auto* const mine = reinterpret_cast<uint4*>(counts + threadIdx.x / 32 * warp_values) + threadIdx.x % 32;
  std::uint32_t all = 0;
#pragma unroll 8
  for (unsigned i = 0; i < warp_values / turn_values; ++i) {
    const uint4 x = mine[i * 32];
    all += x.x + x.y + x.z + x.w;
  }
  std::uint32_t place = sum_of_threads_before(all, sums);
  place = __shfl_sync(0xffffffffU, place, 0);  // of the warp's first value
#pragma unroll 8
  for (unsigned i = 0; i < warp_values / turn_values; ++i) {
    const uint4 x = mine[i * 32];
    const std::uint32_t own = x.x + x.y + x.z + x.w;
    const std::uint32_t upto = inclusive_warp_sum(own);
    const std::uint32_t first = place + upto - own;
    mine[i * 32] = uint4{first, first + x.x, first + x.x + x.y, first + x.x + x.y + x.z};
    place += __shfl_sync(0xffffffffU, upto, 31);
  }
}

// ---- Writing

/// Returns the last of `count` places that is at most `place`; the first one is.
__device__ __forceinline__ unsigned last_at_most(const std::uint32_t* places, unsigned count, std::uint32_t place) {
  unsigned low = 0;
  unsigned high = count;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (places[middle] <= place ? low : high) = middle;
  }
  return low;
}

/// Returns the same of the places of all values of two bytes. All lanes of a warp call it together.
__device__ __forceinline__ unsigned last_at_most_of_all(const std::uint32_t* places, std::uint32_t place) {
  unsigned low = 0;
#pragma unroll
  for (unsigned step = num_values(2) / 32; step != 0; step /= 32) {
    const bool is_before = places[low + threadIdx.x % 32 * step] <= place;
    low += (__popc(__ballot_sync(0xffffffffU, is_before)) - 1) * step;
  }
  return low + (places[low + 1] <= place ? 1 : 0);
}

/// Values first, first + 1, ... with the places of their first keys.
struct placed_values {
  const std::uint32_t* places = nullptr;
  unsigned first = 0;
  unsigned count = 0;
};

/// Writes the part of the keys that the vectors of this block's tile hold. The first vector begins at the last multiple
/// of 16 bytes before the keys.
template <class K, class Order>
__device__ __forceinline__ void write_tile(const Order& order, const placed_values& values, K* to,
                                           std::uint32_t num_keys, std::uint64_t first_vector) {
  using vector = key_vector<K>;
  const unsigned misplaced = misplaced_keys(to);
  const std::uint64_t end = std::uint64_t{num_keys} + misplaced;
#pragma unroll
  for (unsigned i = 0; i < filling_vectors; ++i) {
    const std::uint64_t at = (first_vector + i * filling_threads + threadIdx.x) * vector::size;
    if (at >= end) return;
    const bool is_whole = at >= misplaced && at + vector::size <= end;
    const std::uint32_t begin = at >= misplaced ? static_cast<std::uint32_t>(at - misplaced) : 0;
    unsigned v = last_at_most(values.places, values.count, begin);
    std::uint32_t next = v + 1 < values.count ? values.places[v + 1] : ~0U;
    K key = order.give(static_cast<K>(values.first + v));
    vector made;
    if (is_whole && begin + (vector::size - 1) < next) {
#pragma unroll
      for (unsigned k = 0; k < vector::size; ++k) made.keys[k] = key;
      *reinterpret_cast<vector*>(to + begin) = made;
      continue;
    }
#pragma unroll
    for (unsigned k = 0; k < vector::size; ++k) {
      const auto place = static_cast<std::uint32_t>(at + k - misplaced);
      const bool is_key = is_whole || (at + k >= misplaced && at + k < end);
      if (is_key && place >= next) {
        v += 1 + last_at_most(values.places + v + 1, values.count - v - 1, place);
        next = v + 1 < values.count ? values.places[v + 1] : ~0U;
        key = order.give(static_cast<K>(values.first + v));
      }
      made.keys[k] = key;
    }
    if (is_whole) {
      *reinterpret_cast<vector*>(to + begin) = made;
    } else {
      for (unsigned k = 0; k < vector::size; ++k) {
        if (at + k >= misplaced && at + k < end) to[at + k - misplaced] = made.keys[k];
      }
    }
  }
}

/// A block for each tile of filling_threads * filling_vectors vectors; one write of the keys. Keys of one byte: each
/// block adds the 256 counts up.
template <class Order>
__global__ void __launch_bounds__(filling_threads)
    write_values_kernel(Order order, __grid_constant__ const counting_request<std::uint8_t> request) {
  __shared__ std::uint32_t places[num_values(1)];
  __shared__ std::uint32_t sums[filling_threads / 32];
  static_assert(filling_threads == num_values(1));
  if (request.decision != nullptr && *request.decision != order_action::passes) return;
  places[threadIdx.x] = sum_of_threads_before(request.counts[threadIdx.x], sums);
  __syncthreads();
  write_tile(order, {places, 0, num_values(1)}, request.to, request.num_keys,
             std::uint64_t{blockIdx.x} * filling_threads * filling_vectors);
}

/// Keys of two bytes: `counts` are the places of all values.
template <class Order>
__global__ void __launch_bounds__(filling_threads)
    write_values_kernel(Order order, __grid_constant__ const counting_request<std::uint16_t> request) {
  using vector = key_vector<std::uint16_t>;
  __shared__ std::uint32_t places[most_filled_values];
  __shared__ unsigned ends[2];
  if (request.decision != nullptr && *request.decision != order_action::passes) return;
  constexpr unsigned tile_vectors = filling_threads * filling_vectors;
  const std::uint64_t first_vector = std::uint64_t{blockIdx.x} * tile_vectors;
  const unsigned misplaced = misplaced_keys(request.to);
  if (threadIdx.x < 64) {
    const std::uint64_t at = (first_vector + threadIdx.x / 32 * tile_vectors) * vector::size;
    const std::uint64_t place = at < misplaced ? 0 : min(at - misplaced, std::uint64_t{request.num_keys} - 1);
    const unsigned value = last_at_most_of_all(request.counts, static_cast<std::uint32_t>(place));
    if (threadIdx.x % 32 == 0) ends[threadIdx.x / 32] = value;
  }
  __syncthreads();
  placed_values values{request.counts + ends[0], ends[0], ends[1] - ends[0] + 1};
  if (values.count <= most_filled_values) {
    for (unsigned i = threadIdx.x; i < values.count; i += filling_threads) places[i] = values.places[i];
    __syncthreads();
    values.places = places;
  }
  write_tile(order, values, request.to, request.num_keys, first_vector);
}

// ---- In one block

/// Returns the last of the 256 places that is at most `place`. Its steps are straight code, so that those of several
/// keys overlap.
__device__ __forceinline__ unsigned last_at_most_of_256(const std::uint32_t* places, std::uint32_t place) {
  unsigned low = 0;
#pragma unroll
  for (unsigned step = num_values(1) / 2; step != 0; step /= 2) low += places[low + step] <= place ? step : 0;
  return low;
}

/// One block sorts keys of one byte in one launch, `block_counting_keys` a thread at most, which are all on their way
/// before the first is waited for.
template <class Order>
__global__ void __launch_bounds__(counting_threads)
    count_and_write_kernel(Order order, __grid_constant__ const counting_request<std::uint8_t> request) {
  using counters_of_all = range_counters<std::uint8_t, Order>;
  static_assert(counters_of_all::num_ranges == 1);
  __shared__ __align__(16) std::uint32_t counters[num_values(1) * counters_of_all::columns];
  __shared__ std::uint32_t places[num_values(1)];
  __shared__ std::uint32_t sums[counting_threads / 32];
  if (request.decision != nullptr && *request.decision != order_action::passes) return;
  std::uint8_t keys[block_counting_keys];
#pragma unroll
  for (unsigned i = 0; i < block_counting_keys; ++i) {
    const std::uint32_t at = i * blockDim.x + threadIdx.x;
    if (at < request.num_keys) keys[i] = request.keys[at];
  }
  counters_of_all all(order, counters, 0);
#pragma unroll
  for (unsigned i = 0; i < block_counting_keys; ++i) {
    if (i * blockDim.x + threadIdx.x < request.num_keys) all.count(keys[i]);
  }
  __syncthreads();
  const std::uint32_t place = sum_of_threads_before(threadIdx.x < num_values(1) ? all.sum(threadIdx.x) : 0, sums);
  if (threadIdx.x < num_values(1)) places[threadIdx.x] = place;
  __syncthreads();
#pragma unroll
  for (unsigned i = 0; i < block_counting_keys; ++i) {
    const std::uint32_t at = i * blockDim.x + threadIdx.x;
    keys[i] = order.give(static_cast<std::uint8_t>(last_at_most_of_256(places, at)));
  }
#pragma unroll
  for (unsigned i = 0; i < block_counting_keys; ++i) {
    const std::uint32_t at = i * blockDim.x + threadIdx.x;
    if (at < request.num_keys) request.to[at] = keys[i];
  }
}

template <class Kernel>
void grant_shared_memory(Kernel* kernel, unsigned bytes) {
  if (bytes <= default_shared_bytes) return;
  SPANSORT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// Calls f(order) with one of two orders for `codec`.
template <class K, class F>
void with_narrow_order(const keys::codec_of<K>& codec, const F& f) {
  if (codec.is_identity()) return f(identity_order<K>(codec));
  f(encoded_order<K>(codec));
}

}  // namespace

template <class K>
void launch_counting_sort(const launch_site& site, const keys::codec_of<K>& codec, const counting_request<K>& request) {
  with_narrow_order(codec, [&]<class Order>(const Order& order) {
    if constexpr (sizeof(K) == 1) {
      if (request.num_keys <= most_block_counting_keys) {
        const unsigned threads =
            std::min<unsigned>(base::round_up(request.num_keys, std::uint32_t{256}), counting_threads);
        count_and_write_kernel<<<1, threads, 0, site.stream>>>(order, request);
        return check_done(cudaGetLastError(), "count_and_write_kernel");
      }
    }
    SPANSORT_CUDA(cudaMemsetAsync(request.counts, 0, num_values(sizeof(K)) * sizeof(std::uint32_t), site.stream));
    const unsigned num_ranges = num_value_ranges(site.family(), sizeof(K));
    const unsigned shared_bytes = counting_shared_bytes(site.family(), sizeof(K));
    const auto count = count_values_kernel<K, Order>;
    grant_shared_memory(count, shared_bytes);
    constexpr std::uint64_t counted_keys = std::uint64_t{counting_threads} * counting_vectors * key_vector<K>::size;
    const unsigned blocks_each = shared_bytes <= default_shared_bytes ? 2 : 1;
    const std::uint64_t most_parts = std::max(site.num_multiprocessors * blocks_each / num_ranges, 1U);
    const auto parts = static_cast<unsigned>(
        std::clamp<std::uint64_t>(base::ceil_div(std::uint64_t{request.num_keys}, counted_keys), 1, most_parts));
    count<<<parts * num_ranges, counting_threads, shared_bytes, site.stream>>>(order, request);
    check_done(cudaGetLastError(), "count_values_kernel");
    if constexpr (sizeof(K) == 2) {
      find_places_kernel<<<1, counting_threads, 0, site.stream>>>(request.counts);
      check_done(cudaGetLastError(), "find_places_kernel");
    }
    constexpr std::uint64_t tile_keys = std::uint64_t{filling_threads} * filling_vectors * key_vector<K>::size;
    const auto tiles =
        static_cast<unsigned>(base::ceil_div(std::uint64_t{request.num_keys} + key_vector<K>::size - 1, tile_keys));
    write_values_kernel<<<tiles, filling_threads, 0, site.stream>>>(order, request);
    check_done(cudaGetLastError(), "write_values_kernel");
  });
}

template void launch_counting_sort<std::uint8_t>(const launch_site&, const keys::codec_of<std::uint8_t>&,
                                                 const counting_request<std::uint8_t>&);
template void launch_counting_sort<std::uint16_t>(const launch_site&, const keys::codec_of<std::uint16_t>&,
                                                  const counting_request<std::uint16_t>&);

}  // namespace spansort::device::cuda
