// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/available_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

// The sort by the first bytes is this part of the whole, as progress is shown; the rest has no fraction of its own.
constexpr double first_share = 0.6;

/// Asking what is available costs more than it tells below this.
constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

sort_observer::sort_observer(const sort_options& options) : on_progress_(options.on_progress), report_(options.report) {
  if (report_ != nullptr) words_report_.wants_plan = report_->wants_plan;
}

sort_options sort_observer::observed(sort_options options) {
  if (on_progress_) options.on_progress = [this](const progress& p) { return show(p); };
  options.report = report_ == nullptr ? nullptr : &words_report_;
  return options;
}

order_steps sort_observer::steps() {
  return {.on_first_sorted =
              [this] {
                is_first_ = false;
                if (report_ != nullptr) *report_ = words_report_;
                step_begin_ = clock::now();
              },
          .on_ordered =
              [this] {
                is_ordered_ = true;
                end_step("equal prefixes", 0);
              }};
}

void sort_observer::finish(const observed_operation& whole) {
  if (report_ != nullptr) {
    end_step("gather", whole.moved_bytes);
    report_->operation = whole.operation;
    report_->key_type = whole.elements;
    report_->value_bytes = 0;
    report_->num_keys = whole.num_elements;
    report_->workspace_bytes = whole.workspace_bytes;
    report_->elapsed_ms = milliseconds_since(begin_);
  }
  if (on_progress_) on_progress_({"done", 1});
}

bool sort_observer::show(const progress& p) {
  highest_ = std::max(highest_, is_first_ ? first_share * p.fraction : first_share);
  // The first sort is not the end, and later ones are part of a step.
  std::string_view phase = p.phase == "done" ? "sort" : p.phase;
  if (!is_first_ && !is_ordered_) phase = "equal prefixes";
  return on_progress_({phase, highest_});
}

void sort_observer::end_step(const char* name, std::uint64_t bytes_moved) {
  if (report_ == nullptr) return;
  const double elapsed_ms = milliseconds_since(step_begin_);
  report_->phases.push_back({name, elapsed_ms, elapsed_ms, bytes_moved, 1});
  step_begin_ = clock::now();
}

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

void rethrow_beside(const out_of_memory& failure, std::uint64_t own_bytes) {
  // A GPU's memory is not what the call holds.
  if (!failure.device().empty()) throw failure;
  const auto with_own = [&](std::uint64_t bytes) {
    return bytes + std::min(own_bytes, std::numeric_limits<std::uint64_t>::max() - bytes);
  };
  throw out_of_memory(fmt::format("{}, beside {} bytes that the call holds", failure.what(), own_bytes),
                      with_own(failure.needed_bytes()), with_own(failure.available_bytes()));
}

}  // namespace spansort::sorting
