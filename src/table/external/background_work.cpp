// SPDX-License-Identifier: Apache-2.0
#include "table/external/background_work.hpp"

#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::table {

bool background_work::is_of_another_process() const noexcept { return thread_.joinable() && process_ != ::getpid(); }

background_work::~background_work() {
  if (!thread_.joinable()) return;
  if (is_of_another_process()) {
    thread_.detach();
    return;
  }
  must_end_ = true;
  thread_.join();
}

void background_work::run(const std::function<void()>& work) noexcept {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  is_done_ = true;
  changed_.notify_all();
}

void background_work::start(std::function<void()> work) {
  wait();
  is_done_ = false;
  process_ = ::getpid();
  try {
    thread_ = std::thread([this, work] { run(work); });
  } catch (const std::system_error&) {
    run(work);
  }
}

void background_work::wait(const std::function<void()>& ask) {
  constexpr std::chrono::milliseconds moment{50};
  if (is_of_another_process()) {
    throw invalid_argument(
        "a stream of sorted rows is read by the process that made it, and not by one forked from it");
  }
  for (std::unique_lock lock(mutex_); !changed_.wait_for(lock, moment, [&] { return is_done_; });) {
    lock.unlock();
    if (ask) ask();
    lock.lock();
  }
  if (thread_.joinable()) thread_.join();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace spansort::table
