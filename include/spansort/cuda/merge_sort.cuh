// SPDX-License-Identifier: Apache-2.0
// sort() by a comparison that runs on a GPU, for sources that nvcc compiles: any strict weak order, of any trivially
// copyable type of up to 256 bytes. It needs no library, only this header and the CUDA runtime (12.4 or later).
//
// The source is Satish, Harris, Garland: "Designing Efficient Sorting Algorithms for Manycore GPUs", IPDPS 2009,
// section IV, whose steps the kernels are: tiles are sorted by Batcher's odd-even merge sort on chip; then pairs of
// runs are merged, level by level. Every t-th element of two runs is a splitter, which cuts both into tiles of at most
// t elements, and within a tile an element's place is its position plus its rank in the other run, by binary search.
//
// The paper leaves three things open. Equal elements stay in order: the network compares positions where elements are
// equal, and the two ranks count them on one side only. A splitter is searched in the whole other run, which saves the
// nested merges of the splitters and costs a few steps more. And a comparison that is no order makes no element
// disappear: where places or cuts contradict each other, the elements of the tile, or of the level, stay as they are.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "spansort/cxx20.hpp"
#include "spansort/errors.hpp"

namespace spansort::cuda {
namespace detail {

/// Elements of a tile: the paper's 256 and twice that for small elements, fewer where shared memory ends.
template <class T>
inline constexpr unsigned tile_elements = std::bit_floor(std::clamp(static_cast<unsigned>(16384 / sizeof(T)), 64U,
                                                                    512U));

/// Where a tile of a merge begins in the two runs, as positions in the whole array.
struct merge_cut {
  std::uint64_t left;
  std::uint64_t right;
};

/// Two neighbouring runs, as positions in the whole array.
struct run_pair {
  std::uint64_t begin;
  std::uint64_t middle;
  std::uint64_t end;

  __host__ __device__ static run_pair at(std::uint64_t position, std::uint64_t run_elements, std::uint64_t count) {
    const std::uint64_t begin = position / (2 * run_elements) * (2 * run_elements);
    const std::uint64_t middle = begin + run_elements < count ? begin + run_elements : count;
    const std::uint64_t end = begin + 2 * run_elements < count ? begin + 2 * run_elements : count;
    return {begin, middle, end};
  }
};

/// Returns how many elements of a run come before `x`: those that are less, and with `equals_too` those that are equal.
template <class T, class Compare>
__host__ __device__ std::uint64_t rank_in(const T* run, std::uint64_t count, const T& x, bool equals_too,
                                          const Compare& compare) {
  std::uint64_t begin = 0;
  std::uint64_t end = count;
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    const bool is_before = equals_too ? !compare(x, run[middle]) : compare(run[middle], x);
    begin = is_before ? middle + 1 : begin;
    end = is_before ? end : middle;
  }
  return begin;
}

template <class T>
__host__ __device__ void exchange(T& a, T& b) {
  alignas(T) unsigned char kept[sizeof(T)];
  memcpy(kept, &a, sizeof(T));
  memcpy(static_cast<void*>(&a), &b, sizeof(T));
  memcpy(static_cast<void*>(&b), kept, sizeof(T));
}

/// The comparator of Batcher's network at place `i`, the smaller of two: elements p, p/2, ... 1 apart, in the merge of
/// sequences of p. Returns the distance to the other place, 0 for none.
__host__ __device__ inline unsigned partner_distance(unsigned i, unsigned p, unsigned k) {
  const unsigned offset = k == p ? 0 : k;
  if (i < offset || (i - offset) / k % 2 != 0) return 0;
  return i / (2 * p) == (i + k) / (2 * p) ? k : 0;
}

/// One block of tile_elements<T> / 2 threads for each tile, which it sorts in shared memory: one read and one write.
template <class T, class Compare>
__global__ void __launch_bounds__(tile_elements<T> / 2)
    sort_tiles_kernel(T* elements, std::uint64_t count, Compare compare) {
  constexpr unsigned t = tile_elements<T>;
  __shared__ alignas(T) unsigned char memory[t * sizeof(T)];
  __shared__ std::uint16_t position[t];
  T* const tile = reinterpret_cast<T*>(memory);
  const std::uint64_t first = std::uint64_t{blockIdx.x} * t;
  const unsigned num_here = count - first < t ? static_cast<unsigned>(count - first) : t;
  for (unsigned i = threadIdx.x; i < num_here; i += t / 2) {
    memcpy(static_cast<void*>(tile + i), elements + first + i, sizeof(T));
    position[i] = static_cast<std::uint16_t>(i);
  }
  for (unsigned p = 1; p < t; p *= 2) {
    for (unsigned k = p; k != 0; k /= 2) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < num_here; i += t / 2) {
        const unsigned distance = partner_distance(i, p, k);
        const unsigned j = i + distance;
        if (distance == 0 || j >= num_here) continue;  // what would be behind the end is greater than all
        const bool is_greater = compare(tile[j], tile[i]);
        const bool is_wrong = is_greater || (position[j] < position[i] && !compare(tile[i], tile[j]));
        if (!is_wrong) continue;
        exchange(tile[i], tile[j]);
        exchange(position[i], position[j]);
      }
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < num_here; i += t / 2) {
    memcpy(static_cast<void*>(elements + first + i), tile + i, sizeof(T));
  }
}

/// One thread for each splitter, which finds its place among the splitters of its pair of runs, and the cut there.
template <class T, class Compare>
__global__ void find_cuts_kernel(const T* elements, std::uint64_t count, std::uint64_t run_elements, Compare compare,
                                 merge_cut* cuts) {
  constexpr std::uint64_t t = tile_elements<T>;
  const std::uint64_t position = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * t;
  if (position >= count) return;
  const run_pair pair = run_pair::at(position, run_elements, count);
  const bool is_of_left = position < pair.middle;
  const std::uint64_t other = is_of_left ? pair.middle : pair.begin;
  const std::uint64_t num_other = is_of_left ? pair.end - pair.middle : pair.middle - pair.begin;
  const std::uint64_t rank = rank_in(elements + other, num_other, elements[position], !is_of_left, compare);
  const std::uint64_t own_splitter = (position - (is_of_left ? pair.begin : pair.middle)) / t;
  const std::uint64_t place = pair.begin / t + own_splitter + (rank + t - 1) / t;
  cuts[place] = is_of_left ? merge_cut{position, pair.middle + rank} : merge_cut{pair.begin + rank, position};
}

/// The tile that begins at a cut, or what is left of the pair of runs.
struct merge_tile {
  merge_cut from;
  merge_cut end;
  std::uint64_t to;

  /// Returns whether the tile is one that a comparison of a strict weak order can give.
  __device__ bool is_possible(const run_pair& pair, std::uint64_t most_elements) const {
    return from.left >= pair.begin && from.left <= end.left && end.left <= pair.middle && from.right >= pair.middle &&
           from.right <= end.right && end.right <= pair.end && end.left - from.left <= most_elements &&
           end.right - from.right <= most_elements;
  }
};
template <class T>
__device__ merge_tile tile_at(const merge_cut* cuts, std::uint64_t number, std::uint64_t run_elements,
                              std::uint64_t count) {
  constexpr std::uint64_t t = tile_elements<T>;
  const run_pair pair = run_pair::at(number * t, run_elements, count);
  const bool is_first = number * t == pair.begin;
  const bool is_last = (number + 1) * t >= pair.end;
  const merge_cut from = is_first ? merge_cut{pair.begin, pair.middle} : cuts[number];
  const merge_cut end = is_last ? merge_cut{pair.middle, pair.end} : cuts[number + 1];
  return {from, end, from.left + (from.right - pair.middle)};
}

/// One thread for each tile. Sets `is_no_order` where the cuts contradict each other.
template <class T>
__global__ void check_cuts_kernel(const merge_cut* cuts, std::uint64_t num_tiles, std::uint64_t run_elements,
                                  std::uint64_t count, unsigned* is_no_order) {
  const std::uint64_t number = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (number >= num_tiles) return;
  const run_pair pair = run_pair::at(number * tile_elements<T>, run_elements, count);
  const merge_tile tile = tile_at<T>(cuts, number, run_elements, count);
  if (!tile.is_possible(pair, tile_elements<T>)) *is_no_order = 1;
}

/// One block of tile_elements<T> / 2 threads for each tile, which it merges in shared memory: one read and one write.
template <class T, class Compare>
__global__ void __launch_bounds__(tile_elements<T> / 2)
    merge_tiles_kernel(const T* from, T* to, const merge_cut* cuts, std::uint64_t run_elements, std::uint64_t count,
                       Compare compare, const unsigned* is_no_order) {
  constexpr unsigned t = tile_elements<T>;
  __shared__ alignas(T) unsigned char memory[2 * t * sizeof(T)];
  __shared__ unsigned claimed[2 * t / 32];
  if (*is_no_order != 0) {
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * t;
    const std::uint64_t end = begin + t < count ? begin + t : count;
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += t / 2) {
      memcpy(static_cast<void*>(to + i), from + i, sizeof(T));
    }
    return;
  }
  const merge_tile tile = tile_at<T>(cuts, blockIdx.x, run_elements, count);
  const auto num_left = static_cast<unsigned>(tile.end.left - tile.from.left);
  const auto num_right = static_cast<unsigned>(tile.end.right - tile.from.right);
  T* const left = reinterpret_cast<T*>(memory);
  T* const right = left + num_left;
  for (unsigned i = threadIdx.x; i < num_left + num_right; i += t / 2) {
    const T* const source = i < num_left ? from + tile.from.left + i : from + tile.from.right + (i - num_left);
    memcpy(static_cast<void*>(left + i), source, sizeof(T));
  }
  for (unsigned i = threadIdx.x; i < 2 * t / 32; i += t / 2) claimed[i] = 0;
  __syncthreads();
  unsigned places[4];  // of this thread's elements
  bool collides = false;
  for (unsigned round = 0; round < 4; ++round) {
    const unsigned i = threadIdx.x + round * (t / 2);
    if (i >= num_left + num_right) break;
    const bool is_of_left = i < num_left;
    const std::uint64_t rank = is_of_left ? rank_in(right, num_right, left[i], false, compare)
                                          : rank_in(left, num_left, left[i], true, compare);
    places[round] = (is_of_left ? i : i - num_left) + static_cast<unsigned>(rank);
    const unsigned bit = 1U << (places[round] % 32);
    collides = collides || (atomicOr(claimed + places[round] / 32, bit) & bit) != 0;
  }
  const bool keeps_runs = __syncthreads_or(collides ? 1 : 0) != 0;
  for (unsigned round = 0; round < 4; ++round) {
    const unsigned i = threadIdx.x + round * (t / 2);
    if (i >= num_left + num_right) break;
    memcpy(static_cast<void*>(to + tile.to + (keeps_runs ? i : places[round])), left + i, sizeof(T));
  }
}

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw device_error(std::string(what) + ": " + cudaGetErrorString(status));
}

}  // namespace detail

/// Returns the bytes of workspace that sort_async() takes for `count` elements of type T: as many elements again, and
/// 16 bytes for every tile of 64 to 512 elements.
template <class T>
[[nodiscard]] constexpr std::size_t merge_sort_workspace_bytes(std::uint64_t count) {
  const std::uint64_t num_tiles = (count + detail::tile_elements<T> - 1) / detail::tile_elements<T>;
  const std::uint64_t elements_bytes = (count * sizeof(T) + 255) / 256 * 256;
  return elements_bytes + num_tiles * sizeof(detail::merge_cut) + 256;
}

/// Puts a sort of `count` elements in memory of the current GPU on `stream`, so that compare(b, a) is false for every a
/// before b. Stable. Does not block, allocates nothing, waits for nothing: it can be captured into a graph.
/// `compare` is a function object with `__device__ bool operator()(const T&, const T&) const`, copied to the GPU.
/// `workspace` is device memory of merge_sort_workspace_bytes<T>(count) bytes, aligned to 256, of which the sort makes
/// use until it is done. Throws device_error where a kernel cannot be launched. A comparison that is no strict weak
/// order ends too, and loses no element.
template <class T, class Compare>
void sort_async(T* elements, std::uint64_t count, Compare compare, void* workspace, cudaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  static_assert(sizeof(T) <= 256, "elements of more than 256 bytes do not fit on chip: sort their indices");
  constexpr unsigned t = detail::tile_elements<T>;
  if (count < 2) return;
  static_cast<void>(cudaGetLastError());  // what an earlier call of the caller's left behind is not ours
  const std::uint64_t num_tiles = (count + t - 1) / t;
  T* const scratch = static_cast<T*>(workspace);
  auto* const cuts =
      reinterpret_cast<detail::merge_cut*>(static_cast<char*>(workspace) + (count * sizeof(T) + 255) / 256 * 256);
  auto* const is_no_order = reinterpret_cast<unsigned*>(cuts + num_tiles);
  if (num_tiles > std::uint64_t{1} << 31) throw invalid_argument("more elements than a grid of blocks can sort");
  const auto blocks = static_cast<unsigned>(num_tiles);
  constexpr unsigned search_threads = 128;
  const auto search_blocks = static_cast<unsigned>((num_tiles + search_threads - 1) / search_threads);

  detail::sort_tiles_kernel<<<blocks, t / 2, 0, stream>>>(elements, count, compare);
  T* from = elements;
  T* to = scratch;
  for (std::uint64_t run_elements = t; run_elements < count; run_elements *= 2) {
    // A cut that no splitter writes is none that can be, and the check finds it.
    detail::check(cudaMemsetAsync(cuts, 0xff, num_tiles * sizeof(detail::merge_cut), stream), "cudaMemsetAsync");
    detail::check(cudaMemsetAsync(is_no_order, 0, sizeof(unsigned), stream), "cudaMemsetAsync");
    detail::find_cuts_kernel<<<search_blocks, search_threads, 0, stream>>>(from, count, run_elements, compare, cuts);
    detail::check_cuts_kernel<T>
        <<<search_blocks, search_threads, 0, stream>>>(cuts, num_tiles, run_elements, count, is_no_order);
    detail::merge_tiles_kernel<<<blocks, t / 2, 0, stream>>>(from, to, cuts, run_elements, count, compare, is_no_order);
    std::swap(from, to);
  }
  detail::check(cudaGetLastError(), "launch of a merge sort");
  if (from != elements) {
    detail::check(cudaMemcpyAsync(elements, from, count * sizeof(T), cudaMemcpyDeviceToDevice, stream),
                  "cudaMemcpyAsync");
  }
}

/// Sorts as sort_async() does and waits for `stream`. The workspace is taken from the stream's memory pool and given
/// back. Throws device_error, and out_of_memory with the elements untouched.
///     spansort::cuda::sort(particles, count, nearer_first{eye});
template <class T, class Compare>
void sort(T* elements, std::uint64_t count, Compare compare, cudaStream_t stream = nullptr) {
  const std::size_t size_bytes = merge_sort_workspace_bytes<T>(count);
  void* workspace = nullptr;
  const cudaError_t taken = cudaMallocAsync(&workspace, size_bytes, stream);
  if (taken == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    detail::check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    throw out_of_memory("the workspace of a sort by a comparison", size_bytes, free_bytes);
  }
  detail::check(taken, "cudaMallocAsync");
  try {
    sort_async(elements, count, compare, workspace, stream);
  } catch (...) {
    static_cast<void>(cudaStreamSynchronize(stream));
    static_cast<void>(cudaFreeAsync(workspace, stream));
    throw;
  }
  detail::check(cudaFreeAsync(workspace, stream), "cudaFreeAsync");
  detail::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace spansort::cuda
