// SPDX-License-Identifier: Apache-2.0
// This header says what a driver works with: the ranks of this sort, waiting with progress and cancellation, and the
// report it fills.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "algorithms/cluster_sort.hpp"
#include "algorithms/rank.hpp"
#include "algorithms/sort_settings.hpp"
#include "algorithms/workspace.hpp"
#include "base/call_watch.hpp"
#include "base/record_flow.hpp"
#include "device/device.hpp"
#include "device/steady_clock.hpp"
#include "spansort/report.hpp"

namespace spansort::algorithms {

/// A rank's part of an input that is on the devices already.
struct resident_part {
  device::records data;
  std::uint64_t num_keys = 0;
  std::uint64_t capacity = 0;  ///< records that there is room for
};

/// An input that is on the devices already, with a part for each rank.
struct resident_input {
  std::vector<resident_part> parts;
  bool keeps_sizes = false;  ///< each part ends with as many records as it began; else they are balanced
};

/// The sort to do: `num_keys` records, in the caller's host memory or on the devices, sorted where they lie.
struct problem {
  device::record_shape shape;
  std::variant<device::records, resident_input> input = device::records{};
  std::uint64_t num_keys = 0;
  /// The other processes of a sort that this one's records are only a part of. Null: there are none.
  const cluster_sort* others = nullptr;
  /// The flow of records that come and go while they are sorted; null: they are there, and stay.
  base::record_flow* flow = nullptr;
  /// The caller reserves this in `callers_slot` beside the driver's workspace.
  std::vector<slot_request> callers_wishes = {};
  /// Nobody wants the arrays of a sort that is cancelled: it can be cancelled to its end.
  bool is_disposable = false;

  [[nodiscard]] bool is_resident() const noexcept { return std::holds_alternative<resident_input>(input); }
  /// The records of an input in host memory.
  [[nodiscard]] device::records& data() { return std::get<device::records>(input); }
  [[nodiscard]] const device::records& data() const { return std::get<device::records>(input); }
  /// The parts of an input on the devices.
  [[nodiscard]] const resident_input& resident() const { return std::get<resident_input>(input); }
};

/// The point at which a phase can be cancelled.
enum class cancel_point : std::uint8_t {
  end_of_phase,    ///< nothing of the caller's has been overwritten when the phase ends
  inside_the_work  ///< the work stops by itself where it still can; once it has run to its end, the result stands
};

/// Neighbouring records of a whole.
struct whole_part {
  device::records data;
  std::uint64_t count = 0;
  device::records spare;  ///< has room for as many, and nothing that is wanted but for these records
};

/// The queues whose work overwrites the caller's arrays.
enum class overwriting_queues : std::uint8_t {
  all,
  of_copies  ///< those of copies in and out; the others work in the devices' own memory, and wait for none of these
};

/// Holds back what is queued with any of the ranks, in such queues, all of it or nothing.
class held_queues {
 public:
  held_queues(std::vector<rank>& ranks, overwriting_queues which) noexcept;
  /// Forgets what is still held back.
  ~held_queues();
  held_queues(const held_queues&) = delete;
  held_queues& operator=(const held_queues&) = delete;

  [[nodiscard]] bool are_all() const noexcept { return are_held_; }
  void release() noexcept;

 private:
  template <class F>
  bool for_each(const F& f) noexcept;

  std::vector<rank>& ranks_;
  overwriting_queues which_;
  bool are_held_ = true;
};

class run_context {
 public:
  /// All references outlive the context.
  run_context(std::vector<rank>& ranks, const sort_settings& options, sort_report& report);
  /// Waits until all queues are empty.
  ~run_context();
  run_context(const run_context&) = delete;
  run_context& operator=(const run_context&) = delete;

  [[nodiscard]] std::vector<rank>& ranks() noexcept { return ranks_; }
  [[nodiscard]] const std::vector<rank>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] unsigned num_ranks() const noexcept { return static_cast<unsigned>(ranks_.size()); }
  [[nodiscard]] const sort_settings& options() const noexcept { return options_; }
  [[nodiscard]] sort_report& report() noexcept { return report_; }

  /// Waits until all queues are empty. `fraction` is how far the sort is then; `work` the keys that the queued work
  /// will pass through its primitives. Throws cancelled (only before commit()) and what failed.
  void finish_phase(std::string_view phase, double fraction, std::uint64_t work,
                    cancel_point point = cancel_point::end_of_phase);

  /// Ends a phase as finish_phase() does where progress is shown. Elsewhere it does not wait, and what fails surfaces
  /// from the next finish_phase().
  void mark_phase(std::string_view phase, double fraction, std::uint64_t work) {
    if (options_.on_progress) finish_phase(phase, fraction, work);
  }

  /// Calls f() and notes, where a report wants it, that the host was at `name` meanwhile.
  template <class F>
  void time_on_host(std::string_view name, std::uint64_t bytes_moved, F&& f) {
    const std::int64_t begin_ns = device::now_ns();
    f();
    note_host_work(name, bytes_moved, begin_ns);
  }

  /// Waits until all queues are empty; failures have been thrown already, or something graver is on its way.
  void drain() noexcept;

  /// Calls the callback for the first time, before any work on `sort`; it may cancel.
  void begin(const problem& sort);

  /// The result is in place: the last call of the callback, whose exception surfaces here if it could not before.
  void finish();

  /// Every rank's work waits for what is now queued as every other rank's.
  void join_queues();

  /// Gives every rank that copies beside its work a queue for copies out.
  void open_copies_out();

  /// Gives every rank a queue for exchanges, which waits for what is now queued as any rank's work.
  void open_exchanges();
  /// Every rank's exchanges wait for what is now queued as every other rank's exchanges.
  void join_exchanges();

  /// Commits to the result: from here on the caller's arrays are overwritten, and only what nobody wants is cancelled.
  void commit() noexcept { can_cancel_ = false; }
  /// Takes commit() back: what was to overwrite the arrays has not begun, and will not.
  void take_back_commit() noexcept { can_cancel_ = true; }
  [[nodiscard]] bool output_has_begun() const noexcept { return !can_cancel_; }
  /// Says how the caller is asked while the host itself works, as `place_values` of run_reported() does.
  [[nodiscard]] base::stop_rule stop_rule() const noexcept {
    if (callback_failure_ != nullptr) return base::stop_rule::unasked;
    return is_disposable_ ? base::stop_rule::at_once : base::stop_rule::when_abandoned;
  }

  /// Calls queue_all(), which queues work of which that in `which` queues overwrites the caller's arrays, says so by
  /// commit(), and does not wait for it. Where queues can hold work back and queue_all() throws, nothing has been
  /// overwritten.
  template <class QueueAll>
  void queue_as_one(const QueueAll& queue_all, overwriting_queues which = overwriting_queues::all) {
    const bool could_cancel = can_cancel_;
    held_queues held(ranks_, which);
    try {
      queue_all();
    } catch (...) {
      if (held.are_all()) can_cancel_ = could_cancel;
      throw;
    }
    held.release();
  }

  /// Says where all records lie once the queues are empty: in the parts that follow, one behind the other, those that
  /// tie in the order of the input. They are host memory, or, of shards, that of each rank's device. Should memory end
  /// after commit(), the sort is finished from there (sort/finish_alone.hpp); without parts it is lost.
  void begin_parts() noexcept { parts_.clear(); }
  /// Adds a part, up to one a rank.
  void add_part(const whole_part& part) noexcept { parts_.push_back(part); }
  [[nodiscard]] const std::vector<whole_part>& parts() const noexcept { return parts_; }

 private:
  void report_progress(std::string_view phase, double fraction) noexcept;
  void watch_queues(std::string_view phase, double fraction, std::uint64_t work);
  void note_host_work(std::string_view name, std::uint64_t bytes_moved, std::int64_t begin_ns);
  void collect_timeline();
  void collect_timeline(device::queue* q, int rank, int queue);
  /// The first failure, or null.
  [[nodiscard]] std::exception_ptr synchronize_all() noexcept;
  void throw_if_cancelled();

  /// Marks what is now queued in the queue `of(rank)` of each rank.
  template <class Queue>
  [[nodiscard]] std::vector<device::event*> mark_ends(Queue&& of) {
    std::vector<device::event*> ends;
    for (rank& r : ranks_) of(r).record(*ends.emplace_back(&r.take_event()));
    return ends;
  }

  std::vector<rank>& ranks_;
  const sort_settings& options_;
  sort_report& report_;
  device::monitor monitor_;
  std::size_t first_activity_;           ///< of this run in the report's timeline
  std::exception_ptr callback_failure_;  ///< what the progress callback threw
  std::vector<whole_part> parts_;        ///< with room for one a rank
  double fraction_ = 0;
  bool can_cancel_ = true;
  bool is_disposable_ = false;  ///< as in `problem`
  bool heeds_abandoned_ = false;
};

/// What a driver needs, and where: reserved before it starts.
using workspace_rule = std::vector<slot_request> (*)(const std::vector<rank>& ranks, const sort_settings& options,
                                                     const problem& sort);

/// Sorts, or throws with the caller's arrays as they were.
using driver = void (*)(run_context& run, const problem& sort);

}  // namespace spansort::algorithms
