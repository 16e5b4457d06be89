// SPDX-License-Identifier: Apache-2.0
// Progress and report of an order that takes several sorts of words: they are told as one operation.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "spansort/errors.hpp"
#include "spansort/options.hpp"
#include "spansort/report.hpp"

namespace spansort::sorting {

/// Called between the steps of a sort; what the last one throws leaves the records untouched.
struct order_steps {
  std::function<void()> on_first_sorted = {};  ///< by the first 8 bytes of the keys
  std::function<void()> on_ordered = {};       ///< the order is known, the records are about to move
};

/// These fields are what the report says of the whole.
struct observed_operation {
  std::string_view operation;
  std::string elements;  ///< in the place of the key type
  std::uint64_t num_elements = 0;
  std::uint64_t moved_bytes = 0;  ///< by the gather
  std::uint64_t workspace_bytes = 0;
};

/// The progress of many sorts as that of one, and the report of the first of them as that of all.
class sort_observer {
 public:
  /// `options` outlive the observer.
  explicit sort_observer(const sort_options& options);
  sort_observer(const sort_observer&) = delete;
  sort_observer& operator=(const sort_observer&) = delete;

  /// Returns the options for the sorter of the words.
  [[nodiscard]] sort_options observed(sort_options options);
  [[nodiscard]] order_steps steps();
  /// Ends the step "gather", completes the report and tells the callback, whose exception surfaces.
  void finish(const observed_operation& whole);

 private:
  using clock = std::chrono::steady_clock;
  bool show(const progress& p);
  void end_step(const char* name, std::uint64_t bytes_moved);

  const progress_callback& on_progress_;
  sort_report* report_;
  sort_report words_report_;
  bool is_first_ = true;
  bool is_ordered_ = false;
  double highest_ = 0;  ///< fraction shown
  clock::time_point begin_ = clock::now();
  clock::time_point step_begin_ = begin_;
};

/// Throws out_of_memory where `needed` bytes are more than the limit (0: none) or than what the machine has.
void require_memory(std::uint64_t num_records, std::uint64_t needed, std::uint64_t limit);

/// Throws `failure` of a sort that is a step of a call, as the whole call's: with the `own_bytes` that the call holds
/// besides in both of its figures, so that a caller who raises the limit to them gets further.
[[noreturn]] void rethrow_beside(const out_of_memory& failure, std::uint64_t own_bytes);

/// Calls `sort`, a step of a call that holds `own_bytes` besides, and throws as the call what it lacks memory for.
template <class Sort>
void run_beside(std::uint64_t own_bytes, const Sort& sort) {
  try {
    sort();
  } catch (const out_of_memory& failure) {
    rethrow_beside(failure, own_bytes);
  }
}

}  // namespace spansort::sorting
