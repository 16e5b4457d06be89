// SPDX-License-Identifier: Apache-2.0
// This header shows a caller how far a call is: about ten times a second, on the thread that made it, and never less
// than before.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "files/io/input.hpp"
#include "spansort/options.hpp"

namespace spansort::files {

/// The text of `cancelled` from a call that writes.
inline constexpr std::string_view output_is_kept = "; the output is as it was";

/// Tells the caller how far it is. Throws `cancelled` where the caller wants no more, ending in `what_is_left`.
void tell(const progress_callback& user, std::string_view phase, double fraction,
          std::string_view what_is_left = output_is_kept);

class shown_progress {
 public:
  explicit shown_progress(progress_callback user, std::string_view what_is_left = output_is_kept)
      : user_(std::move(user)), what_is_left_(what_is_left) {}

  /// Begins the part [begin, end] of a call on this thread, which is shown as soon as something is said of it; `total`
  /// is what add() counts to. A part that begins at 0 is the first of a call.
  void begin(std::string_view phase, double begin, double end, std::uint64_t total = 0);
  [[nodiscard]] bool is_wanted() const noexcept { return user_ != nullptr; }
  /// Says that so much of `total` is done, 0: nobody knows. On the thread of the call. Throws what tell() throws.
  void reach(std::uint64_t done, std::uint64_t total);
  /// Says that so much more is done. Any thread may call it; that of the call shows it, and it throws there alone.
  void add(std::uint64_t count);
  /// Returns reach() for a transfer; empty where nobody wants to know. It lives no longer than this.
  [[nodiscard]] transfer_progress transfer();

 private:
  progress_callback user_;
  std::string_view what_is_left_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::string phase_;
  double begin_ = 0;
  double end_ = 1;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  bool is_new_ = true;
  double highest_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace spansort::files
