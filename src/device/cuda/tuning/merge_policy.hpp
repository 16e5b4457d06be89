// SPDX-License-Identifier: Apache-2.0
// These are the sizes of the merge kernel by the bytes of key and value.
#pragma once

#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"

namespace spansort::device::cuda {

struct merge_policy {
  unsigned threads = 0;  ///< of a block
  unsigned items = 0;    ///< records that a thread merges; odd, so that neighbouring threads use different banks

  friend constexpr bool operator==(const merge_policy&, const merge_policy&) = default;
};

/// A thread holds its keys and where they came from in registers, so wide keys get fewer items. With values a tile is
/// shorter, for its values are fetched record by record from the two runs, and the fewer they are the more of them the
/// first cache keeps.
[[nodiscard]] constexpr tuned<merge_policy> merge_policy_of(kernel_family, unsigned key_bytes,
                                                            unsigned value_bytes) noexcept {
  if (key_bytes == 8) return {{256, value_bytes == 0 ? 15U : 11U}, "computed, not measured"};
  return {{256, value_bytes == 0 ? 19U : 15U}, "computed, not measured"};
}

/// The search for the cuts of tiles: a thread a cut.
inline constexpr unsigned merge_cuts_threads = 128;

}  // namespace spansort::device::cuda
