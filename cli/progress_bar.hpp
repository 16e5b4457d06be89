// SPDX-License-Identifier: Apache-2.0
// This header holds a progress bar on standard error, which a thread of its own keeps moving: also while a disk blocks
// the thread that works. It appears once work has lasted for a moment, and is removed when it is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "spansort/options.hpp"

namespace cli {

enum class progress_mode { automatic, always, never };

/// Returns what --progress asks for. A command whose output goes through a pipe leaves the terminal to the one that
/// reads it, unless it is told otherwise. Throws invalid_argument.
[[nodiscard]] progress_mode parse_progress(const std::string& text, const std::string& output = {});

/// Returns whether standard error is to show more than what is wrong: a terminal, unless --progress says otherwise.
[[nodiscard]] bool is_wanted(progress_mode mode);

/// The part of a bar that does not move with the work.
struct progress_subject {
  std::string name;               ///< of the input
  std::uint64_t total_bytes = 0;  ///< of the input, for bytes a second; 0: not known
};

/// Returns the name and size of an input.
[[nodiscard]] progress_subject subject_of(const std::string& input);

/// The point that the work has reached.
struct progress_point {
  std::string phase = "open";
  double fraction = 0;
  double elapsed_s = 0;
};

/// Returns the bar as one line of at most `num_columns` characters: what there is no room for is left out, and a long
/// name is shortened at its front.
[[nodiscard]] std::string progress_line(const progress_point& now, const progress_subject& subject,
                                        std::size_t num_columns);

class progress_bar {
 public:
  /// Signals that end the command clear the line, too.
  progress_bar(progress_mode mode, progress_subject subject);
  /// Clears the line.
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Returns what options of the library take; empty when nothing is to be shown. The bar must outlive it.
  [[nodiscard]] spansort::progress_callback callback();

  /// Ends the bar, before something else is written.
  void remove();

 private:
  void keep_drawing();
  void draw();

  bool is_on_;
  progress_subject subject_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  progress_point now_;
  std::thread ticker_;
};

/// Several calls of the library shown as one: each fills its part of the bar.
class progress_parts {
 public:
  explicit progress_parts(spansort::progress_callback bar) : bar_(std::move(bar)) {}

  /// Returns what options of the library take; empty when nothing is to be shown. The parts must outlive it.
  [[nodiscard]] spansort::progress_callback callback();
  /// Says that the next call begins where the last one was, and ends at `end` of the whole.
  void advance(double end);
  /// Shows a phase of which nothing else is told.
  void show(const std::string& phase);

 private:
  spansort::progress_callback bar_;
  double begin_ = 0;
  double end_ = 1;
  double reached_ = 0;
};

}  // namespace cli
