// SPDX-License-Identifier: Apache-2.0
// Copies between ordinary host memory and a GPU. The driver's own path for pageable memory reaches an eighth of the
// link; here several threads copy through a ring of pinned buffers, and the link takes one while the next is filled.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/handles.hpp"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {

class pinned_ring {
 public:
  /// Buffers are allocated when a copy needs them; where that is refused, copies take the driver's own path. Used by
  /// one thread at a time.
  void copy_in(cudaStream_t stream, void* to_device, const void* from_host, std::uint64_t size_bytes);
  /// Blocks until the bytes have arrived.
  void copy_out(cudaStream_t stream, void* to_host, const void* from_device, std::uint64_t size_bytes);

  /// Has buffers that were refused asked for again. Copies do not do so by themselves, for a refusal may take long.
  void ask_again() noexcept { is_refused_ = false; }

 private:
  static constexpr pinned_ring_policy policy = pinned_ring_tuning.sizes;

  struct slot {
    char* memory = nullptr;
    cudaEvent_t done = nullptr;  ///< the stream has read or written it
  };
  /// Returns whether there are buffers. They grow with the copies; where larger ones are refused, the small ones stay.
  [[nodiscard]] bool prepare(std::uint64_t size_bytes);
  [[nodiscard]] slot slot_of(std::uint64_t part) const;

  pinned_memory memory_;  ///< all buffers, one after the other
  std::uint64_t buffer_bytes_ = 0;
  std::array<event_handle, policy.num_buffers> done_;
  std::uint64_t next_part_ = 0;  ///< counted over all copies so far
  bool is_refused_ = false;
};

/// Returns whether `memory` is host memory that the driver does not know: neither pinned nor managed.
[[nodiscard]] bool is_pageable(const void* memory);

}  // namespace spansort::device::cuda
