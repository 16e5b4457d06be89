// SPDX-License-Identifier: Apache-2.0
// The threads of one host device: a oneTBB arena bound to the device's NUMA node, or helpers that stay ready, and a
// scratch for each of them.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/shares.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/scratch.hpp"
#include "device/host/stop_requested.hpp"
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
  /// Returns with how many threads it was made.
  [[nodiscard]] unsigned most_threads() const noexcept { return static_cast<unsigned>(scratch_.size()); }
  /// Lets the first 1 to most_threads() of its threads work from now on. Only a team that took helpers can do so: an
  /// arena keeps all its slots.
  void use_threads(unsigned num_threads);

  /// Allocates the scratch of every slot, before any work that uses it. Throws std::bad_alloc.
  void prepare_scratch() { prepare_scratch(num_threads_); }
  /// Does so for the first 1 to num_threads() slots, and starts their helpers where these are taken.
  void prepare_scratch(unsigned num_slots);
  void release_scratch() noexcept;
  /// Returns num_threads() * size_bytes that are kept until more is wanted or the scratch is released. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::byte* spare_blocks(std::uint64_t size_bytes);
  /// Returns how many bytes of scratch are held, or will be once all its threads have been prepared.
  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept {
    return most_threads() * worker_scratch::size_bytes + spare_bytes_.load();
  }

  /// Has tasks left undone from now on where `stop` is set: for_each() throws stop_requested then. Null: never.
  void heed(const std::atomic<bool>* stop) noexcept { stop_.store(stop, std::memory_order_relaxed); }

  /// Throws stop_requested as heed() says. Tasks that are long call it between pieces of their work.
  void stop_if_asked() const {
    const std::atomic<bool>* const stop = stop_.load(std::memory_order_relaxed);
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw stop_requested{};
  }

  /// Calls task(i, scratch, thread), or task(i, scratch) or task(i) where that is what it takes, for i in
  /// [0, num_tasks), in any order, on all threads, 0 <= thread < num_threads(); returns when all are done. Tasks that
  /// take no scratch need none to be prepared; but of helpers only those work whose scratch is. Throws what a task
  /// throws and stop_requested as heed() says: what threads have no memory to share, the calling thread does alone.
  template <class Task>
  void for_each(std::uint64_t num_tasks, const Task& task) {
    if (num_tasks == 0) return;
    if (num_tasks == 1 || num_threads_ == 1 || (helpers_ != nullptr && num_ready_ < 2)) {
      return run_here(num_tasks, task);
    }
    shared_tasks<Task> shared(*this, num_tasks, task, helpers_ == nullptr ? num_threads_ : 1);
    if (helpers_ != nullptr) {
      const std::uint64_t num_takers = std::min<std::uint64_t>({num_ready_, num_threads_, num_tasks});
      helpers_->open({shared_tasks<Task>::help, &shared}, static_cast<unsigned>(num_takers - 1));
      shared.take(0);
      helpers_->close();
    } else {
      take_in_arena(shared);
    }
    if (shared.failure != nullptr) std::rethrow_exception(shared.failure);
  }

 private:
  class pin_to_node;

  template <class Task>
  void run_here(std::uint64_t num_tasks, const Task& task) {
    for (std::uint64_t i = 0; i < num_tasks; ++i) {
      stop_if_asked();
      run_task(task, i, 0);
    }
  }

  /// Tasks that the caller and other threads take one after the other: each from a share of neighbouring ones that is
  /// its own, as long as that lasts, and then from the others'.
  template <class Task>
  struct shared_tasks {
    static constexpr std::uint64_t most_shares = 64;
    struct alignas(64) share {
      std::atomic<std::uint64_t> next = 0;
      std::uint64_t end = 0;
    };

    shared_tasks(workers& of_team, std::uint64_t all_tasks, const Task& each, std::uint64_t wanted_shares)
        : team(of_team),
          num_tasks(all_tasks),
          task(each),
          num_shares(std::min({wanted_shares, all_tasks, most_shares})) {
      for (std::uint64_t s = 0; s < num_shares; ++s) {
        shares[s].next = base::share_begin(num_tasks, num_shares, s);
        shares[s].end = base::share_begin(num_tasks, num_shares, s + 1);
      }
    }

    workers& team;
    std::uint64_t num_tasks;
    const Task& task;
    std::uint64_t num_shares;
    std::array<share, most_shares> shares;
    std::exception_ptr failure = nullptr;
    std::atomic<bool> has_failed = false;

    static void help(void* tasks, unsigned thread) { static_cast<shared_tasks*>(tasks)->take(thread); }
    void take(unsigned thread) noexcept {
      try {
        for (std::uint64_t s = 0; s < num_shares; ++s) {
          share& own = shares[(thread + s) % num_shares];
          for (std::uint64_t i = own.next++; i < own.end && !has_failed; i = own.next++) {
            team.stop_if_asked();
            team.run_task(task, i, thread);
          }
        }
      } catch (...) {
        if (!has_failed.exchange(true)) failure = std::current_exception();
      }
    }
  };

  template <class Task>
  void take_in_arena(shared_tasks<Task>& shared) {
    try {
      arena_.execute([&] {
        // A group of its own: when the caller's tasks are cancelled, this work must not be left half done.
        tbb::task_group_context own(tbb::task_group_context::isolated);
        const auto num_takers = static_cast<unsigned>(std::min<std::uint64_t>(num_threads_, shared.num_tasks));
        tbb::parallel_for(
            0U, num_takers,
            [&](unsigned) { shared.take(static_cast<unsigned>(tbb::this_task_arena::current_thread_index())); },
            tbb::simple_partitioner(), own);
      });
    } catch (...) {
      // Tasks throw nothing here: oneTBB had no memory, or no thread.
    }
    shared.take(0);
  }

  template <class Task>
  void run_task(const Task& task, std::uint64_t i, std::size_t thread) {
    if constexpr (std::is_invocable_v<const Task&, std::uint64_t>) {
      task(i);
    } else if constexpr (std::is_invocable_v<const Task&, std::uint64_t, worker_scratch&, std::size_t>) {
      task(i, *scratch_[thread], thread);
    } else {
      task(i, *scratch_[thread]);
    }
  }

  unsigned num_threads_;
  tbb::task_arena arena_;
  std::unique_ptr<pin_to_node> pin_;
  parked_threads* helpers_ = nullptr;
  unsigned num_ready_ = 0;  ///< slots that have scratch
  std::atomic<const std::atomic<bool>*> stop_{nullptr};
  std::vector<std::unique_ptr<worker_scratch>> scratch_;
  aligned_array<std::byte> spare_blocks_;      ///< null until wanted
  std::atomic<std::uint64_t> spare_bytes_{0};  ///< of all threads
};

}  // namespace spansort::device::host
