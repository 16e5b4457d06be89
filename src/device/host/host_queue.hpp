// SPDX-License-Identifier: Apache-2.0
// A host device's queue: one thread that runs requests in order, each on all the device's workers.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "device/exchange_work.hpp"
#include "device/host/primitives.hpp"
#include "device/in_order_worker.hpp"
#include "device/outbox.hpp"

namespace spansort::device::host {

class host_event final : public event {
 public:
  [[nodiscard]] bool is_complete() const override;

  void begin();                                         ///< recorded: incomplete from now on
  void complete(std::exception_ptr failure);            ///< everything before it has run, or was skipped for `failure`
  [[nodiscard]] std::exception_ptr wait_for_failure();  ///< blocks; null when all went well

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool complete_ = true;
  std::exception_ptr failure_;
};

class host_queue final : public queue, public holding_queue, public outbox_carrier {
 public:
  /// `team` outlives the queue. With `on_calling_thread` there is no thread, and every call returns when its work is
  /// done.
  host_queue(workers& team, const sort_limits& limits, bool on_calling_thread);

  void copy(void* destination, const void* source, std::uint64_t size_bytes, std::string_view label) override;
  void copy_pieces(std::vector<copy_piece> pieces, unsigned alignment_bytes, std::string_view label) override;
  void histogram(const histogram_request& request) override;
  void count_intervals(const interval_request& request) override;
  void sum_blocks(const sum_request& request) override;
  void partition(const partition_request& request) override;
  void local_sort(const local_sort_request& request) override;
  void swap_mirrored(const swap_mirrored_request& request) override;
  void write_positions(const positions_request& request) override;
  void merge(const merge_request& request) override;
  void prepare_to_pack(unsigned threads) override { unpacking_threads_ = threads; }
  /// Keys are packed and unpacked by the queue's thread: a stand-in for devices that have a link.
  void carry_next(outbox& from, const keys::key_codec& codec, copy_form form) override;
  void wait_for_stream(void*) override {}
  void wait_for_host(std::function<void()> wait) override { push_unless_failed(std::move(wait)); }
  void tell_host(std::function<void()> tell) override { push_unless_failed(std::move(tell)); }
  void record(event& e) override;
  void wait(event& e) override;
  void synchronize() override;
  void set_monitor(monitor* m) override {
    watch_ = m;
    team_.heed(m == nullptr ? nullptr : &m->abandon_requested);
  }
  [[nodiscard]] std::vector<work_interval> take_intervals() override;
  [[nodiscard]] bool hold() noexcept override { return worker_.hold(); }
  void release() noexcept override { worker_.release(); }
  void discard() noexcept override { worker_.discard(); }

 private:
  void push(std::function<void()> work);
  void push_unless_failed(std::function<void()> work);
  /// Queues `body`, timed; it returns the bytes it moved.
  void push_timed(std::string_view label, std::uint64_t num_keys, std::function<std::uint64_t(const execution&)> body);
  /// Runs `body` now, in its turn, and takes its time.
  template <class Body>
  void run_timed(std::string_view label, std::uint64_t num_keys, monitor* watch, const Body& body);

  workers& team_;
  sort_limits limits_;
  monitor* watch_ = nullptr;
  unsigned unpacking_threads_ = 0;

  // Touched by whoever runs work: the worker, or the caller once that has nothing to do.
  std::exception_ptr failure_;
  std::vector<work_interval> intervals_;
  in_order_worker worker_;
};

}  // namespace spansort::device::host
