// SPDX-License-Identifier: Apache-2.0
// The memory of a sort that threads share, and who sorts: the calling thread and helpers that stay ready.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/math.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/scratch.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

/// More threads would wait for the splits.
inline constexpr unsigned most_shared_threads = 8;

class shared_space {
 public:
  /// A part of about so many bytes is sorted by one thread, whose scratch has slots for it. Where an array of this size
  /// does not hold the slots, the part is sorted without them.
  static constexpr std::uint64_t part_bytes = std::uint64_t{1} << 18;
  static constexpr std::uint64_t line_bytes = 64;

  /// A space without helpers has one thread.
  explicit shared_space(parked_threads* helpers = nullptr) : helpers_(helpers) {}

  [[nodiscard]] static constexpr std::uint64_t size_bytes(unsigned num_threads) { return num_threads * thread_bytes; }
  [[nodiscard]] unsigned num_threads() const noexcept { return num_threads_; }

  /// Allocates what is not there yet, before any key is changed. Throws std::bad_alloc.
  void prepare(unsigned num_threads) {
    const std::uint64_t wanted = size_bytes(num_threads);
    if (wanted > size_bytes_) {
      memory_.reset();
      size_bytes_ = 0;
      memory_ = make_aligned<std::byte>(wanted);
      size_bytes_ = wanted;
    }
    num_threads_ = num_threads;
    if (helpers_ != nullptr) helpers_->start(num_threads - 1);
  }

  void release() noexcept {
    memory_.reset();
    size_bytes_ = 0;
  }

  template <class K>
  [[nodiscard]] vector_sort_scratch<K> scratch_of(unsigned thread) const {
    std::byte* const data = memory_.get() + thread * thread_bytes;
    constexpr std::uint64_t room = part_bytes / sizeof(K);
    return {.first = reinterpret_cast<K*>(data),
            .second = reinterpret_cast<K*>(data + part_bytes + line_bytes),
            .num_keys = room,
            .num_second_keys = vector_sort_spread * room,
            .cursors = reinterpret_cast<std::uint32_t*>(data + (1 + vector_sort_spread) * part_bytes + 2 * line_bytes),
            .num_cursors = num_cursors};
  }

  /// Calls work(thread) on the calling thread, which is the first, and on those others that come before it returns.
  template <class Work>
  void run(const Work& work) const {
    if (num_threads_ == 1) return work(0U);
    const job given{work};
    helpers_->open({job<Work>::run, const_cast<job<Work>*>(&given)}, num_threads_ - 1);
    work(0U);
    helpers_->close();
  }

 private:
  static constexpr std::uint64_t num_cursors = part_bytes / line_bytes;
  static constexpr std::uint64_t thread_bytes = base::round_up(
      (1 + vector_sort_spread) * part_bytes + num_cursors * sizeof(std::uint32_t) + 4 * line_bytes, line_bytes);

  template <class Work>
  struct job {
    const Work& work;

    static void run(void* given, unsigned thread) { static_cast<const job*>(given)->work(thread); }
  };
  template <class Work>
  job(const Work&) -> job<Work>;

  parked_threads* helpers_;
  aligned_array<std::byte> memory_;
  std::uint64_t size_bytes_ = 0;
  unsigned num_threads_ = 1;
};

}  // namespace spansort::device::host
