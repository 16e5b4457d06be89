// SPDX-License-Identifier: Apache-2.0
// sort_records(): argument checks, memory, progress and report around the record sorter.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/available_memory.hpp"
#include "base/threads.hpp"
#include "records/record_sorter.hpp"
#include "spansort/errors.hpp"
#include "spansort/records.hpp"
#include "spansort/report.hpp"

namespace spansort {
namespace {

using clock = std::chrono::steady_clock;

// What the sort by the first bytes is of the whole, as progress is shown; the rest has no fraction of its own.
constexpr double first_share = 0.6;

/// Below this, asking what is available costs more than it tells.
constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;

/// The progress of many sorts as that of one, and the report of the first of them as that of all.
class record_sort_observer {
 public:
  explicit record_sort_observer(const sort_options& options)
      : on_progress_(options.on_progress), report_(options.report) {
    if (report_ != nullptr) words_report_.wants_plan = report_->wants_plan;
  }

  /// For the sorter of the words.
  [[nodiscard]] sort_options observed(sort_options options) {
    if (on_progress_) options.on_progress = [this](const progress& p) { return show(p); };
    options.report = report_ == nullptr ? nullptr : &words_report_;
    return options;
  }

  [[nodiscard]] records::record_sort_steps steps() {
    return {.on_first_sorted =
                [this] {
                  is_first_ = false;
                  if (report_ != nullptr) *report_ = words_report_;
                  step_begin_ = clock::now();
                },
            .on_ordered = [this] { end_step("equal prefixes", 0); }};
  }

  void finish(const records::record_codec& codec, std::uint64_t num_records, std::uint64_t held_bytes) {
    if (report_ == nullptr) return;
    end_step("gather", 4 * num_records * codec.record_bytes());
    report_->operation = "sort_records";
    report_->key_type = fmt::format("record of {} bytes", codec.record_bytes());
    report_->value_bytes = 0;
    report_->num_keys = num_records;
    report_->workspace_bytes = held_bytes;
    report_->elapsed_ms = milliseconds_since(begin_);
  }

 private:
  static double milliseconds_since(clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
  }

  bool show(const progress& p) {
    const double fraction = is_first_ ? first_share * p.fraction : first_share;
    return on_progress_({is_first_ ? p.phase : "equal prefixes", fraction});
  }

  void end_step(const char* name, std::uint64_t bytes_moved) {
    if (report_ == nullptr) return;
    const double elapsed_ms = milliseconds_since(step_begin_);
    report_->phases.push_back({name, elapsed_ms, elapsed_ms, bytes_moved, 1});
    step_begin_ = clock::now();
  }

  const progress_callback& on_progress_;
  sort_report* report_;
  sort_report words_report_;
  bool is_first_ = true;
  clock::time_point begin_ = clock::now();
  clock::time_point step_begin_ = begin_;
};

void require_memory(std::uint64_t num_records, std::uint64_t needed, std::uint64_t limit) {
  if (limit != 0 && needed >= limit) {
    throw out_of_memory(fmt::format("ordering {} records takes {} bytes and more beside them, the limit is {} bytes",
                                    num_records, needed, limit),
                        needed, limit);
  }
  if (needed < worth_asking_bytes) return;
  const std::uint64_t available = base::available_memory_bytes();
  if (needed > available) {
    throw out_of_memory(fmt::format("ordering {} records takes {} bytes and more beside them, {} are available",
                                    num_records, needed, available),
                        needed, available);
  }
}

void require_addressable(const void* records, std::uint64_t num_records, std::uint32_t record_bytes) {
  if (records == nullptr && num_records != 0) {
    throw invalid_argument(fmt::format("records are null, but {} of them are to be sorted", num_records));
  }
  if (num_records > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / record_bytes) {
    throw invalid_argument(
        fmt::format("{} records of {} bytes are more than memory can hold", num_records, record_bytes));
  }
}

}  // namespace

void sort_records(void* records, std::uint64_t num_records, const record_format& format, direction d,
                  const sort_options& options) {
  check_record_format(format);
  require_addressable(records, num_records, format.record_bytes);
  const std::uint64_t own_bytes = records::record_sorter::buffer_bytes(format.record_bytes, num_records);
  require_memory(num_records, own_bytes, options.memory_limit_bytes);

  record_sort_observer observer(options);
  sort_options inner = observer.observed(options);
  if (inner.memory_limit_bytes != 0) inner.memory_limit_bytes -= own_bytes;
  records::record_sorter own(format, d, inner);
  base::with_threads(options.threads,
                     [&] { own.sort(static_cast<std::byte*>(records), num_records, observer.steps()); });
  observer.finish(own.codec(), num_records, own.held_bytes());
}

}  // namespace spansort
