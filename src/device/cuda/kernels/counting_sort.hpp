// SPDX-License-Identifier: Apache-2.0
// The counting sort of keys of one and two bytes, as the host enqueues it.
#pragma once

#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Keys without values, whose encoding loses nothing. `to` may be `keys`.
template <class K>
struct counting_request {
  const K* keys = nullptr;
  K* to = nullptr;
  std::uint32_t num_keys = 0;
  const order_action* decision = nullptr;  ///< null, or nothing is done unless it is order_action::passes
  std::uint32_t* counts = nullptr;         ///< device memory: one for each value of a key
};

/// Puts the sort on the site's stream.
template <class K>
void launch_counting_sort(const launch_site& site, const keys::codec_of<K>& codec, const counting_request<K>& request);

}  // namespace spansort::device::cuda
