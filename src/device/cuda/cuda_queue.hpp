// SPDX-License-Identifier: Apache-2.0
// A GPU's queue: a stream, the memory that its kernels share from request to request, and a thread that feeds the
// stream, so that copies of ordinary host memory to several GPUs run side by side and the caller waits for none.
//
// That thread may have begun to overwrite the caller's arrays when the process's memory ends. What it does for the
// requests of a sort is done whole all the same: it takes memory before anything else, or does without.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_event.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/local_sort/local_sorter.hpp"
#include "device/cuda/packed_ring.hpp"
#include "device/cuda/pinned_ring.hpp"
#include "device/device.hpp"
#include "device/exchange_work.hpp"
#include "device/in_order_worker.hpp"
#include "device/outbox.hpp"
#include "device/rank_sampler.hpp"

namespace spansort::device::cuda {

class copy_batch;

/// What a queue is for: any work, or copies that run beside the work of another queue.
enum class queue_use : std::uint8_t { work, exchange };

class cuda_queue final : public queue,
                         public rank_sampler,
                         public loose_partitioner,
                         public outbox_carrier,
                         public holding_queue {
 public:
  /// `scratch` outlives the queue. Before work is queued it holds kernel_workspace::size_bytes and, behind them, what
  /// local_sort_scratch_bytes(local_sort) says. Queues of one device share it, so only one of them may be given
  /// anything but copies. `local_sort` names the preferred algorithm, or is "".
  cuda_queue(int ordinal, const buffer& scratch, std::string local_sort, queue_use use = queue_use::work);
  ~cuda_queue() override;

  void copy(void* destination, const void* source, std::uint64_t size_bytes, std::string_view label) override;
  void copy_pieces(std::vector<copy_piece> pieces, unsigned alignment_bytes, std::string_view label) override;
  void histogram(const histogram_request& request) override;
  void count_intervals(const interval_request& request) override;
  void bracket_ranks(const bracket_request& request) override;
  void sum_blocks(const sum_request& request) override;
  void partition(const partition_request& request) override;
  void partition_in_any_order(const partition_request& request) override;
  void local_sort(const local_sort_request& request) override;
  void swap_mirrored(const swap_mirrored_request& request) override;
  void write_positions(const positions_request& request) override;
  void merge(const merge_request& request) override;
  void prepare_to_pack(unsigned threads) override;
  void carry_next(outbox& from, const keys::key_codec& codec, copy_form form) override;
  void wait_for_stream(void* stream) override;
  void wait_for_host(std::function<void()> wait) override;
  void tell_host(std::function<void()> tell) override;
  void record(event& e) override;
  void wait(event& e) override;
  void synchronize() override;
  void set_monitor(monitor* m) override;
  [[nodiscard]] std::vector<work_interval> take_intervals() override;
  [[nodiscard]] bool hold() noexcept override { return worker_.hold(); }
  void release() noexcept override { worker_.release(); }
  void discard() noexcept override { worker_.discard(); }

 private:
  /// The guard keeps the GPU current while members are made.
  cuda_queue(const device_guard&, int ordinal, const buffer& scratch, std::string local_sort, queue_use use);

  /// The stream calls this when it gets there: what has been received is taken first.
  struct delivery {
    std::vector<std::function<void()>> received;
    std::function<void()> tell;
  };
  /// Work between two events of the stream.
  struct timed_work {
    std::string_view label;
    event_handle begin = {};
    event_handle end = {};
    std::uint64_t bytes_moved = 0;
    std::uint64_t num_keys = 0;
  };
  /// A staging buffer: host memory that results pass through on their way to the caller. It is free again when the
  /// stream is empty. It is pinned; where no pinned memory can be had it is ordinary, and the stream's copies then
  /// block the queue's thread.
  struct staging {
    pinned_memory pinned;
    std::unique_ptr<std::byte[]> ordinary = {};
    std::uint64_t size_bytes = 0;
    bool is_used = false;
    [[nodiscard]] void* memory() const noexcept { return pinned != nullptr ? pinned.get() : ordinary.get(); }
  };

  /// Runs `body`, which does not throw, on the queue's thread, under the faults that are in force on this one.
  void push_always(std::function<void()> body);
  /// Runs `body` on the queue's thread, with its GPU current. After a failure it is skipped.
  void push(std::function<void()> body);
  /// Runs `body` likewise, between two events. `body` puts work on the stream, behind all that the queue was given, and
  /// returns the bytes that it moves.
  void push_timed(std::string_view label, std::uint64_t num_keys, std::function<std::uint64_t()> body);

  // The queue's thread alone calls what follows.

  /// Returns a stream that is behind all work of the queue.
  [[nodiscard]] cudaStream_t end_of_work() { return sorter_.end_of_work(stream_.get()); }
  /// Runs `body` between two events, and tells of its keys; where there is no memory to remember these, without. A body
  /// that is too large for a function's own memory is passed by std::cref().
  void run_timed(std::string_view label, std::uint64_t num_keys, monitor* watch,
                 const std::function<std::uint64_t()>& body);
  /// Leaves the two batches to copy engines, of which two work at a time.
  void enqueue_side_by_side(const std::array<copy_batch, 2>& batches);
  void copy_by_kernel(const std::vector<copy_piece>& pieces, unsigned alignment_bytes);
  void copy_now(void* destination, const void* source, std::uint64_t size_bytes);
  /// Copies little device memory to ordinary host memory without a wait. Returns false where there is no memory for it.
  [[nodiscard]] bool try_copy_by_staging(void* destination, const void* source, std::uint64_t size_bytes);
  /// Puts the stream's later work behind `e`, once another queue's thread has recorded it.
  void wait_now(cuda_event& e);
  void carry_as_it_is(outbox& from, const keys::key_codec& codec, monitor* watch);
  void carry_packed(outbox& from, const keys::key_codec& codec, monitor* watch);
  /// Returns false, with nothing done, where there is no memory for the list of targets.
  template <class K>
  [[nodiscard]] bool partition_in_any_order_now(const keys::codec_of<K>& codec, const partition_request& request);
  template <class K>
  void bracket_now(const bracket_request& request);
  std::uint64_t local_sort_now(const local_sort_request& request);
  static void CUDART_CB run_delivery(void* one);
  /// Runs what has been received, then `tell`, on a thread of the runtime when the stream gets there. Throws
  /// std::bad_alloc with nothing lost.
  void deliver(std::function<void()> tell);
  /// Copies device memory to a staging buffer. `receive` is called with that in synchronize(), or before the next
  /// delivery: a function of the host holds the stream up for as long as a small sort takes.
  void copy_to_host(const void* source, std::uint64_t size_bytes, std::function<void(const void*)> receive);
  [[nodiscard]] void* take_staging(std::uint64_t size_bytes);
  [[nodiscard]] event_handle take_event();

  int ordinal_;
  queue_use use_;
  monitor* watch_ = nullptr;
  stream_handle stream_;
  stream_handle second_stream_;  ///< of exchanges: two copy engines work at a time
  event_handle forked_;
  event_handle callers_work_;  ///< what a stream of the caller's had to do when wait_for_stream() was called
  const buffer& scratch_;
  launch_site site_;
  local_sorter sorter_;
  pinned_ring ring_;
  packed_ring packed_ring_;
  /// These events end the last two copies of an outbox's keys. More copies at a time would leave none to other queues.
  std::array<event_handle, 2> carried_;
  // The queue's thread works on these, or the caller once that thread has nothing to do.
  std::exception_ptr failure_;
  std::vector<event_handle> spare_events_;
  std::vector<timed_work> timed_;
  std::vector<staging> stagings_;
  std::deque<delivery> deliveries_;              ///< the stream runs them, so their addresses must stay
  std::vector<std::function<void()>> received_;  ///< in synchronize(), or with the next delivery
  in_order_worker worker_;
};

}  // namespace spansort::device::cuda
