// SPDX-License-Identifier: Apache-2.0
// Copies of sorted keys to host memory, packed on their way: a kernel packs them into a ring of pinned buffers, and
// threads of the host unpack one buffer while the next ones are filled.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/handles.hpp"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/copy_policies.hpp"
#include "device/packed_keys.hpp"

namespace spansort::device::cuda {

class packed_ring {
 public:
  /// Returns whether there are buffers; takes them at the first call. A refusal stands until ask_again().
  [[nodiscard]] bool is_ready();
  /// Takes the buffers as is_ready() does; from now on up to so many threads unpack, counted as sort_options::threads.
  bool prepare(unsigned threads);
  /// Packs the keys into buffers, and unpacks the oldest of these where no other is free, into host memory of any kind.
  /// All keys have arrived when finish() has returned. Used by one thread at a time.
  void copy_out(const launch_site& site, const keys::key_codec& codec, void* to_host, const void* from_device,
                std::uint64_t num_keys);
  /// Blocks until all keys have arrived.
  void finish();
  /// Gives up what has not arrived, after a failure. The stream is empty.
  void forget() noexcept { num_filled_ = 0; }
  /// Lets the next is_ready() ask again for buffers that were refused.
  void ask_again() noexcept { is_refused_ = false; }

 private:
  static constexpr packed_ring_policy policy = packed_ring_tuning.sizes;

  struct slot {
    packed_memory memory;
    event_handle filled;
    keys::key_codec codec;
    std::uint64_t num_keys = 0;
    void* to_host = nullptr;
  };
  /// Unpacks the buffer that was first filled, once it is.
  void empty_oldest();

  pinned_memory memory_;  ///< all buffers, one after the other
  std::array<slot, policy.num_buffers> slots_;
  std::uint64_t next_ = 0;   ///< counted over all parts so far
  unsigned num_filled_ = 0;  ///< slots before next_ that are filled, or being so
  unsigned threads_ = 0;
  bool is_refused_ = false;
};

}  // namespace spansort::device::cuda
