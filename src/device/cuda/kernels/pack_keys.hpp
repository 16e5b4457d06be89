// SPDX-License-Identifier: Apache-2.0
// The kernel that packs sorted keys.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/packed_keys.hpp"

namespace spansort::device::cuda {

/// Packs sorted keys of 4 or 8 bytes on the site's stream, as pack_keys() does. `to` is pinned memory of the host, so
/// that the kernel's stores cross the link, or device memory.
template <class K>
void launch_pack_keys(const launch_site& site, const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                      const packed_memory& to);

}  // namespace spansort::device::cuda
