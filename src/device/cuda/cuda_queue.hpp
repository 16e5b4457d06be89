// SPDX-License-Identifier: Apache-2.0
// A GPU's queue: a stream, the memory that its kernels share from request to request, and a thread that feeds the stream,
// so that copies of ordinary host memory to several GPUs run side by side and the caller waits for none.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "device/cuda/handles.hpp"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/pinned_ring.hpp"
#include "device/device.hpp"
#include "device/in_order_worker.hpp"
#include "device/rank_sampler.hpp"

namespace spansort::device::cuda {

class cuda_event final : public event {
 public:
  explicit cuda_event(int ordinal);
  [[nodiscard]] bool is_complete() const override;

  void begin();                                            ///< to be recorded by a queue's thread
  void recorded(std::exception_ptr failure);               ///< on the stream, or skipped for `failure`
  [[nodiscard]] std::exception_ptr wait_until_recorded();  ///< blocks; null when all went well
  [[nodiscard]] cudaEvent_t handle() const noexcept { return handle_.get(); }

 private:
  event_handle handle_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_recorded_ = true;
  std::exception_ptr failure_;
};

class cuda_queue final : public queue, public rank_sampler {
 public:
  /// `scratch` outlives the queue and holds kernel_workspace::size_bytes before work is queued, with `prefers_cub`
  /// cub_scratch_bytes more. Queues of one device share it: only one of them may be given anything but copies.
  cuda_queue(int ordinal, const buffer& scratch, bool prefers_cub);
  ~cuda_queue() override;

  void copy(void* destination, const void* source, std::uint64_t size_bytes, std::string_view label) override;
  void copy_pieces(std::vector<copy_piece> pieces, unsigned alignment_bytes, std::string_view label) override;
  void histogram(const histogram_request& request) override;
  void count_intervals(const interval_request& request) override;
  void bracket_ranks(const bracket_request& request) override;
  void sum_blocks(const sum_request& request) override;
  void partition(const partition_request& request) override;
  void local_sort(const local_sort_request& request) override;
  void swap_mirrored(const swap_mirrored_request& request) override;
  void wait_for_stream(void* stream) override;
  void record(event& e) override;
  void wait(event& e) override;
  void synchronize() override;
  void set_monitor(monitor* m) override;
  [[nodiscard]] std::vector<work_interval> take_intervals() override;

 private:
  /// Work between two events of the stream.
  struct timed_work {
    std::string_view label;
    event_handle begin = {};
    event_handle end = {};
    std::uint64_t bytes_moved = 0;
    std::uint64_t num_keys = 0;
  };
  /// Host memory that results pass through on their way to the caller; free again when the stream is empty. Pinned;
  /// ordinary where there is none to be had, and the stream's copies then block the queue's thread.
  struct landing {
    pinned_memory pinned;
    std::unique_ptr<std::byte[]> ordinary = {};
    std::uint64_t size_bytes = 0;
    bool is_used = false;
    [[nodiscard]] void* memory() const noexcept { return pinned != nullptr ? pinned.get() : ordinary.get(); }
  };

  /// Runs `body` on the queue's thread, with its GPU current; skipped after a failure.
  void push(std::function<void()> body);
  /// The same, between two events; `body` puts work on the stream and returns the bytes that it moves.
  void push_timed(std::string_view label, std::uint64_t num_keys, std::function<std::uint64_t()> body);

  // On the queue's thread.

  void copy_now(void* destination, const void* source, std::uint64_t size_bytes);
  template <class K>
  void bracket_now(const bracket_request& request);
  std::uint64_t local_sort_now(const local_sort_request& request);
  [[nodiscard]] bool sorts_by_cub(const record_shape& shape) const;
  /// The side streams start after what is now on the stream, and it goes on after them.
  void fork();
  void join();
  /// Runs `delivery` on a thread of the runtime when the stream gets there.
  void deliver(std::function<void()> delivery);
  /// Device memory to pinned memory, then `receive` with it.
  void bring_home(const void* source, std::uint64_t size_bytes, std::function<void(const void*)> receive);
  [[nodiscard]] void* take_landing(std::uint64_t size_bytes);
  [[nodiscard]] event_handle take_event();

  int ordinal_;
  bool prefers_cub_;
  monitor* watch_ = nullptr;
  stream_handle stream_;
  const buffer& scratch_;
  launch_site site_;
  /// Segments of one request take turns on side streams: the kernels of one fill the multiprocessors that another's last
  /// blocks leave idle. Each has its part of the scratch.
  struct lane {
    stream_handle stream;
    event_handle done;
  };
  std::array<lane, num_lanes> lanes_;
  event_handle forked_;
  pinned_ring ring_;
  // Touched by the queue's thread, or by the caller once that has nothing to do.
  std::exception_ptr failure_;
  std::vector<event_handle> spare_events_;
  std::vector<timed_work> timed_;
  std::vector<landing> landings_;
  std::deque<std::function<void()>> deliveries_;  ///< run by the stream; addresses stay
  in_order_worker worker_;
};

}  // namespace spansort::device::cuda
