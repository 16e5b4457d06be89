// SPDX-License-Identifier: Apache-2.0
// The way of a rank's sorted keys from the device's memory to the caller's, by two of its queues at once. One copies
// keys as they are. The other has them packed, so that the link carries a fraction of their bytes, and unpacked by
// threads of the host, which have little to do meanwhile. Whoever has the time takes the next keys: the link and the
// threads are both busy, however fast they are. Where values travel along, they keep the first queue and the link busy,
// and all keys are packed.
#pragma once

#include "algorithms/run_context.hpp"
#include "device/outbox.hpp"

namespace spansort::algorithms {

class way_out {
 public:
  /// `of` has a queue for copies out (run_context::open_copies_out()), and goes_packed() is true. It outlives the way,
  /// and the way what its queues have to do.
  way_out(rank& of, const device::record_shape& shape, const sort_settings& options);
  way_out(const way_out&) = delete;
  way_out& operator=(const way_out&) = delete;

  /// Queues what carries the keys, behind those before them.
  void carry(const device::outgoing_keys& keys);

 private:
  device::record_shape shape_;
  device::outbox waiting_;
  device::outbox_carrier& as_they_are_;
  device::outbox_carrier& packed_;
};

/// Returns whether sorted keys leave the ranks' devices packed in part: where their differences are small, the
/// devices are few, and enough threads are there to unpack them. Their values do not.
[[nodiscard]] bool goes_packed(const std::vector<rank>& ranks, const problem& sort, const sort_settings& options);

}  // namespace spansort::algorithms
