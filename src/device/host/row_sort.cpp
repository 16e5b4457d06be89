// SPDX-License-Identifier: Apache-2.0
#include "device/host/row_sort.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

#include "base/assert.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/record_dispatch.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

/// Handed to a thread at a time: enough that taking it costs nothing beside sorting it.
constexpr std::uint64_t grain_keys = std::uint64_t{1} << 14;

template <class K, class V, class Order>
void sort_each(const row_request& request, const keys::codec_of<K>& codec) {
  const split_records<K, V> all{static_cast<K*>(request.keys), reinterpret_cast<V*>(request.places)};
  const Order order(codec);
  tbb::enumerable_thread_specific<worker_scratch> scratches;
  const std::uint64_t grain_rows =
      std::max<std::uint64_t>(grain_keys / std::max<std::uint64_t>(request.row_keys, 1), 1);
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      tbb::blocked_range<std::uint64_t>(0, request.num_rows, grain_rows),
      [&](const tbb::blocked_range<std::uint64_t>& rows) {
        in_cache_sorter<K, V, Order> sorter(order, codec, scratches.local(), false);
        for (std::uint64_t row = rows.begin(); row != rows.end(); ++row) {
          const auto at = all + row * request.row_keys;
          sorter.sort(at, at, request.row_keys, {0, sizeof(K) * 8});
        }
      },
      own);
}

}  // namespace

std::uint64_t most_row_keys(unsigned key_bytes, bool has_places) noexcept {
  return max_local_bytes / (key_bytes + (has_places ? sizeof(std::uint32_t) : 0) + sizeof(std::uint64_t));
}

void sort_rows(const row_request& request) {
  SPANSORT_ASSERT(request.row_keys <= most_row_keys(request.codec.width_bytes(), request.places != nullptr));
  keys::with_width(request.codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> codec = request.codec.of<K>();
    if (request.places != nullptr) {
      if constexpr (sizeof(K) > 1) {
        if (codec.folds_ties) return sort_each<K, value4, folding_order<K>>(request, codec);
      }
      return sort_each<K, value4, bijective_order<K>>(request, codec);
    }
    SPANSORT_ASSERT(!codec.folds_ties);
    if (codec.is_identity()) return sort_each<K, no_value, identity_order<K>>(request, codec);
    return sort_each<K, no_value, bijective_order<K>>(request, codec);
  });
}

}  // namespace spansort::device::host
