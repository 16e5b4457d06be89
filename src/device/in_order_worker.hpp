// SPDX-License-Identifier: Apache-2.0
// A thread that runs pieces of work one after the other: what a queue's requests are handed to.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace spansort::device {

class in_order_worker {
 public:
  /// Must not throw.
  using work = std::function<void()>;

  /// Starts the thread, or throws device_error. With `on_calling_thread` there is none: push() runs the work at once.
  explicit in_order_worker(bool on_calling_thread);
  /// Runs what is waiting first.
  ~in_order_worker();
  in_order_worker(const in_order_worker&) = delete;
  in_order_worker& operator=(const in_order_worker&) = delete;

  void push(work w);
  /// Blocks until all work pushed so far has run, but for what is held back.
  void drain();

  /// Work that is pushed from now on does not begin. Returns false, and holds nothing back, where there is no thread.
  [[nodiscard]] bool hold() noexcept;
  /// Lets what has been held back begin. Takes no memory.
  void release() noexcept;
  /// Forgets what has been held back.
  void discard() noexcept;

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<work> waiting_;
  std::list<work> held_;
  bool holds_ = false;
  bool busy_ = false;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace spansort::device
