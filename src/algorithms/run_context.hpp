// SPDX-License-Identifier: Apache-2.0
// What a driver works with: the ranks of this sort, their workspace, waiting with progress and cancellation, and the
// report it fills.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "spansort/options.hpp"
#include "spansort/report.hpp"

namespace spansort::algorithms {

/// The sort to do: `num_keys` records in the caller's host memory, sorted in place.
struct problem {
  device::record_shape shape;
  device::records data;
  std::uint64_t num_keys = 0;
};

/// A position in the sort's device list, with what it keeps from call to call. Members are destroyed last to first:
/// the queue's thread ends before the memory goes, and both before the device.
struct rank {
  std::unique_ptr<device::device> device;
  std::vector<device::buffer> slots;
  std::unique_ptr<device::event> done;   ///< what other ranks wait for
  std::unique_ptr<device::event> idle;   ///< what the host polls; apart, for an event is not recorded again while awaited
  std::unique_ptr<device::queue> queue;
};

/// Where a phase can be cancelled.
enum class cancel_point : std::uint8_t {
  end_of_phase,     ///< nothing of the caller's has been overwritten when the phase ends
  inside_the_work   ///< the work stops by itself where it still can; once it has run to its end, the result stands
};

class run_context {
 public:
  /// All references outlive the context. `other_bytes`: memory that the caller of the driver holds for this sort.
  run_context(std::vector<rank>& ranks, const sort_options& options, sort_report& report,
              std::uint64_t other_bytes = 0);
  /// Waits until all queues are empty.
  ~run_context();
  run_context(const run_context&) = delete;
  run_context& operator=(const run_context&) = delete;

  [[nodiscard]] std::vector<rank>& ranks() noexcept { return ranks_; }
  [[nodiscard]] unsigned num_ranks() const noexcept { return static_cast<unsigned>(ranks_.size()); }
  [[nodiscard]] const sort_options& options() const noexcept { return options_; }
  [[nodiscard]] sort_report& report() noexcept { return report_; }

  /// Bytes that reserve() takes for `num_records` records.
  [[nodiscard]] static std::uint64_t slot_bytes(const device::record_shape& shape, std::uint64_t num_records) noexcept;

  /// Throws out_of_memory unless `total_bytes` of workspace, what is held already included, can be had.
  void require(std::uint64_t total_bytes) const;

  /// Room for `num_records` records on a rank; slot by slot, kept for the next call. Throws out_of_memory.
  device::records reserve(unsigned rank_index, unsigned slot, const device::record_shape& shape,
                          std::uint64_t num_records);

  /// Waits until all queues are empty. `fraction` is how far the sort is then; `work` the keys that the queued work will
  /// pass through its primitives. Throws cancelled (only before no_way_back()) and what failed.
  void finish_phase(std::string_view phase, double fraction, std::uint64_t work,
                    cancel_point point = cancel_point::end_of_phase);

  /// Before any work: the first call of the callback, which may cancel.
  void begin();

  /// The result is in place: the last call of the callback, whose exception surfaces here if it could not before.
  void finish();

  /// Every queue waits for what is now queued on every other one.
  void join_queues();

  /// From here on the caller's arrays are overwritten: cancelling is over.
  void no_way_back() noexcept { can_cancel_ = false; }

  /// Bytes of workspace of all ranks.
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept;

 private:
  void report_progress(std::string_view phase, double fraction) noexcept;
  void watch_queues(std::string_view phase, double fraction, std::uint64_t work);
  void collect_timeline();
  void throw_if_cancelled();

  std::vector<rank>& ranks_;
  const sort_options& options_;
  sort_report& report_;
  device::monitor monitor_;
  std::int64_t start_ns_;
  std::uint64_t other_bytes_;
  std::exception_ptr callback_failure_;  ///< what the progress callback threw
  double fraction_ = 0;
  bool can_cancel_ = true;
};

/// Sorts, or throws with the caller's arrays as they were.
using driver = void (*)(run_context& run, const problem& sort);

}  // namespace spansort::algorithms
