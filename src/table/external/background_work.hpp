// SPDX-License-Identifier: Apache-2.0
// A piece of work at a time on a thread of its own, for one who waits for it later.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace spansort::table {

class background_work {
 public:
  background_work() = default;
  background_work(const background_work&) = delete;
  background_work& operator=(const background_work&) = delete;
  /// Tells the work to end, and waits for that.
  ~background_work();

  /// Begins, after what was begun before; a failure of that is thrown. Where the system refuses a thread, the work is
  /// done when the call returns. The work ends early where must_end() says so, by an exception.
  void start(std::function<void()> work);
  /// Blocks until the work is done, and calls `ask`, which may throw, some twenty times a second. Throws what the work
  /// threw, and invalid_argument in a process that was forked meanwhile, which does not have the thread.
  void wait(const std::function<void()>& ask = {});
  [[nodiscard]] bool must_end() const noexcept { return must_end_.load(std::memory_order_relaxed); }

 private:
  void run(const std::function<void()>& work) noexcept;
  [[nodiscard]] bool is_of_another_process() const noexcept;

  std::thread thread_;
  pid_t process_ = 0;
  std::atomic<bool> must_end_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = true;
  std::exception_ptr failure_;
};

}  // namespace spansort::table
