// SPDX-License-Identifier: Apache-2.0
#include "files/external/pipeline.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::external {
namespace {

/// Pieces waiting between two stages.
class chunk_queue {
 public:
  void push(element_chunk* p) {
    const std::lock_guard lock(mutex_);
    if (is_abandoned_) return;
    waiting_.push_back(p);
    changed_.notify_one();
  }
  /// No more will come.
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  /// Nothing more is taken either, nor what is pushed afterwards: work that nobody wants is not begun.
  void abandon() {
    const std::lock_guard lock(mutex_);
    is_closed_ = is_abandoned_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  /// Blocks; null when none will come.
  [[nodiscard]] element_chunk* pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return nullptr;
    element_chunk* const p = waiting_.front();
    waiting_.pop_front();
    return p;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<element_chunk*> waiting_;
  bool is_closed_ = false;
  bool is_abandoned_ = false;
};

class three_stages {
 public:
  three_stages(std::vector<element_chunk>& chunks, const pipeline_stages& stages) : stages_(stages) {
    for (element_chunk& p : chunks) free_.push(&p);
  }

  stage_clocks run() {
    {
      std::vector<std::jthread> threads;
      guarded([&] {
        threads.emplace_back([this] { guarded([this] { fill_all(); }); });
        threads.emplace_back([this] { guarded([this] { drain_all(); }); });
        work_on_all();
      });
    }
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return clocks_;
  }

 private:
  void fill_all() {
    while (element_chunk* const p = free_.pop()) {
      bool is_filled = false;
      clocks_.fill.run([&] {
        is_filled = stages_.fill(*p);
        return is_filled ? p->count : 0;
      });
      if (!is_filled) break;
      filled_.push(p);
    }
    filled_.close();
  }
  void work_on_all() {
    while (element_chunk* const p = filled_.pop()) {
      clocks_.work.run([&] {
        const std::uint64_t count = p->count;
        stages_.work(*p);
        return count;
      });
      worked_on_.push(p);
    }
    worked_on_.close();
  }
  void drain_all() {
    while (element_chunk* const p = worked_on_.pop()) {
      clocks_.drain.run([&] {
        stages_.drain(*p);
        return p->count;
      });
      free_.push(p);
    }
  }

  template <class F>
  void guarded(F&& f) noexcept {
    try {
      f();
    } catch (const std::system_error& failure) {
      fail_with(std::make_exception_ptr(device_error(std::string("the system refuses threads: ") + failure.what())));
    } catch (...) {
      fail_with(std::current_exception());
    }
  }
  void fail_with(std::exception_ptr failure) {
    {
      const std::lock_guard lock(failure_mutex_);
      if (failure_ == nullptr) failure_ = std::move(failure);
    }
    stop();
  }
  void stop() {
    free_.abandon();
    filled_.abandon();
    worked_on_.abandon();
  }

  const pipeline_stages& stages_;
  stage_clocks clocks_;  ///< each stage writes its own
  chunk_queue free_;
  chunk_queue filled_;
  chunk_queue worked_on_;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

stage_clocks run_pipeline(std::vector<element_chunk>& chunks, const pipeline_stages& stages) {
  return three_stages(chunks, stages).run();
}

}  // namespace spansort::external
