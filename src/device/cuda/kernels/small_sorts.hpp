// SPDX-License-Identifier: Apache-2.0
// The sorts of few records as the host enqueues them: in one block, and in one launch of blocks that meet. Instantiated
// per key width in small_sorts_u8.cu ... small_sorts_u64.cu.
#pragma once

#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Records of one array are sorted into one of two arrays. Both sorts look for order themselves and write the
/// order_seen bits to the workspace's `order`.
struct small_sort_request {
  record_shape shape;
  records sides[2];  ///< the input is in the first
  std::uint32_t num_keys = 0;
  keys::bit_range bits;  ///< all keys agree above them
  unsigned result_side = 0;
  /// This is what it is in segment_sort.
  const void* argsort_keys = nullptr;
};

/// Puts a sort of up to most_block_sort_keys records on the site's stream. The second array is clobbered only where the
/// result is asked for there.
template <class K>
void launch_block_sort(const launch_site& site, const small_sort_request& request);

/// Puts a sort by blocks that meet on the site's stream, whose device must have room for all of them at once. Returns
/// whether it has; else nothing has been launched. Both arrays are clobbered.
template <class K>
[[nodiscard]] bool launch_grid_sort(const launch_site& site, const small_sort_request& request);

}  // namespace spansort::device::cuda
