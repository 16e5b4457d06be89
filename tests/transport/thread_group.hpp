// SPDX-License-Identifier: Apache-2.0
// A thread group is a communicator between threads of one process: node ranks for tests that need several and no MPI.
#pragma once

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "transport/communicator.hpp"

namespace spansort::test {

/// The threads share this: a page for the numbers of each of them, and a barrier between writing and reading.
class thread_meeting {
 public:
  explicit thread_meeting(unsigned num_threads) : pages_(num_threads), barrier_(num_threads) {}

  [[nodiscard]] unsigned num_threads() const noexcept { return static_cast<unsigned>(pages_.size()); }
  void wait() { barrier_.arrive_and_wait(); }
  /// Returns the numbers of all threads, once all have come.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> swap_pages(unsigned thread,
                                                                   std::span<const std::uint64_t> mine) {
    pages_[thread].assign(mine.begin(), mine.end());
    wait();
    std::vector<std::vector<std::uint64_t>> all = pages_;
    wait();  // the next numbers must not be written before all have read these
    return all;
  }

 private:
  std::vector<std::vector<std::uint64_t>> pages_;
  std::barrier<> barrier_;
};

class thread_group final : public transport::communicator {
 public:
  thread_group(thread_meeting& meeting, unsigned thread) : meeting_(meeting), thread_(thread) {}

  [[nodiscard]] unsigned node_rank() const noexcept override { return thread_; }
  [[nodiscard]] unsigned num_nodes() const noexcept override { return meeting_.num_threads(); }
  void check() const override {}
  void set_phase(std::string_view) override {}
  [[nodiscard]] std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> mine) override {
    return all_gather_joined(mine);
  }
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> all_gather_varying(
      std::span<const std::uint64_t> mine) override {
    return meeting_.swap_pages(thread_, mine);
  }
  [[nodiscard]] std::vector<std::uint64_t> all_reduce_sum(std::span<const std::uint64_t> mine) override {
    return sum_of_first(num_nodes(), mine);
  }
  [[nodiscard]] std::vector<std::uint64_t> exclusive_scan_sum(std::span<const std::uint64_t> mine) override {
    return sum_of_first(thread_, mine);
  }
  void broadcast(std::span<std::uint64_t> values, unsigned from) override {
    std::ranges::copy(all_gather_varying(values)[from], values.begin());
  }
  [[nodiscard]] std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine) override {
    const std::size_t per_node = mine.size() / num_nodes();
    std::vector<std::uint64_t> theirs;
    for (const std::vector<std::uint64_t>& its : all_gather_varying(mine)) {
      const auto begin = its.begin() + static_cast<std::ptrdiff_t>(thread_ * per_node);
      theirs.insert(theirs.end(), begin, begin + static_cast<std::ptrdiff_t>(per_node));
    }
    return theirs;
  }
  void barrier() override { meeting_.wait(); }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sum_of_first(unsigned num_threads, std::span<const std::uint64_t> mine) {
    std::vector<std::uint64_t> sums(mine.size());
    const std::vector<std::vector<std::uint64_t>> all = all_gather_varying(mine);
    for (unsigned t = 0; t < num_threads; ++t) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += all[t][i];
    }
    return sums;
  }

  thread_meeting& meeting_;
  unsigned thread_;
};

/// Calls f(group) on `num_threads` threads at the same time.
inline void run_on_threads(unsigned num_threads, const std::function<void(thread_group&)>& f) {
  thread_meeting meeting(num_threads);
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < num_threads; ++t) {
    threads.emplace_back([&, t] {
      thread_group group(meeting, t);
      f(group);
    });
  }
}

}  // namespace spansort::test
