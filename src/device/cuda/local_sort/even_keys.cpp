// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/even_keys.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels/evenness.hpp"
#include "device/cuda/kernels/msd_launch.hpp"

namespace spansort::device::cuda {
namespace {

[[nodiscard]] bool is_candidate(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  constexpr std::uint64_t least_sample = 64;
  if (way == never_by_buckets || shape.codec.width_bytes() != 8 || num_keys > most_msd_keys) return false;
  if (way == always_by_buckets || way == by_buckets_where_even) return num_keys >= least_sample;
  return way.empty() && shape.value_bytes <= most_bucket_value_bytes &&
         num_keys * shape.bytes() >= least_bucket_sort_bytes && num_keys <= most_bucket_sort_keys;
}

/// Mailboxes of the process. They stay, for pinning takes longer than a sort that is looked at.
class mailbox_pool {
 public:
  /// Returns null where no pinned memory can be had.
  [[nodiscard]] pinned_memory take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(num_made_ + 1);  // so that giving back cannot fail
      pinned_memory made = try_allocate_pinned_memory(sizeof(evenness_mailbox));
      if (made != nullptr) ++num_made_;
      return made;
    }
    pinned_memory taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }
  void give_back(pinned_memory mailbox) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(mailbox));
  }

 private:
  std::mutex mutex_;
  std::vector<pinned_memory> idle_;
  std::size_t num_made_ = 0;
};

mailbox_pool& mailboxes() {
  static auto* const pool = new mailbox_pool;  // outlives the runtime, which frees what it pinned
  return *pool;
}

/// Returns null where no memory can be had. The sort goes on without: its keys may have been turned already.
pinned_memory take_mailbox() {
  try {
    return mailboxes().take();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// A mailbox for one look that a stream makes.
class mailbox_lease {
 public:
  explicit mailbox_lease(cudaStream_t stream) : stream_(stream), memory_(take_mailbox()) {
    if (memory_ != nullptr) mailbox_ = new (memory_.get()) evenness_mailbox;
  }
  mailbox_lease(const mailbox_lease&) = delete;
  mailbox_lease& operator=(const mailbox_lease&) = delete;
  ~mailbox_lease() {
    if (mailbox_ == nullptr) return;
    // The kernel of a look that has failed may write yet.
    if (!is_full()) forget_failure(cudaStreamSynchronize(stream_));
    mailboxes().give_back(std::move(memory_));
  }

  /// Returns null where no pinned memory can be had.
  [[nodiscard]] evenness_mailbox* get() const noexcept { return mailbox_; }

  /// Waits until the GPU has filled the mailbox, which the host sees sooner than the end of the stream's work.
  [[nodiscard]] key_evenness wait() const {
    constexpr unsigned looks_a_query = 256;
    // How often the stream is asked is chance, and counts as one call to the runtime.
    run_checked([] { return cudaSuccess; }, "cudaStreamQuery");
    for (unsigned looks = 1; !is_full(); ++looks) {
      if (looks % looks_a_query != 0) continue;
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) break;
      // A stream that has failed fills no mailbox.
      if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
      forget_failure(state);
      std::this_thread::yield();
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    SPANSORT_ASSERT(is_full());
    return mailbox_->seen;
  }

 private:
  [[nodiscard]] bool is_full() const noexcept { return *const_cast<const volatile unsigned*>(&mailbox_->is_full) != 0; }

  cudaStream_t stream_;
  pinned_memory memory_;
  evenness_mailbox* mailbox_ = nullptr;
};

}  // namespace

std::uint64_t bucket_memory_bytes(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  if (!is_candidate(way, shape, num_keys)) return 0;
  return std::max(msd_memory_bytes(shape, num_keys), evenness_memory::size_bytes(even_keys_sizes_of(num_keys)));
}

segment_way way_of(const launch_site& site, const segment_sort& segment) {
  const bool is_whole = segment.bits.begin == 0 && segment.bits.end == 64;
  if (!is_whole || !has_msd_hybrid(site.family()) || !is_candidate(segment.bucket_way, segment.shape, segment.count)) {
    return segment_way::passes;
  }
  if (segment.bucket_way == always_by_buckets) return segment_way::buckets;
  const mailbox_lease mailbox(site.stream);
  if (mailbox.get() == nullptr) return segment_way::passes;
  launch_evenness(site, segment.shape.codec.of<std::uint64_t>(), segment.given_keys(), segment.count, segment.decision,
                  evenness_memory::in(segment.bucket_memory), mailbox.get());
  const key_evenness seen = mailbox.wait();
  if (seen.decision != order_action::passes) return segment_way::order;
  return are_even(segment.count, seen.same_bucket, seen.same_bin) ? segment_way::buckets : segment_way::passes;
}

}  // namespace spansort::device::cuda
