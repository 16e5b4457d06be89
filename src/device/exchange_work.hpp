// SPDX-License-Identifier: Apache-2.0
// This header says what devices and their queues may offer to sorts of several devices, besides device.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "device/device.hpp"

namespace spansort::device {

/// A device whose copies can run beside its work.
class exchanging_device {
 public:
  virtual ~exchanging_device() = default;

  /// Makes a queue for copies alone. They begin before what waits in the device's other queues, and leave most of the
  /// device to that.
  [[nodiscard]] virtual std::unique_ptr<queue> make_exchange_queue() = 0;
};

/// A queue whose partitions cost less where the order within a bucket does not matter.
class loose_partitioner {
 public:
  virtual ~loose_partitioner() = default;

  /// Partitions as queue::partition() does, but keys may come in any order within their bucket. Requests without
  /// values.
  virtual void partition_in_any_order(const partition_request& request) = 0;
};

/// A queue that can hold work back until all of it is queued: what overwrites arrays is queued whole or not at all.
class holding_queue {
 public:
  virtual ~holding_queue() = default;

  /// Nothing that is queued from now on begins. Returns false, and holds nothing back, where work begins at once.
  [[nodiscard]] virtual bool hold() noexcept = 0;
  /// Lets what has been held back begin.
  virtual void release() noexcept = 0;
  /// Forgets what has been held back; events among it count as never recorded.
  virtual void discard() noexcept = 0;
};

/// A device whose memory the calling thread can copy by itself.
class copying_device {
 public:
  virtual ~copying_device() = default;

  /// Copies between the device's memory and host memory, and returns when that is done, false where it failed. Takes no
  /// memory. The device's queues are empty.
  [[nodiscard]] virtual bool copy_at_once(void* to, const void* from, std::uint64_t size_bytes) noexcept = 0;
};

}  // namespace spansort::device
