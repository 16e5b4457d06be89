// SPDX-License-Identifier: Apache-2.0
#include "device/host/parked_threads.hpp"

#include <chrono>
#include <exception>
#include <thread>

namespace spansort::device::host {

void parked_threads::start(unsigned count) noexcept {
  try {
    for (; num_threads_ < count; ++num_threads_) {
      // They are never joined: a process may end, or be the child of a fork that took no threads along.
      std::thread([this, number = num_threads_ + 1] { stay(number); }).detach();
    }
  } catch (const std::exception&) {
    // No thread, or no memory for one: work gets done by fewer.
  }
}

void parked_threads::open(work given) {
  work_ = given;
  is_open_.store(true);
  num_works_.fetch_add(1);
  num_works_.notify_all();
}

void parked_threads::close() noexcept {
  is_open_.store(false);
  while (num_inside_.load() != 0) std::this_thread::yield();
}

void parked_threads::stay(unsigned number) {
  for (std::uint32_t seen = 0;;) {
    wait_for_more_than(seen);
    seen = num_works_.load();
    // Either close() sees this thread inside, or this thread sees that it is too late.
    num_inside_.fetch_add(1);
    if (is_open_.load()) work_.run(work_.argument, number);
    num_inside_.fetch_sub(1);
  }
}

void parked_threads::wait_for_more_than(std::uint32_t seen) const {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds looks_out{50};  // about what it takes to wake a thread that sleeps
  const clock::time_point begin = clock::now();
  while (num_works_.load() == seen) {
    if (clock::now() - begin > looks_out) return num_works_.wait(seen);
    std::this_thread::yield();
  }
}

}  // namespace spansort::device::host
