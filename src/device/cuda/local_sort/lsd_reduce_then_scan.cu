// SPDX-License-Identifier: Apache-2.0
// LSD radix sort in the way that Onesweep replaced (Adinets and Merrill, 2022, section 2 and figure 3). A pass over one
// digit is three kernels: the upsweep counts the digit in each block's part of the input, a scan of the table of
// counts, CUB's, says where each part's records of each bucket go, and the downsweep moves them there. That is 3n of
// memory traffic a pass: two reads and a write. Digits are 8 bits wide unless others are asked for, of up to 9 bits, as
// in onesweep_sort.cpp. The paper leaves open how a block ranks its records; here each warp counts by matching digits,
// as Onesweep does.
#include <algorithm>
#include <utility>
#include <vector>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/reduce_then_scan.cuh"
#include "device/cuda/kernels/table_scan.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/lsd_digits.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

constexpr std::uint64_t most_entries = std::uint64_t{max_partition_buckets} * most_reduce_then_scan_parts;

/// Bits: of the widest digit that the kernels are compiled for.
template <unsigned Bits, class K, class V, class Order>
void sort_by_digit(const launch_site& site, const Order& order, const segment_sort& segment, records from, records to,
                   keys::digit_position digit, std::uint64_t* table) {
  const reduce_then_scan_policy policy =
      reduce_then_scan_policy_of(site.family(), sizeof(K), value_bytes_of<V>, Bits).sizes;
  sweep_arguments<K, V> a;
  a.from = typed<K, V>(from);
  a.to = typed<K, V>(to);
  a.num_keys = segment.count;
  a.num_tiles = base::ceil_div(segment.count, std::uint64_t{policy.tile_keys()});
  a.shift = digit.shift;
  a.mask = static_cast<unsigned>(digit.num_buckets() - 1);
  a.table = table;
  const unsigned most_parts =
      std::min(site.num_multiprocessors * policy.blocks_each, static_cast<unsigned>(most_entries >> Bits));
  const auto num_parts = static_cast<unsigned>(std::min<std::uint64_t>(a.num_tiles, most_parts));
  upsweep_kernel<K, V, Order, Bits><<<num_parts, policy.threads, 0, site.stream>>>(order, a);
  check_done(cudaGetLastError(), "upsweep_kernel");
  launch_table_scan(site.stream, table, digit.num_buckets() * num_parts, table + most_entries);
  downsweep_kernel<K, V, Order, Bits><<<num_parts, policy.threads, 0, site.stream>>>(order, a);
  check_done(cudaGetLastError(), "downsweep_kernel");
}

std::vector<keys::digit_position> digits_of(const segment_sort& segment) {
  if (segment.digit_bits > max_partition_bits) return full_lsd_digits(segment.bits, segment.digit_bits);
  return lsd_digits(segment.bits, segment.digit_bits == 0 ? max_partition_bits : segment.digit_bits);
}

template <class K>
records sort_by_digits(const launch_site& site, const segment_sort& segment, std::uint64_t* table) {
  records from = segment.source;
  records to = segment.alternate;
  for (const keys::digit_position digit : digits_of(segment)) {
    with_value(segment.shape.value_bytes, [&]<class V>() {
      with_plain_order<K>(segment.shape.codec.template of<K>(), [&]<class Order>(const Order& order) {
        if (digit.bits > max_partition_bits) {
          sort_by_digit<max_published_bits, K, V, Order>(site, order, segment, from, to, digit, table);
        } else {
          sort_by_digit<max_partition_bits, K, V, Order>(site, order, segment, from, to, digit, table);
        }
      });
    });
    std::swap(from, to);
  }
  return from;
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

std::uint64_t scratch_bytes_for(const record_shape&, std::uint64_t) {
  return most_entries * sizeof(std::uint64_t) + table_scan_bytes(most_entries);
}

records enqueue(const launch_site& site, const segment_sort& segment, void* scratch) {
  return keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() {
    return sort_by_digits<K>(site, segment, static_cast<std::uint64_t*>(scratch));
  });
}

sort_cost cost(const segment_sort& segment) {
  const std::uint64_t num_passes = digits_of(segment).size();
  const std::uint64_t bytes_a_pass = segment.shape.codec.width_bytes() + std::uint64_t{2} * segment.shape.bytes();
  return {static_cast<unsigned>(num_passes), num_passes * segment.count * bytes_a_pass};
}

}  // namespace

extern const local_sort_algorithm lsd_reduce_then_scan;
constexpr local_sort_algorithm lsd_reduce_then_scan{.name = "lsd_reduce_then_scan",
                                                    .label = "local sort by lsd_reduce_then_scan",
                                                    .scratch_bytes_for = scratch_bytes_for,
                                                    .most_digit_bits = max_published_bits,
                                                    .can_sort = can_sort,
                                                    .enqueue = enqueue,
                                                    .cost = cost};

}  // namespace spansort::device::cuda
