// SPDX-License-Identifier: Apache-2.0
#include "device/in_order_worker.hpp"

#include <string>
#include <system_error>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::device {

in_order_worker::in_order_worker(bool on_calling_thread) {
  if (on_calling_thread) return;
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& failure) {
    throw device_error(std::string("no thread for a device's queue (") + failure.what() + ")");
  }
}

in_order_worker::~in_order_worker() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void in_order_worker::push(work w) {
  if (!thread_.joinable()) return w();
  {
    const std::lock_guard lock(mutex_);
    (holds_ ? held_ : waiting_).push_back(std::move(w));
    if (holds_) return;
  }
  changed_.notify_all();
}

bool in_order_worker::hold() noexcept {
  const std::lock_guard lock(mutex_);
  holds_ = thread_.joinable();
  return holds_;
}

void in_order_worker::release() noexcept {
  {
    const std::lock_guard lock(mutex_);
    waiting_.splice(waiting_.end(), held_);
    holds_ = false;
  }
  changed_.notify_all();
}

void in_order_worker::discard() noexcept {
  const std::lock_guard lock(mutex_);
  held_.clear();
  holds_ = false;
}

void in_order_worker::drain() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && !busy_; });
}

void in_order_worker::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const work next = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    next();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace spansort::device
