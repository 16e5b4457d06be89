// SPDX-License-Identifier: Apache-2.0
// Threads that help with work of a fraction of a millisecond. They look out for the next work for some microseconds and
// then sleep until they are woken. Whoever gives work never waits for a thread that has not begun. oneTBB's workers
// mostly did not come at all to tasks of a thread that was busy itself (2021.8, two threads).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace spansort::device::host {

/// Threads stay until the process ends. One thread at a time gives them work.
class parked_threads {
 public:
  /// The work of the threads; `number` counts them from 1 on.
  struct work {
    void (*run)(void* argument, unsigned number) = nullptr;
    void* argument = nullptr;
  };

  static constexpr unsigned most = 31;

  parked_threads() = default;
  parked_threads(const parked_threads&) = delete;
  parked_threads& operator=(const parked_threads&) = delete;

  /// Starts threads until there are `count`, or as many as the system allows; there are never more than `most`.
  void start(unsigned count) noexcept;
  /// Lets the first `count` of them begin. Others sleep on, so that a caller pays for no more than it has work for, and
  /// the same few have their caches and their scratch warm.
  void open(work given, unsigned count = most);
  /// Lets none of them begin any more, and returns when all that have begun are done.
  void close() noexcept;

 private:
  /// The most threads that are kept away from the processor of whoever gives work; of more some come in any case.
  static constexpr unsigned most_kept_away = 3;

  /// The turn to which a thread has been called; it sleeps on this. To call one that is awake takes no system call.
  struct alignas(64) called {
    std::atomic<std::uint32_t> turn = 0;
    std::atomic<bool> is_asleep = false;
  };

  void stay(unsigned number);
  static void wait_for_other_than(called& own, std::uint32_t seen);
  void keep_away_from_caller() noexcept;

  unsigned num_threads_ = 0;
  std::array<std::atomic<int>, most_kept_away> thread_ids_ = {};  ///< the system's; 0 until a thread has begun
  int kept_away_from_ = -1;                                       ///< the processor on which none of them may run
  int process_ = 0;                                               ///< whose threads these are
  work work_;                                                     ///< written while closed and nobody is inside
  std::array<called, most> called_;
  std::atomic<unsigned> num_inside_ = 0;
  std::atomic<std::uint32_t> turn_ = 0;  ///< counts openings and closings: odd while open
};

}  // namespace spansort::device::host
