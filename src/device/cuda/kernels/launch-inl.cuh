// SPDX-License-Identifier: Apache-2.0
// Bodies of request.hpp's launchers. Included by the instantiation units only.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/cub_sort.hpp"
#include "device/cuda/kernels/histogram.cuh"
#include "device/cuda/kernels/intervals.cuh"
#include "device/cuda/kernels/partition.cuh"
#include "device/cuda/kernels/rearrange.cuh"

namespace spansort::device::cuda {
namespace {

/// Blocks for a kernel whose threads stride over `count` items.
unsigned striding_blocks(const launch_site& site, std::uint64_t count, const striding_policy& policy) {
  const std::uint64_t wanted = std::max<std::uint64_t>(base::ceil_div(count, std::uint64_t{policy.tile_items()}), 1);
  return static_cast<unsigned>(std::min(wanted, std::uint64_t{site.num_multiprocessors} * policy.blocks_each));
}

template <class Kernel>
void allow_shared_memory(Kernel* kernel, unsigned bytes) {
  if (bytes <= default_shared_bytes) return;
  SPANSORT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// One partition of a local sort, or a partition request.
struct partition_step {
  records source;
  std::uint64_t num_keys = 0;
  keys::digit_position digit;
  bucket_target* targets = nullptr;  ///< [2][max_partition_buckets]; the first half is filled
  const remedy* decision = nullptr;
  std::uint32_t* tile_counter = nullptr;
  /// Cleared, as is the counter, and enough for all tiles; null: the workspace's are cleared as needed.
  std::uint32_t* cleared_states = nullptr;
};

/// How a partition kernel is launched.
struct tile_sizes {
  unsigned threads = 0;
  unsigned keys = 0;
  unsigned shared_bytes = 0;

  [[nodiscard]] std::uint64_t num_tiles(std::uint64_t num_keys) const {
    return base::ceil_div(num_keys, std::uint64_t{keys});
  }
};

/// Those that the code was compiled with that the site's GPU runs.
template <class K, class V>
tile_sizes tile_sizes_at(const launch_site& site) {
  return with_family(site.family, []<kernel_family Family>(family_constant<Family>) {
    using tile = partition_tile<K, V, identity_order<K>, Family>;
    return tile_sizes{tile::threads, tile::tile_keys, sizeof(typename tile::shared_memory)};
  });
}

template <class K, class V, class Order>
void run_partition_step(const launch_site& site, const Order& order, const partition_step& step) {
  const auto kernel = partition_kernel<K, V, Order>;
  const tile_sizes tile = tile_sizes_at<K, V>(site);
  allow_shared_memory(kernel, tile.shared_bytes);
  const std::uint64_t all_tiles = tile.num_tiles(step.num_keys);
  const std::uint64_t num_portions = std::max<std::uint64_t>(1, base::ceil_div(all_tiles, site.memory.tile_capacity));
  const std::uint64_t portion_keys = base::ceil_div(all_tiles, num_portions) * tile.keys;
  unsigned half = 0;
  for (std::uint64_t begin = 0; begin < step.num_keys; begin += portion_keys, half ^= 1) {
    const std::uint64_t count = std::min(portion_keys, step.num_keys - begin);
    const auto num_tiles = static_cast<unsigned>(tile.num_tiles(count));
    partition_arguments<K> a;
    a.keys = static_cast<const K*>(step.source.keys) + begin;
    if constexpr (value_bytes_of<V> != 0) a.values = static_cast<const V*>(step.source.values) + begin;
    a.num_keys = static_cast<std::uint32_t>(count);
    a.shift = step.digit.shift;
    a.mask = static_cast<unsigned>(step.digit.num_buckets() - 1);
    a.targets = step.targets + half * max_partition_buckets;
    a.next_targets = step.targets + (half ^ 1) * max_partition_buckets;
    a.tile_states = step.cleared_states;
    a.tile_counter = step.tile_counter;
    a.decision = step.decision;
    if (step.cleared_states == nullptr) {
      a.tile_states = site.memory.tile_states;
      SPANSORT_CUDA(cudaMemsetAsync(a.tile_states, 0, num_tiles * kernel_workspace::tile_state_bytes, site.stream));
      SPANSORT_CUDA(cudaMemsetAsync(a.tile_counter, 0, 4, site.stream));
    }
    kernel<<<num_tiles, tile.threads, tile.shared_bytes, site.stream>>>(order, a);
    check_done(cudaGetLastError(), "partition_kernel");
  }
}

/// Places of equal width (up to one bit) that cover `bits`, lowest first.
inline std::vector<keys::digit_position> passes_over(keys::bit_range bits) {
  const unsigned count = num_local_sort_passes(bits);
  std::vector<keys::digit_position> digits;
  unsigned shift = bits.begin;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned width = (bits.end - shift) / (count - i) + ((bits.end - shift) % (count - i) != 0 ? 1 : 0);
    digits.push_back({shift, width});
    shift += width;
  }
  return digits;
}

/// Both arrays of records, under a condition.
template <class K, class V>
void run_copy(const launch_site& site, order_condition when, records to, records from, std::uint64_t count) {
  const striding_policy policy = rearrange_policy_of(site.family).sizes;
  const unsigned blocks = striding_blocks(site, count, policy);
  copy_kernel<<<blocks, policy.threads, 0, site.stream>>>(when, static_cast<K*>(to.keys),
                                                          static_cast<const K*>(from.keys), count);
  if constexpr (value_bytes_of<V> != 0) {
    copy_kernel<<<blocks, policy.threads, 0, site.stream>>>(when, static_cast<V*>(to.values),
                                                            static_cast<const V*>(from.values), count);
  }
  check_done(cudaGetLastError(), "copy_kernel");
}

template <class K, class V>
void run_reverse(const launch_site& site, order_condition when, records to, records from, std::uint64_t count) {
  const striding_policy policy = rearrange_policy_of(site.family).sizes;
  const unsigned blocks = striding_blocks(site, count, policy);
  reverse_kernel<<<blocks, policy.threads, 0, site.stream>>>(when, static_cast<K*>(to.keys), static_cast<K*>(from.keys),
                                                             count);
  if constexpr (value_bytes_of<V> != 0) {
    reverse_kernel<<<blocks, policy.threads, 0, site.stream>>>(when, static_cast<V*>(to.values),
                                                               static_cast<V*>(from.values), count);
  }
  check_done(cudaGetLastError(), "reverse_kernel");
}

}  // namespace

template <class K>
void launch_histogram(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                      const keys::digit_position* digits, unsigned num_digits, std::uint64_t* counts) {
  if (num_keys == 0) return;
  for (unsigned begin = 0; begin < num_digits;) {
    digit_places places;
    for (; begin < num_digits && places.count < max_digits_together; ++begin) {
      const auto num_buckets = static_cast<unsigned>(digits[begin].num_buckets());
      if (places.count != 0 && places.num_counters + num_buckets > max_counters_together) break;
      places.digit[places.count] = digits[begin];
      places.first_counter[places.count++] = places.num_counters;
      places.num_counters += num_buckets;
    }
    with_order<K>(codec, [&](const auto& order) {
      const striding_policy policy = histogram_policy_of(site.family, sizeof(K)).sizes;
      const unsigned blocks = striding_blocks(site, num_keys, policy);
      histogram_kernel<K><<<blocks, policy.threads, places.num_counters * 4, site.stream>>>(
          order, static_cast<const K*>(keys), num_keys, places, counts);
    });
    check_done(cudaGetLastError(), "histogram_kernel");
    counts += places.num_counters;
  }
}

template <class K>
void launch_fingerprint(const launch_site& site, const keys::codec_of<K>& codec, const void* keys,
                        std::uint64_t num_keys) {
  SPANSORT_CUDA(cudaMemsetAsync(site.memory.order, 0, 4, site.stream));
  if (num_keys < 2) return;
  with_order<K>(codec, [&](const auto& order) {
    const striding_policy policy = fingerprint_policy_of(site.family).sizes;
    const unsigned blocks = striding_blocks(site, num_keys, policy);
    fingerprint_kernel<K>
        <<<blocks, policy.threads, 0, site.stream>>>(order, static_cast<const K*>(keys), num_keys, site.memory.order);
  });
  check_done(cudaGetLastError(), "fingerprint_kernel");
}

template <class K>
void launch_count_intervals(const launch_site& site, const keys::codec_of<K>& codec, const interval_request& request,
                            std::uint64_t* counts) {
  if (request.num_keys == 0) return;
  interval_arguments<K> a;
  a.keys = static_cast<const K*>(request.keys);
  a.num_keys = request.num_keys;
  a.num_splitters = static_cast<unsigned>(request.splitters.size());
  a.first_step = std::bit_floor(a.num_splitters);
  a.marked = request.marked;
  a.collected = static_cast<K*>(request.collected);
  a.capacity = request.capacity;
  a.counts = counts;
  a.num_collected = counts + a.num_splitters + 1;
  std::transform(request.splitters.begin(), request.splitters.end(), a.splitters,
                 [](std::uint64_t splitter) { return static_cast<K>(splitter); });
  const striding_policy policy = interval_policy_of(site.family, sizeof(K)).sizes;
  const unsigned blocks = striding_blocks(site, request.num_keys, policy);
  const auto launch = [&](const auto& order) {
    interval_kernel<K><<<blocks, policy.threads, 0, site.stream>>>(order, a);
  };
  // Encodings that fold ties are not asked for.
  if (codec.is_identity()) {
    launch(identity_order<K>(codec));
  } else {
    launch(encoded_order<K>(codec));
  }
  check_done(cudaGetLastError(), "interval_kernel");
}

template <class K>
void launch_partition(const launch_site& site, const keys::codec_of<K>& codec, const partition_request& request) {
  target_list list;
  for (std::uint64_t b = 0; b < request.digit.num_buckets(); ++b) {
    list.target[b] = {request.destinations[b].keys, request.destinations[b].values};
  }
  write_targets_kernel<<<1, max_partition_buckets, 0, site.stream>>>(list, site.memory.targets);
  check_done(cudaGetLastError(), "write_targets_kernel");
  with_value(request.shape.value_bytes, [&]<class V>() {
    with_order<K>(codec, [&](const auto& order) {
      partition_step step;
      step.source = request.source;
      step.num_keys = request.num_keys;
      step.digit = request.digit;
      step.targets = site.memory.targets;
      step.tile_counter = site.memory.tile_counters;
      run_partition_step<K, V>(site, order, step);
    });
  });
}

/// Every pass's partition, from one array to the other and back; returns where the records end.
template <class K, class V>
records run_passes(const launch_site& site, const keys::codec_of<K>& codec, records source, records alternate,
                   std::uint64_t count, const std::vector<keys::digit_position>& digits, const remedy* decision) {
  const kernel_workspace& memory = site.memory;
  // All passes' states at once where they fit; else the largest inputs' passes clear their own.
  const std::uint64_t num_tiles = tile_sizes_at<K, V>(site).num_tiles(count);
  const bool fits = num_tiles * digits.size() <= memory.tile_capacity;
  const std::uint64_t state_bytes = fits ? num_tiles * digits.size() * kernel_workspace::tile_state_bytes : 0;
  SPANSORT_CUDA(cudaMemsetAsync(memory.sort_counts, 0, memory.cleared_bytes + state_bytes, site.stream));
  launch_histogram<K>(site, codec, source.keys, count, digits.data(), static_cast<unsigned>(digits.size()),
                      memory.sort_counts);
  digit_widths widths;
  for (std::size_t i = 0; i < digits.size(); ++i) widths.bits[i] = static_cast<std::uint8_t>(digits[i].bits);
  bucket_targets_kernel<K, V><<<static_cast<unsigned>(digits.size()), max_partition_buckets, 0, site.stream>>>(
      memory.sort_counts, widths, static_cast<K*>(source.keys), static_cast<V*>(source.values),
      static_cast<K*>(alternate.keys), static_cast<V*>(alternate.values), memory.targets);
  check_done(cudaGetLastError(), "bucket_targets_kernel");
  with_order<K>(codec, [&](const auto& order) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      partition_step step;
      step.source = i % 2 == 0 ? source : alternate;
      step.num_keys = count;
      step.digit = digits[i];
      step.targets = memory.targets + i * 2 * max_partition_buckets;
      step.decision = decision;
      step.tile_counter = memory.tile_counters + i;
      if (fits) step.cleared_states = memory.tile_states + i * num_tiles * max_partition_buckets;
      run_partition_step<K, V>(site, order, step);
    }
  });
  return digits.size() % 2 == 0 ? source : alternate;
}

/// The same by CUB.
template <class K, class V>
records run_cub_sort(const launch_site& site, const keys::codec_of<K>& codec, records source, records alternate,
                     std::uint64_t count, keys::bit_range bits) {
  if constexpr (has_cub_sort(sizeof(K), value_bytes_of<V>)) {
    SPANSORT_ASSERT(!codec.folds_ties);  // what is folded cannot be decoded
    if (codec.is_identity()) return launch_cub_sort<K, V>(site, source, alternate, count, bits);
    const encoded_order<K> order(codec);
    const striding_policy policy = rearrange_policy_of(site.family).sizes;
    const unsigned blocks = striding_blocks(site, count, policy);
    encode_kernel<<<blocks, policy.threads, 0, site.stream>>>(order, static_cast<K*>(source.keys), count);
    check_done(cudaGetLastError(), "encode_kernel");
    const records end = launch_cub_sort<K, V>(site, source, alternate, count, bits);
    decode_kernel<<<blocks, policy.threads, 0, site.stream>>>(order, static_cast<K*>(end.keys), count);
    check_done(cudaGetLastError(), "decode_kernel");
    return end;
  } else {
    SPANSORT_ASSERT(false);
    return source;
  }
}

template <class K>
void launch_local_sort(const launch_site& site, const keys::codec_of<K>& codec, const local_sort_request& request,
                       const sort_segment& segment, bool adaptive) {
  const records source = advance(request.shape, request.source, segment.begin);
  const records alternate = advance(request.shape, request.alternate, segment.begin);
  const records result = request.result_in_alternate ? alternate : source;
  const std::uint64_t count = segment.count;
  const std::vector<keys::digit_position> digits = passes_over(segment.bits);
  const remedy* const decision = adaptive ? site.memory.decision : nullptr;
  with_value(request.shape.value_bytes, [&]<class V>() {
    if (adaptive) {
      launch_fingerprint<K>(site, codec, source.keys, count);
      // Keys that tie on the range asked for must not change places: only whole keys can be reversed.
      decide_kernel<<<1, 1, 0, site.stream>>>(site.memory.order, segment.bits.begin == 0,
                                              request.shape.value_bytes == 0, site.memory.decision);
      check_done(cudaGetLastError(), "decide_kernel");
    }
    const records end = site.cub_memory != nullptr
                            ? run_cub_sort<K, V>(site, codec, source, alternate, count, segment.bits)
                            : run_passes<K, V>(site, codec, source, alternate, count, digits, decision);
    if (end.keys != result.keys) run_copy<K, V>(site, {decision, remedy::passes}, result, end, count);
    if (!adaptive) return;
    if (source.keys != result.keys) run_copy<K, V>(site, {decision, remedy::keep}, result, source, count);
    run_reverse<K, V>(site, {decision, remedy::reverse}, result, source, count);
  });
}

template <class K>
void launch_swap_mirrored(const launch_site& site, const swap_mirrored_request& request) {
  const striding_policy policy = rearrange_policy_of(site.family).sizes;
  const unsigned blocks = striding_blocks(site, request.num_records, policy);
  swap_mirrored_kernel<<<blocks, policy.threads, 0, site.stream>>>(
      static_cast<K*>(request.left.keys), static_cast<K*>(request.right.keys), request.num_records);
  with_value(request.shape.value_bytes, [&]<class V>() {
    if constexpr (value_bytes_of<V> != 0) {
      swap_mirrored_kernel<<<blocks, policy.threads, 0, site.stream>>>(
          static_cast<V*>(request.left.values), static_cast<V*>(request.right.values), request.num_records);
    }
  });
  check_done(cudaGetLastError(), "swap_mirrored_kernel");
}

/// In every instantiation unit, once.
#define SPANSORT_INSTANTIATE_CUDA_LAUNCHERS(K)                                                                   \
  template void launch_histogram<K>(const launch_site&, const keys::codec_of<K>&, const void*, std::uint64_t,    \
                                    const keys::digit_position*, unsigned, std::uint64_t*);                      \
  template void launch_fingerprint<K>(const launch_site&, const keys::codec_of<K>&, const void*, std::uint64_t); \
  template void launch_count_intervals<K>(const launch_site&, const keys::codec_of<K>&, const interval_request&, \
                                          std::uint64_t*);                                                       \
  template void launch_partition<K>(const launch_site&, const keys::codec_of<K>&, const partition_request&);     \
  template void launch_local_sort<K>(const launch_site&, const keys::codec_of<K>&, const local_sort_request&,    \
                                     const sort_segment&, bool);                                                 \
  template void launch_swap_mirrored<K>(const launch_site&, const swap_mirrored_request&)

}  // namespace spansort::device::cuda
