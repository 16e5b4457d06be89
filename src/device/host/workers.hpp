// SPDX-License-Identifier: Apache-2.0
// The threads of one host device: a oneTBB arena bound to the device's NUMA node, or helpers that stay ready, and a
// scratch for each of them.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/host/parked_threads.hpp"
#include "device/host/scratch.hpp"
#include "device/host/topology.hpp"

namespace spansort::device::host {

class workers {
 public:
  /// `numa_node` -1: anywhere.
  workers(unsigned num_threads, int numa_node);
  /// Takes helpers, which have to outlive it and serve nobody else meanwhile, instead of an arena's threads. They stand
  /// ready between tasks that follow one another closely, where oneTBB's workers mostly come too late.
  workers(unsigned num_threads, parked_threads& helpers);
  ~workers();
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  [[nodiscard]] unsigned num_threads() const noexcept { return num_threads_; }

  /// Allocates the scratch of every slot, before any work that uses it. Throws std::bad_alloc.
  void prepare_scratch();
  void release_scratch() noexcept;
  /// Returns num_threads() * spare_block_bytes that are kept until the scratch is released. Throws std::bad_alloc.
  [[nodiscard]] std::byte* spare_blocks();
  /// Bytes of scratch that are held, or will be once prepared.
  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept {
    return num_threads_ * (worker_scratch::size_bytes + (has_spare_blocks_.load() ? spare_block_bytes : 0));
  }

  /// Calls task(i, scratch), or task(i) where that is what it takes, for i in [0, num_tasks), in any order, on all
  /// threads; returns when all are done. Tasks that take no scratch need none to be prepared.
  template <class Task>
  void for_each(std::uint64_t num_tasks, const Task& task) {
    if (num_tasks == 0) return;
    if (num_tasks == 1 || num_threads_ == 1) return run_here(num_tasks, task);
    if (helpers_ != nullptr) return share_out(num_tasks, task);
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::uint64_t>(0, num_tasks, 1),
          [&](const tbb::blocked_range<std::uint64_t>& range) {
            const auto thread = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
            for (std::uint64_t i = range.begin(); i != range.end(); ++i) run_task(task, i, thread);
          },
          tbb::simple_partitioner());
    });
  }

 private:
  class pin_to_node;

  template <class Task>
  void run_here(std::uint64_t num_tasks, const Task& task) {
    for (std::uint64_t i = 0; i < num_tasks; ++i) run_task(task, i, 0);
  }

  /// Tasks that the caller and its helpers take one after the other.
  template <class Task>
  struct shared_tasks {
    workers& team;
    std::uint64_t num_tasks;
    const Task& task;
    std::atomic<std::uint64_t> next = 0;
    std::exception_ptr failure = nullptr;
    std::atomic<bool> has_failed = false;

    static void help(void* tasks, unsigned thread) {
      auto& self = *static_cast<shared_tasks*>(tasks);
      if (thread < self.team.num_threads_) self.take(thread);
    }
    void take(unsigned thread) noexcept {
      try {
        for (std::uint64_t i = next++; i < num_tasks; i = next++) team.run_task(task, i, thread);
      } catch (...) {
        if (!has_failed.exchange(true)) failure = std::current_exception();
        next = num_tasks;
      }
    }
  };

  template <class Task>
  void share_out(std::uint64_t num_tasks, const Task& task) {
    shared_tasks<Task> shared{*this, num_tasks, task};
    helpers_->open({shared_tasks<Task>::help, &shared});
    shared.take(0);
    helpers_->close();
    if (shared.failure != nullptr) std::rethrow_exception(shared.failure);
  }

  template <class Task>
  void run_task(const Task& task, std::uint64_t i, std::size_t thread) {
    if constexpr (std::is_invocable_v<const Task&, std::uint64_t>) {
      task(i);
    } else {
      task(i, *scratch_[thread]);
    }
  }

  unsigned num_threads_;
  tbb::task_arena arena_;
  std::unique_ptr<pin_to_node> pin_;
  parked_threads* helpers_ = nullptr;
  std::vector<std::unique_ptr<worker_scratch>> scratch_;
  aligned_array<std::byte> spare_blocks_;  ///< null until wanted
  std::atomic<bool> has_spare_blocks_{false};
};

}  // namespace spansort::device::host
