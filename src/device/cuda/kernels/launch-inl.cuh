// SPDX-License-Identifier: Apache-2.0
// Bodies of the launchers that request.hpp declares. Only the instantiation units include this.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/histogram.cuh"
#include "device/cuda/kernels/intervals.cuh"
#include "device/cuda/kernels/partition_launch-inl.cuh"
#include "device/cuda/kernels/rearrange.cuh"
#include "device/cuda/kernels/spread_order.cuh"
#include "device/cuda/kernels/turning_look.cuh"

namespace spansort::device::cuda {

/// Launches the kernel that counts a group of digits, with columns of counters where there are keys enough to pay for
/// clearing and adding them up, and room.
template <class K, class Order>
void run_histogram(const launch_site& site, const Order& order, const K* keys, std::uint64_t num_keys,
                   const digit_group& group, std::uint64_t* counts, const order_action* decision,
                   std::uint32_t* any_folded) {
  const striding_policy policy = histogram_policy_of(site.family(), sizeof(K)).sizes;
  const unsigned blocks = policy.num_blocks(num_keys, site.num_multiprocessors);
  const auto launch = [&](auto kernel, unsigned columns) {
    const unsigned shared_bytes = group.num_counters * columns * 4;
    allow_shared_memory(kernel, shared_bytes);
    kernel<<<blocks, policy.threads, shared_bytes, site.stream>>>(order, keys, num_keys, group, counts, decision,
                                                                  any_folded);
  };
  constexpr unsigned columns = histogram_columns.sizes.columns;
  if (num_keys >= histogram_columns.sizes.least_keys && group.num_counters <= histogram_columns.sizes.most_counters) {
    launch(histogram_kernel<K, Order, columns>, columns);
  } else {
    launch(histogram_kernel<K, Order, 1>, 1);
  }
  check_done(cudaGetLastError(), "histogram_kernel");
}

template <class K>
void launch_histogram(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                      const keys::digit_position* digits, unsigned num_digits, std::uint64_t* counts,
                      const order_action* decision, const key_spread& spread, std::uint32_t* any_folded) {
  if (num_keys == 0) return;
  for (unsigned begin = 0; begin < num_digits;) {
    digit_group group;
    for (; begin < num_digits && group.count < max_digits_together; ++begin) {
      const auto num_buckets = static_cast<unsigned>(digits[begin].num_buckets());
      if (group.count != 0 && group.num_counters + num_buckets > max_counters_together) break;
      group.digit[group.count] = digits[begin];
      group.first_counter[group.count++] = group.num_counters;
      group.num_counters += num_buckets;
    }
    with_order<K>(codec, [&](const auto& plain) {
      with_spread<K>(plain, spread, [&](const auto& order) {
        run_histogram<K>(site, order, static_cast<const K*>(keys), num_keys, group, counts, decision, any_folded);
      });
    });
    counts += group.num_counters;
  }
}

template <class K>
void launch_fingerprint(const launch_site& site, const keys::codec_of<K>& codec, const void* keys,
                        std::uint64_t num_keys) {
  SPANSORT_CUDA(cudaMemsetAsync(site.memory.order, 0, 4, site.stream));
  if (num_keys < 2) return;
  with_order<K>(codec, [&](const auto& order) {
    const striding_policy policy = fingerprint_policy_of(site.family()).sizes;
    const unsigned blocks = policy.num_blocks(num_keys / fingerprint_block<K, identity_order<K>>::vector_keys + 1,
                                              site.num_multiprocessors);
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
  const striding_policy policy = interval_policy_of(site.family(), sizeof(K)).sizes;
  const unsigned blocks = policy.num_blocks(request.num_keys, site.num_multiprocessors);
  const auto launch = [&](const auto& order) {
    interval_kernel<K><<<blocks, policy.threads, 0, site.stream>>>(order, a);
  };
  // Callers do not ask for encodings that fold ties.
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
  partition_step step;
  step.source = request.source;
  step.num_keys = request.num_keys;
  step.digit = request.digit;
  step.targets = site.memory.targets;
  step.tile_counter = site.memory.tile_counters;
  launch_partition_step<K>(site, codec, request.shape.value_bytes, step);
}

template <class K>
void launch_partition_step(const launch_site& site, const keys::codec_of<K>& codec, unsigned value_bytes,
                           const partition_step& step) {
  with_value(value_bytes, [&]<class V>() {
    const auto run = [&](const auto& plain) {
      with_spread<K>(plain, step.spread,
                     [&](const auto& order) { run_partition_step<max_partition_bits, K, V>(site, order, step); });
    };
    if constexpr (value_bytes_of<V> == 4 || value_bytes_of<V> == 8) {
      if (step.begins_argsort) return run(argsort_order<K>(codec));
    }
    SPANSORT_ASSERT(!step.begins_argsort);
    if constexpr (value_bytes_of<V> == 0) {
      if (step.recoding == key_recoding::encodes) return run(encoding_order<K>(codec));
      if (step.recoding == key_recoding::decodes) return run(decoding_order<K>(codec));
    }
    SPANSORT_ASSERT(step.recoding == key_recoding::none);
    with_order<K>(codec, run, step.any_folded);
  });
}

template <class K>
std::uint64_t num_partition_tiles(const launch_site& site, unsigned value_bytes, std::uint64_t num_keys) {
  return with_value(value_bytes,
                    [&]<class V>() { return tile_sizes_at<max_partition_bits, K, V>(site).num_tiles(num_keys); });
}

template <class K>
void launch_bucket_targets(const launch_site& site, unsigned value_bytes,
                           const std::vector<keys::digit_position>& digits, records source, records alternate) {
  run_bucket_targets<max_partition_bits, K>(site, value_bytes, digits, source, alternate);
}

/// Returns what a look needs to turn keys, and sets the number of blocks to those that get a part; without keys where
/// they cannot be turned.
template <class K>
turning_arguments<K> make_turning(const launch_site& site, K* keys, std::uint64_t num_keys, unsigned& blocks) {
  using block = turning_block<K, identity_order<K>>;
  constexpr unsigned pair_keys = 2 * block::vector_keys;
  const bool is_of_pairs = reinterpret_cast<std::uintptr_t>(keys) % 16 == 0 && num_keys % pair_keys == 0;
  if (keys == nullptr || !is_of_pairs || num_keys < 2 * order_sample_keys) return {};
  const std::uint64_t num_pairs = num_keys / pair_keys;
  const std::uint64_t num_tiles = base::ceil_div(num_pairs, std::uint64_t{block::tile_vectors});
  const std::uint64_t part_pairs = base::ceil_div(num_tiles, std::uint64_t{blocks}) * block::tile_vectors;
  blocks = static_cast<unsigned>(base::ceil_div(num_pairs, part_pairs));
  SPANSORT_ASSERT(blocks * sizeof(turned_edges<K>) <= kernel_workspace::counts_bytes);
  return {keys, site.memory.is_hinted, part_pairs, reinterpret_cast<turned_edges<K>*>(site.memory.counts)};
}

template <class K>
void launch_look(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                 const look_manner& manner) {
  const auto* const looked_at = static_cast<const K*>(keys);
  const kernel_workspace& memory = site.memory;
  with_order<K>(codec, [&]<class Order>(const Order& order) {
    const striding_policy policy = fingerprint_policy_of(site.family()).sizes;
    unsigned blocks = policy.num_blocks(num_keys / fingerprint_block<K, identity_order<K>>::vector_keys + 1,
                                        site.num_multiprocessors);
    const bool may_turn = Order::holds_encoded && manner.may_reverse && manner.turned_keys != nullptr;
    const turning_arguments<K> turning =
        make_turning<K>(site, may_turn ? static_cast<K*>(manner.turned_keys) : nullptr, num_keys, blocks);
    begin_look_kernel<K><<<1, order_sample_keys, 0, site.stream>>>(order, looked_at, num_keys, turning.keys != nullptr,
                                                                   memory.order, memory.is_hinted);
    check_done(cudaGetLastError(), "begin_look_kernel");
    turning_look_kernel<K>
        <<<blocks, policy.threads, 0, site.stream>>>(order, looked_at, num_keys, memory.order, turning);
    check_done(cudaGetLastError(), "turning_look_kernel");
    decide_kernel<K><<<1, order_sample_keys, 0, site.stream>>>(memory.order, manner.may_reverse, manner.equal_may_turn,
                                                               turning, blocks, memory.decision);
    check_done(cudaGetLastError(), "decide_kernel");
  });
}

template <class K>
void launch_copy(const launch_site& site, unsigned value_bytes, order_condition when, records to, records from,
                 std::uint64_t count) {
  const striding_policy policy = rearrange_policy_of(site.family()).sizes;
  const unsigned blocks = policy.num_blocks(count, site.num_multiprocessors);
  const auto copy = [&]<class T>(void* destination, const void* source) {
    copy_kernel<<<blocks, policy.threads, 0, site.stream>>>(when, static_cast<T*>(destination),
                                                            static_cast<const T*>(source), count);
  };
  copy.template operator()<K>(to.keys, from.keys);
  with_value(value_bytes, [&]<class V>() {
    if constexpr (value_bytes_of<V> != 0) copy.template operator()<V>(to.values, from.values);
  });
  check_done(cudaGetLastError(), "copy_kernel");
}

template <class K>
void launch_reverse(const launch_site& site, unsigned value_bytes, order_condition when, records to, records from,
                    std::uint64_t count) {
  const striding_policy policy = rearrange_policy_of(site.family()).sizes;
  const unsigned blocks = policy.num_blocks(count, site.num_multiprocessors);
  const auto reverse = [&]<class T>(void* destination, void* source) {
    reverse_kernel<<<blocks, policy.threads, 0, site.stream>>>(when, static_cast<T*>(destination),
                                                               static_cast<T*>(source), count);
  };
  reverse.template operator()<K>(to.keys, from.keys);
  with_value(value_bytes, [&]<class V>() {
    if constexpr (value_bytes_of<V> != 0) reverse.template operator()<V>(to.values, from.values);
  });
  check_done(cudaGetLastError(), "reverse_kernel");
}

template <class K>
void launch_swap_mirrored(const launch_site& site, const swap_mirrored_request& request) {
  const striding_policy policy = rearrange_policy_of(site.family()).sizes;
  const unsigned blocks = policy.num_blocks(request.num_records, site.num_multiprocessors);
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

/// Every instantiation unit has this once.
#define SPANSORT_INSTANTIATE_CUDA_LAUNCHERS(K)                                                                     \
  template void launch_histogram<K>(const launch_site&, const keys::codec_of<K>&, const void*, std::uint64_t,      \
                                    const keys::digit_position*, unsigned, std::uint64_t*, const order_action*,    \
                                    const key_spread&, std::uint32_t*);                                            \
  template void launch_fingerprint<K>(const launch_site&, const keys::codec_of<K>&, const void*, std::uint64_t);   \
  template void launch_look<K>(const launch_site&, const keys::codec_of<K>&, const void*, std::uint64_t,           \
                               const look_manner&);                                                                \
  template void launch_count_intervals<K>(const launch_site&, const keys::codec_of<K>&, const interval_request&,   \
                                          std::uint64_t*);                                                         \
  template void launch_partition<K>(const launch_site&, const keys::codec_of<K>&, const partition_request&);       \
  template void launch_partition_step<K>(const launch_site&, const keys::codec_of<K>&, unsigned,                   \
                                         const partition_step&);                                                   \
  template std::uint64_t num_partition_tiles<K>(const launch_site&, unsigned, std::uint64_t);                      \
  template void launch_bucket_targets<K>(const launch_site&, unsigned, const std::vector<keys::digit_position>&,   \
                                         records, records);                                                        \
  template void launch_copy<K>(const launch_site&, unsigned, order_condition, records, records, std::uint64_t);    \
  template void launch_reverse<K>(const launch_site&, unsigned, order_condition, records, records, std::uint64_t); \
  template void launch_swap_mirrored<K>(const launch_site&, const swap_mirrored_request&)

}  // namespace spansort::device::cuda
