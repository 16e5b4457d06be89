// SPDX-License-Identifier: Apache-2.0
// The sort of so few keys that one network in registers takes them, in place and without scratch, behind a pointer that
// the shortest way of a sort looks up.
#pragma once

#include <cstdint>

namespace spansort::device::host {

struct network_sort {
  std::uint64_t most_keys = 0;  ///< 0 where this machine's vectors are too narrow
  /// `codec` is a keys::codec_of<K>, and keys are at least one.
  void (*sort)(const void* codec, void* keys, std::uint64_t num_keys) = nullptr;
};

/// Returns the one of keys of this width whose codec is, or is not, the identity. K is an unsigned integer.
template <class K>
[[nodiscard]] network_sort find_network_sort(bool is_identity);

}  // namespace spansort::device::host
