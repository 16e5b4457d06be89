// SPDX-License-Identifier: Apache-2.0
// is_sorted(): one parallel read. Order here is order in value, -0.0 equal to +0.0 and NaN to NaN, so that the output
// of sort_pairs passes as well as that of sort.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>

#include "device/host/vector_kernels.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "keys/known_type.hpp"
#include "spansort/sort.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t grain_keys = std::uint64_t{1} << 14;
using blocks = tbb::blocked_range<std::uint64_t>;

}  // namespace

bool detail::is_sorted(const_key_span keys, direction d) {
  if (keys.num_keys < 2) return true;
  keys::require_known(keys.type);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* data = static_cast<const K*>(keys.data);
    std::atomic<bool> disorder{false};
    const auto look = [&](const blocks& block) {
      for (std::uint64_t begin = block.begin(); begin < block.end(); begin += grain_keys) {
        if (disorder.load(std::memory_order_relaxed)) return;
        const std::uint64_t left = begin == 0 ? 0 : begin - 1;
        const std::uint64_t end = std::min(begin + grain_keys, block.end());
        if (!device::host::scan_order(codec.of<K>(), data + left, end - left).ascending) {
          disorder.store(true, std::memory_order_relaxed);
        }
      }
    };
    if (keys.num_keys <= grain_keys) {
      look(blocks(0, keys.num_keys));
    } else {
      tbb::task_group_context own(tbb::task_group_context::isolated);
      tbb::parallel_for(blocks(0, keys.num_keys, grain_keys), look, own);
    }
    return !disorder.load();
  });
}

}  // namespace spansort
