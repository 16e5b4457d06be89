// SPDX-License-Identifier: Apache-2.0
// A progress bar on standard error, drawn only once work has lasted for half a second and removed when it is done.
#pragma once

#include <chrono>
#include <string_view>

#include "spansort/options.hpp"

namespace cli {

enum class progress_mode { automatic, always, never };

class progress_bar {
 public:
  explicit progress_bar(progress_mode mode);
  /// Clears the line.
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Returns what sort_options takes; empty when nothing is to be shown. The bar must outlive it.
  [[nodiscard]] spansort::progress_callback callback();

 private:
  void draw(const spansort::progress& now);

  bool is_on_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace cli
