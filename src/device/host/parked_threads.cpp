// SPDX-License-Identifier: Apache-2.0
#include "device/host/parked_threads.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace spansort::device::host {

void parked_threads::start(unsigned count) noexcept {
  if (process_ != ::getpid()) {
    process_ = ::getpid();
    // A fork has left other threads to its parent, those inside of work too.
    for (std::atomic<int>& id : thread_ids_) id.store(0);
    num_inside_.store(0);
    num_threads_ = 0;
    kept_away_from_ = -1;
  }
  try {
    for (; num_threads_ < std::min(count, most); ++num_threads_) {
      // They are never joined: a process may end, or be the child of a fork that took no threads along.
      std::thread([this, number = num_threads_ + 1] { stay(number); }).detach();
    }
  } catch (const std::exception&) {
    // No thread, or no memory for one: work gets done by fewer.
  }
}

void parked_threads::open(work given, unsigned count) {
  work_ = given;
  keep_away_from_caller();
  const std::uint32_t turn = (turn_.load() + 1) | 1U;
  turn_.store(turn);
  const unsigned num_called = std::min(count, num_threads_);
  for (unsigned i = 0; i < num_called; ++i) called_[i].turn.store(turn);
  for (unsigned i = 0; i < num_called; ++i) {
    // Either this sees that the thread is about to sleep, or that one sees its turn.
    if (called_[i].is_asleep.load()) called_[i].turn.notify_one();
  }
}

/// A virtual machine's processors look busy to Linux while they are halted, so that it wakes a thread on the processor
/// of the one who wakes it, where it waits for that one's time slice to end: on two processors helpers came after
/// 2.6 ms where both had slept for 5 ms, and after 60 us since they may not run there.
void parked_threads::keep_away_from_caller() noexcept {
  const int processor = ::sched_getcpu();
  if (num_threads_ > most_kept_away || processor < 0 || processor == kept_away_from_) return;
  ::cpu_set_t allowed;
  if (::getpid() != process_ || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_CLR(processor, &allowed);
  if (CPU_COUNT(&allowed) == 0) return;
  bool all_have_begun = true;
  for (unsigned i = 0; i < num_threads_; ++i) {
    const int id = thread_ids_[i].load();
    if (id == 0) {
      all_have_begun = false;
    } else {
      static_cast<void>(::sched_setaffinity(id, sizeof allowed, &allowed));
    }
  }
  kept_away_from_ = all_have_begun ? processor : -1;
}

void parked_threads::close() noexcept {
  turn_.store((turn_.load() | 1U) + 1);
  while (num_inside_.load() != 0) std::this_thread::yield();
}

void parked_threads::stay(unsigned number) {
  if (number <= most_kept_away) thread_ids_[number - 1].store(::gettid());
  called& own = called_[number - 1];
  for (std::uint32_t seen = 0;;) {
    wait_for_other_than(own, seen);
    seen = own.turn.load();
    // Either close() sees this thread inside, or this thread sees that it is too late. It begins a turn once, for it
    // waits for another one then.
    num_inside_.fetch_add(1);
    if (turn_.load() == seen) work_.run(work_.argument, number);
    num_inside_.fetch_sub(1);
  }
}

void parked_threads::wait_for_other_than(called& own, std::uint32_t seen) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds looks_out{50};  // about what it takes to wake a thread that sleeps
  const clock::time_point begin = clock::now();
  while (own.turn.load() == seen) {
    if (clock::now() - begin > looks_out) {
      own.is_asleep.store(true);
      own.turn.wait(seen);
      own.is_asleep.store(false);
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace spansort::device::host
