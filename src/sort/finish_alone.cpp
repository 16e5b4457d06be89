// SPDX-License-Identifier: Apache-2.0
#include "sort/finish_alone.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "device/host/merge_alone.hpp"
#include "device/host/record_dispatch.hpp"
#include "keys/dispatch.hpp"
#include "sort/finish_shards.hpp"

namespace spansort::sorting {
namespace {

using device::host::split_records;
using device::host::value_bytes_of;

template <class K, class V>
void copy(split_records<K, V> from, split_records<K, V> to, std::uint64_t count) noexcept {
  if (from.keys == to.keys || count == 0) return;
  std::memcpy(to.keys, from.keys, count * sizeof(K));
  if constexpr (value_bytes_of<V> != 0) std::memcpy(static_cast<void*>(to.values), from.values, count * sizeof(V));
}

/// Merges `num_left` sorted records with the `num_right` behind them, which `buffer` has room for. Stable.
template <class K, class V, class Order>
void merge_neighbours(const Order& order, split_records<K, V> left, std::uint64_t num_left, std::uint64_t num_right,
                      split_records<K, V> buffer) noexcept {
  copy(left + num_left, buffer, num_right);
  for (std::uint64_t to = num_left + num_right; num_right != 0;) {
    const bool takes_left =
        num_left != 0 && order.encode(left.keys[num_left - 1]) > order.encode(buffer.keys[num_right - 1]);
    --to;
    left.put(to, takes_left ? left.get(--num_left) : buffer.get(--num_right));
  }
}

template <class K, class V, class Order>
void sort_parts(const Order& order, split_records<K, V> whole, std::span<const algorithms::whole_part> parts) noexcept {
  std::uint64_t begin = 0;
  for (const algorithms::whole_part& part : parts) {
    copy(device::host::split<K, V>(part.data), whole + begin, part.count);
    begin += part.count;
  }
  begin = 0;
  for (const algorithms::whole_part& part : parts) {
    const split_records<K, V> own = whole + begin;
    const auto spare = device::host::split<K, V>(part.spare);
    device::host::merge_sort_alone(order, own, spare, own, part.count, 0);
    merge_neighbours(order, whole, begin, part.count, spare);
    begin += part.count;
  }
}

}  // namespace

bool finish_alone(algorithms::run_context& run, const algorithms::problem& problem) noexcept {
  if (run.parts().empty()) return false;
  if (problem.is_resident()) return finish_shards(run, problem);
  keys::with_width(problem.shape.codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> codec = problem.shape.codec.of<K>();
    device::host::with_value_and_order<K>(problem.shape, codec, [&]<class V, class Order>() {
      sort_parts(Order(codec), device::host::split<K, V>(problem.data()), run.parts());
    });
  });
  return true;
}

}  // namespace spansort::sorting
