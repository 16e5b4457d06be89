// SPDX-License-Identifier: Apache-2.0
// Options as Python gives them, and calls without the lock of the interpreter, which signals and progress interrupt.
#pragma once

#include <cstdint>
#include <optional>
#include <spansort/errors.hpp>
#include <spansort/options.hpp>
#include <string>

#include "binding.hpp"

namespace python {

/// A call for more than this is interrupted by signals; what is smaller takes some milliseconds, and a way of its own
/// in the library, which knows no progress.
inline constexpr std::uint64_t most_short_bytes = std::uint64_t{4} << 20;

/// What becomes of an array that is sorted in place when its sort is cancelled.
enum class when_cancelled : std::uint8_t {
  kept,     ///< it is as it was: a sort that overwrites it already runs to its end
  disposed  ///< nobody will see it: it is a copy, and its sort ends at once
};

/// Options that sorts of arrays and files share.
struct call_options {
  spansort::sort_options sorting = {};
  nb::object progress = nb::none();  ///< called with phase and fraction

  /// Returns whether every call opens devices, which costs more than a sort of few keys: GPUs or several of the host.
  [[nodiscard]] bool opens_devices() const {
    const auto devices = sorting.devices.what();
    return devices == spansort::device_list::kind::host || devices == spansort::device_list::kind::gpu;
  }
};

/// Asks Python, about ten times a second, whether a call goes on: signals are handled, and the caller's function is
/// called. An error that Python raises there is kept until the library has returned, and is raised then.
class interruption {
 public:
  explicit interruption(nb::object progress) : progress_(std::move(progress)) {}

  [[nodiscard]] bool has_function() const { return !progress_.is_none(); }
  /// Returns whether to go on. Called without the interpreter's lock.
  bool ask(std::string_view phase, double fraction);
  [[nodiscard]] spansort::progress_callback callback(when_cancelled arrays);
  /// Raises what Python raised.
  void raise_error();

 private:
  nb::object progress_;
  std::optional<nb::python_error> error_;
};

/// Runs work(options) without the interpreter's lock. `is_long`: signals interrupt it.
template <class Work>
void run_unlocked(const call_options* given, bool is_long, Work work, when_cancelled arrays = when_cancelled::kept) {
  interruption asking(given == nullptr ? nb::none() : given->progress);
  spansort::sort_options options;
  if (given != nullptr) options = given->sorting;
  if (is_long || asking.has_function()) options.on_progress = asking.callback(arrays);
  bool is_cancelled = false;
  {
    const nb::gil_scoped_release unlocked;
    try {
      work(options);
    } catch (const spansort::cancelled&) {
      is_cancelled = true;
    }
  }
  asking.raise_error();
  if (is_cancelled) throw spansort::cancelled("the function of progress= returned False");
}

}  // namespace python
