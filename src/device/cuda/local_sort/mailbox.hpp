// SPDX-License-Identifier: Apache-2.0
// Mailboxes are pinned memory of the host into which a kernel writes what it has seen of the keys, so that the thread
// that feeds the stream learns it sooner than by a copy and a wait for the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"

namespace spansort::device::cuda {

inline constexpr std::size_t most_mailbox_bytes = 256;

/// Returns one of the process's mailboxes, which stay, for pinning takes longer than a sort that is looked at; null
/// where none can be had.
[[nodiscard]] pinned_memory take_mailbox() noexcept;
void give_back_mailbox(pinned_memory mailbox) noexcept;

/// A mailbox for one look that a stream makes, empty at first. What kernels write there they write once.
template <class Mailbox>
class mailbox_lease {
 public:
  static_assert(sizeof(Mailbox) <= most_mailbox_bytes && std::is_trivially_destructible_v<Mailbox>);

  explicit mailbox_lease(cudaStream_t stream) : stream_(stream), memory_(take_mailbox()) {
    if (memory_ != nullptr) mailbox_ = new (memory_.get()) Mailbox{};
  }
  mailbox_lease(const mailbox_lease&) = delete;
  mailbox_lease& operator=(const mailbox_lease&) = delete;
  ~mailbox_lease() {
    if (mailbox_ == nullptr) return;
    // A kernel that nobody has waited for may write yet.
    if (!is_done_) forget_failure(cudaStreamSynchronize(stream_));
    give_back_mailbox(std::move(memory_));
  }

  /// Returns null where no pinned memory can be had.
  [[nodiscard]] Mailbox* get() const noexcept { return mailbox_; }

  /// Waits until the GPU has filled a word, which is not `empty` then, and returns it. `is_last` says that all words
  /// that the GPU writes have been waited for.
  template <class Word>
  [[nodiscard]] Word wait(const Word& word, Word empty, bool is_last) {
    const auto look = [&] { return *const_cast<const volatile Word*>(&word); };
    constexpr unsigned looks_a_query = 256;
    // How often the stream is asked is chance, and counts as one call to the runtime.
    run_checked([] { return cudaSuccess; }, "cudaStreamQuery");
    for (unsigned looks = 1; look() == empty; ++looks) {
      if (looks % looks_a_query != 0) continue;
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) break;
      // A stream that has failed fills no mailbox.
      if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
      forget_failure(state);
      std::this_thread::yield();
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    is_done_ = is_last;
    SPANSORT_ASSERT(look() != empty);
    return look();
  }

 private:
  cudaStream_t stream_;
  pinned_memory memory_;
  Mailbox* mailbox_ = nullptr;
  bool is_done_ = false;
};

}  // namespace spansort::device::cuda
