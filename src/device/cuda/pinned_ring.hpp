// SPDX-License-Identifier: Apache-2.0
// Copies between ordinary host memory and a GPU. The driver's own path for pageable memory reaches an eighth of the link;
// here several threads copy through a ring of pinned buffers, and the link takes one while the next is filled.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/handles.hpp"

namespace spansort::device::cuda {

class pinned_ring {
 public:
  /// Buffers are allocated when a copy needs them; where that is refused, copies take the driver's own path. Used by one
  /// thread at a time.
  void copy_in(cudaStream_t stream, void* to_device, const void* from_host, std::uint64_t size_bytes);
  /// Blocks until the bytes have arrived.
  void copy_out(cudaStream_t stream, void* to_host, const void* from_device, std::uint64_t size_bytes);

  /// Refused buffers are asked for again: not with every copy, for a refusal may take long.
  void ask_again() noexcept { is_refused_ = false; }

 private:
  static constexpr unsigned num_buffers = 4;
  /// Of a buffer; small copies pin little. The larger: an H100's host reached 52 and 54 of the link's 55 GB/s with 8 or
  /// 16 MiB; with 1 MiB less, and with buffers that each thread fills for itself no more.
  static constexpr std::uint64_t least_buffer_bytes = std::uint64_t{64} << 10;
  static constexpr std::uint64_t most_buffer_bytes = std::uint64_t{8} << 20;

  struct slot {
    void* memory = nullptr;
    event_handle done;  ///< the stream has read or written it
  };
  /// Whether there are buffers. They grow with the copies; where larger ones are refused, small ones do.
  [[nodiscard]] bool prepare(std::uint64_t size_bytes);

  pinned_memory memory_;            ///< of all slots
  std::uint64_t buffer_bytes_ = 0;  ///< of a slot
  std::array<slot, num_buffers> slots_;
  bool is_refused_ = false;
};

/// Host memory that the driver does not know: neither pinned nor managed.
[[nodiscard]] bool is_pageable(const void* memory);

}  // namespace spansort::device::cuda
