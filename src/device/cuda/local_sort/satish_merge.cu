// SPDX-License-Identifier: Apache-2.0
// The merge sort of Satish, Harris and Garland (2009, section IV). Blocks sort tiles of 256 records by Batcher's
// odd-even merge sort, then a tree of pairwise merges makes them one. A merge of two runs is cut into intervals of at
// most 256 records of either run: every 256th record of both is a splitter, whose ranks in both runs are found by
// binary search, first among the other run's splitters and then in a window of 256 records; a block merges an interval,
// where each thread finds its records' ranks by binary search. The paper merges the splitters by a nested merge to get
// the first of these ranks; the search gives the same number.
//
// Keys are compared by their encoding. Neither the network nor a merge is stable by itself: in a tile ties are broken
// by the place in it, and in a merge the left run's records come first.
#include <utility>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/satish_merge.cuh"
#include "device/cuda/local_sort/local_sort.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

template <class K, class V>
records sort_by_merges(const launch_site& site, const segment_sort& segment, satish::interval_begin* begins) {
  const keys::codec_of<K> codec = segment.shape.codec.template of<K>();
  const unsigned shift = segment.bits.begin;
  const std::uint64_t num_tiles = satish::num_merge_tiles(segment.count);
  const auto num_blocks = base::checked_cast<unsigned>(num_tiles);
  const auto num_splitter_blocks = static_cast<unsigned>(base::ceil_div(num_tiles, std::uint64_t{satish_threads}));
  network_sort_kernel<K, V>
      <<<num_blocks, satish_threads, 0, site.stream>>>(codec, shift, typed<K, V>(segment.source), segment.count);
  check_done(cudaGetLastError(), "network_sort_kernel");
  records from = segment.source;
  records to = segment.alternate;
  for (std::uint64_t run_keys = satish::merge_tile_keys; run_keys < segment.count; run_keys *= 2) {
    const satish::encoded_keys<K> array{static_cast<const K*>(from.keys), codec, shift};
    place_splitters_kernel<K>
        <<<num_splitter_blocks, satish_threads, 0, site.stream>>>(array, run_keys, segment.count, begins);
    check_done(cudaGetLastError(), "place_splitters_kernel");
    merge_intervals_kernel<K, V><<<num_blocks, satish_threads, 0, site.stream>>>(
        codec, shift, typed<K, V>(from), typed<K, V>(to), begins, run_keys, segment.count);
    check_done(cudaGetLastError(), "merge_intervals_kernel");
    std::swap(from, to);
  }
  return from;
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

std::uint64_t scratch_bytes_for(const record_shape&, std::uint64_t num_keys) {
  return satish::num_merge_tiles(num_keys) * sizeof(satish::interval_begin);
}

records enqueue(const launch_site& site, const segment_sort& segment, void* scratch) {
  auto* const begins = static_cast<satish::interval_begin*>(scratch);
  return keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() {
    return with_value(segment.shape.value_bytes,
                      [&]<class V>() { return sort_by_merges<K, V>(site, segment, begins); });
  });
}

sort_cost cost(const segment_sort& segment) {
  unsigned num_passes = 1;
  for (std::uint64_t run_keys = satish::merge_tile_keys; run_keys < segment.count; run_keys *= 2) ++num_passes;
  return {num_passes, std::uint64_t{2} * num_passes * segment.count * segment.shape.bytes()};
}

}  // namespace

extern const local_sort_algorithm satish_merge;
constexpr local_sort_algorithm satish_merge{.name = "satish_merge",
                                            .label = "local sort by satish_merge",
                                            .scratch_bytes_for = scratch_bytes_for,
                                            .can_sort = can_sort,
                                            .enqueue = enqueue,
                                            .cost = cost};

}  // namespace spansort::device::cuda
