// SPDX-License-Identifier: Apache-2.0
// An element flow joins the three who work on elements that are held whole: one reads them, one sorts, one writes those
// that are finished, from the begin on. Each waits here for the one before; whoever fails ends it for all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/record_flow.hpp"

namespace spansort::files {

class element_flow final : public base::record_flow {
 public:
  /// `while_waiting` is called about ten times a second while the thread that makes the flow waits for elements, with
  /// the share of the input that has been read. It may throw, which ends the waiting.
  element_flow(std::uint64_t num_elements, std::function<void(double read_share)> while_waiting);

  // The reader calls these.

  /// The first `count` elements are there. Throws cancelled where nobody wants them any more.
  void arrive(std::uint64_t count);
  /// All are there, and the input was what it should be.
  void arrive_all();
  void fail_reading(std::exception_ptr failure);
  /// A share of the input has been read. Throws cancelled where nobody wants it any more.
  void note_reading(std::uint64_t done_bytes, std::uint64_t total_bytes);

  // The sort calls these.

  /// The last elements are there for nobody before arrive_all().
  void wait_for(std::uint64_t count) override;
  void finished(std::uint64_t begin, std::uint64_t count) noexcept override;
  /// The sort has ended: all elements are finished.
  void finish_all() noexcept;

  // The writer calls these.

  /// Returns whether wait_for_finished() would return at once.
  [[nodiscard]] bool has_finished(std::uint64_t taken, std::uint64_t few);
  /// Blocks until some `few` elements behind the first `taken` ones are finished, or all; returns how many are from the
  /// begin on. Throws cancelled where nobody wants them written any more.
  [[nodiscard]] std::uint64_t wait_for_finished(std::uint64_t taken, std::uint64_t few);
  /// Does of the output what note_reading() does of the input.
  void note_writing(std::uint64_t done_bytes, std::uint64_t total_bytes);
  /// All has been written, or `failure`, which is null otherwise, kept it from being.
  void end_writing(std::exception_ptr failure);
  /// Blocks until then, and calls `while_waiting` about ten times a second with the share of the output that has been
  /// written. Throws that, and what kept it from being written.
  void wait_for_writer(const std::function<void(double written_share)>& while_waiting);

  /// Nobody wants anything any more: whoever waits stops.
  void abandon() noexcept;
  /// Throws cancelled after that.
  void require_wanted() const;

 private:
  [[nodiscard]] bool is_there(std::uint64_t count) const noexcept;

  const std::uint64_t num_elements_;
  const std::function<void(double read_share)> while_waiting_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t num_arrived_ = 0;
  bool have_all_arrived_ = false;
  std::exception_ptr reading_failure_;
  bool has_writer_ended_ = false;
  std::exception_ptr writing_failure_;
  std::atomic<double> read_share_{0};
  std::atomic<double> written_share_{0};
  std::uint64_t num_finished_ = 0;                         ///< from the begin on
  std::map<std::uint64_t, std::uint64_t> finished_later_;  ///< begin and end of what is finished beyond a gap
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace spansort::files
