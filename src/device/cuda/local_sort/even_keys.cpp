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
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        pinned_memory taken = std::move(idle_.back());
        idle_.pop_back();
        return taken;
      }
    }
    return try_allocate_pinned_memory(sizeof(evenness_mailbox));
  }
  void give_back(pinned_memory mailbox) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(mailbox));
  }

 private:
  std::mutex mutex_;
  std::vector<pinned_memory> idle_;
};

mailbox_pool& mailboxes() {
  static auto* const pool = new mailbox_pool;  // outlives the runtime, which frees what it pinned
  return *pool;
}

/// Waits until the GPU has filled a mailbox, which the host sees sooner than the end of the stream's work.
key_evenness wait_for(const evenness_mailbox* mailbox, cudaStream_t stream) {
  constexpr unsigned looks_a_query = 256;
  const auto& is_full = *const_cast<const volatile unsigned*>(&mailbox->is_full);
  for (unsigned looks = 1; is_full == 0; ++looks) {
    if (looks % looks_a_query != 0) continue;
    // A stream that has failed fills no mailbox.
    cudaError_t state = cudaErrorNotReady;
    SPANSORT_CUDA((state = cudaStreamQuery(stream)) == cudaErrorNotReady ? cudaSuccess : state);
    if (state == cudaSuccess) break;
    std::this_thread::yield();
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  SPANSORT_ASSERT(is_full != 0);
  return mailbox->seen;
}

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
  pinned_memory taken = mailboxes().take();
  if (taken == nullptr) return segment_way::passes;
  auto* const mailbox = new (taken.get()) evenness_mailbox;
  launch_evenness(site, segment.shape.codec.of<std::uint64_t>(), segment.given_keys(), segment.count, segment.decision,
                  evenness_memory::in(segment.bucket_memory), mailbox);
  const key_evenness seen = wait_for(mailbox, site.stream);
  mailboxes().give_back(std::move(taken));
  if (seen.decision != order_action::passes) return segment_way::order;
  return are_even(segment.count, seen.same_bucket, seen.same_bin) ? segment_way::buckets : segment_way::passes;
}

}  // namespace spansort::device::cuda
