// SPDX-License-Identifier: Apache-2.0
// The radix sort of Satish, Harris and Garland (2009, section III), digits of 4 bits from the lowest up. A pass:
//   1. Each block sorts a tile of 1,024 records by its digit, through four stable 1-bit splits in shared memory.
//   2. It writes the sorted tile, and the counts of its 16 buckets into a table in column-major order.
//   3. A scan of the table says where each tile's records of each bucket go.
//   4. Each block copies its tile's runs there.
// That is two reads and two writes of each record a pass. The tiles go to the alternate and the runs come back, so a
// pass ends where it began. What the splits move is the digit with the record's place in the tile; the record follows
// once. Steps 1 and 2 are one kernel, and the scan is CUB's.
#include <utility>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/satish_radix.cuh"
#include "device/cuda/kernels/table_scan.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/lsd_digits.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

std::uint64_t num_entries_for(std::uint64_t num_keys) {
  return satish::radix_buckets * satish::num_radix_tiles(num_keys);
}

template <class K, class V, class Order>
void sort_by_digit(const launch_site& site, const Order& order, const segment_sort& segment, keys::digit_position digit,
                   std::uint64_t* table) {
  satish_radix_arguments<K, V> a;
  a.from = typed<K, V>(segment.source);
  a.to = typed<K, V>(segment.alternate);
  a.num_keys = segment.count;
  a.num_tiles = satish::num_radix_tiles(segment.count);
  a.shift = digit.shift;
  a.bits = digit.bits;
  a.table = table;
  const auto num_blocks = static_cast<unsigned>(a.num_tiles);
  satish_sort_tiles_kernel<K, V, Order><<<num_blocks, satish_threads, 0, site.stream>>>(order, a);
  check_done(cudaGetLastError(), "satish_sort_tiles_kernel");
  const std::uint64_t num_entries = num_entries_for(segment.count);
  launch_table_scan(site.stream, table, num_entries, table + num_entries);
  std::swap(a.from, a.to);
  satish_scatter_kernel<K, V, Order><<<num_blocks, satish_threads, 0, site.stream>>>(order, a);
  check_done(cudaGetLastError(), "satish_scatter_kernel");
}

template <class K>
void sort_by_digits(const launch_site& site, const segment_sort& segment, std::uint64_t* table) {
  for (const keys::digit_position digit : lsd_digits(segment.bits, satish::radix_digit_bits)) {
    with_value(segment.shape.value_bytes, [&]<class V>() {
      with_plain_order<K>(segment.shape.codec.template of<K>(), [&]<class Order>(const Order& order) {
        sort_by_digit<K, V, Order>(site, order, segment, digit, table);
      });
    });
  }
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

std::uint64_t scratch_bytes_for(const record_shape&, std::uint64_t num_keys) {
  const std::uint64_t num_entries = num_entries_for(num_keys);
  return num_entries * sizeof(std::uint64_t) + table_scan_bytes(num_entries);
}

records enqueue(const launch_site& site, const segment_sort& segment, void* scratch) {
  keys::with_width(segment.shape.codec.width_bytes(),
                   [&]<class K>() { sort_by_digits<K>(site, segment, static_cast<std::uint64_t*>(scratch)); });
  return segment.source;
}

sort_cost cost(const segment_sort& segment) {
  const unsigned num_passes = base::ceil_div(segment.bits.size(), satish::radix_digit_bits);
  return {num_passes, std::uint64_t{4} * num_passes * segment.count * segment.shape.bytes()};
}

}  // namespace

extern const local_sort_algorithm satish_radix;
constexpr local_sort_algorithm satish_radix{.name = "satish_radix",
                                            .label = "local sort by satish_radix",
                                            .scratch_bytes_for = scratch_bytes_for,
                                            .can_sort = can_sort,
                                            .enqueue = enqueue,
                                            .cost = cost};

}  // namespace spansort::device::cuda
