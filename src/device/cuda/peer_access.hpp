// SPDX-License-Identifier: Apache-2.0
// Probes find out which GPUs really reach each other's memory. That the driver says so is not believed: there are
// machines on which every call succeeds and the data is wrong. Each ordered pair is tried out once a process.
#pragma once

#include <string>

namespace spansort::device::cuda {

struct peer_link {
  bool works = false;
  std::string why_not = {};    ///< "" when it works
  double gigabytes_per_s = 0;  ///< of copies by `from` into the memory of `to`, one direction
};

/// Returns whether kernels and copies of GPU `from` read and write memory of GPU `to` rightly: by kernel and by copy
/// engine, in 4 KiB, 1 MiB and 64 MiB, each checked by the memory's own GPU. Enables peer access where it works. Throws
/// device_error when a GPU fails as such. A GPU reaches itself.
/// Under faults that corrupt probes a bit is flipped on the way.
[[nodiscard]] peer_link probe_peer(int from, int to);

}  // namespace spansort::device::cuda
