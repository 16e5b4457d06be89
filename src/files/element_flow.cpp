// SPDX-License-Identifier: Apache-2.0
#include "files/element_flow.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::chrono::milliseconds tick{100};

double share_of(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  return total_bytes == 0 ? 0 : std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
}

}  // namespace

element_flow::element_flow(std::uint64_t num_elements, std::function<void(double read_share)> while_waiting)
    : num_elements_(num_elements), while_waiting_(std::move(while_waiting)) {}

void element_flow::arrive(std::uint64_t count) {
  require_wanted();
  const std::lock_guard lock(mutex_);
  num_arrived_ = std::max(num_arrived_, count);
  changed_.notify_all();
}

void element_flow::arrive_all() {
  const std::lock_guard lock(mutex_);
  have_all_arrived_ = true;
  changed_.notify_all();
}

void element_flow::fail_reading(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  reading_failure_ = std::move(failure);
  changed_.notify_all();
}

bool element_flow::is_there(std::uint64_t count) const noexcept {
  return have_all_arrived_ || (count < num_elements_ && count <= num_arrived_);
}

void element_flow::wait_for(std::uint64_t count) {
  const bool shows_progress = while_waiting_ && std::this_thread::get_id() == owner_;
  std::unique_lock lock(mutex_);
  while (!is_there(count) && reading_failure_ == nullptr && !is_abandoned_) {
    if (!shows_progress) {
      changed_.wait(lock);
    } else if (changed_.wait_for(lock, tick) == std::cv_status::timeout) {
      lock.unlock();
      while_waiting_(read_share_);
      lock.lock();
    }
  }
  if (reading_failure_ != nullptr) std::rethrow_exception(reading_failure_);
  require_wanted();
}

void element_flow::finished(std::uint64_t begin, std::uint64_t count) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t end = begin + count;
  if (begin > num_finished_) {
    try {
      std::uint64_t& known_end = finished_later_[begin];
      known_end = std::max(known_end, end);
    } catch (const std::bad_alloc&) {  // it is written when the sort has ended
    }
    return;
  }
  num_finished_ = std::max(num_finished_, end);
  while (!finished_later_.empty() && finished_later_.begin()->first <= num_finished_) {
    num_finished_ = std::max(num_finished_, finished_later_.begin()->second);
    finished_later_.erase(finished_later_.begin());
  }
  changed_.notify_all();
}

void element_flow::finish_all() noexcept { finished(0, num_elements_); }

bool element_flow::has_finished(std::uint64_t taken, std::uint64_t few) {
  const std::lock_guard lock(mutex_);
  return is_abandoned_ || num_finished_ >= std::min(num_elements_, taken + few);
}

std::uint64_t element_flow::wait_for_finished(std::uint64_t taken, std::uint64_t few) {
  const std::uint64_t wanted = std::min(num_elements_, taken + few);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_abandoned_ || num_finished_ >= wanted; });
  require_wanted();
  return num_finished_;
}

void element_flow::note_reading(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  require_wanted();
  read_share_ = share_of(done_bytes, total_bytes);
}

void element_flow::note_writing(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  require_wanted();
  written_share_ = share_of(done_bytes, total_bytes);
}

void element_flow::end_writing(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  has_writer_ended_ = true;
  writing_failure_ = std::move(failure);
  changed_.notify_all();
}

void element_flow::wait_for_writer(const std::function<void(double written_share)>& while_waiting) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, tick, [&] { return has_writer_ended_; })) {
    lock.unlock();
    while_waiting(written_share_);
    lock.lock();
  }
  if (writing_failure_ != nullptr) std::rethrow_exception(writing_failure_);
}

void element_flow::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  changed_.notify_all();
}

void element_flow::require_wanted() const {
  if (is_abandoned_) throw cancelled("nobody waits for these elements any more");
}

}  // namespace spansort::files
