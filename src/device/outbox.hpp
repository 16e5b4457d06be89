// SPDX-License-Identifier: Apache-2.0
// Sorted keys that several queues of a device carry to the host: each takes the next of them when it has the time.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "device/device.hpp"

namespace spansort::device {

/// Neighbouring keys on their way out of a device's memory.
struct outgoing_keys {
  event* sorted = nullptr;  ///< they are in order once it has completed; it has been recorded
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  void* destination = nullptr;  ///< host memory
};

/// Keys that nobody has begun to carry, first in, first out. Safe to use by several threads.
class outbox {
 public:
  void add(const outgoing_keys& keys) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(keys);
  }
  [[nodiscard]] std::optional<outgoing_keys> take() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    const outgoing_keys next = waiting_.front();
    waiting_.pop_front();
    return next;
  }
  [[nodiscard]] bool is_empty() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<outgoing_keys> waiting_;
};

/// The form in which keys cross the link to the host.
enum class copy_form : std::uint8_t {
  as_they_are,
  packed  ///< as packed_keys.hpp says; threads of the host unpack them
};

/// A queue that can take part in an outbox. Its requests are in order with its others.
class outbox_carrier {
 public:
  virtual ~outbox_carrier() = default;

  /// Takes what packed keys need on their way, so that the first of them do not wait for it. Up to `threads` threads of
  /// the host unpack them, counted as sort_options::threads.
  virtual void prepare_to_pack(unsigned threads) = 0;
  /// Carries the next keys of `from`, if there are any when the queue gets there, once it has hardly anything else
  /// under way. `codec` is bijective, of 4 or 8 bytes. The outbox outlives the request. Packed keys have arrived when a
  /// request for packed keys has found the outbox empty behind it, so that one has to follow each outbox::add().
  virtual void carry_next(outbox& from, const keys::key_codec& codec, copy_form form) = 0;
};

}  // namespace spansort::device
