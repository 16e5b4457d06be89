// SPDX-License-Identifier: Apache-2.0
// A job is one drawn call of the library or of the command, with the arrays or files that it works on, and with what is
// right afterwards. A new operation of the soak is a class here and a line of the table in operations.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "spansort/types.hpp"
#include "support/environment.hpp"
#include "support/test_tuning.hpp"

namespace spansort::soak {

/// How a call ended.
enum class ending : std::uint8_t {
  done,
  cancelled,
  callback_threw,
  out_of_memory,
  bad_alloc,
  no_device,  ///< a thread of a device could not start, or a call to a GPU's runtime failed
  lost,       ///< the same while the result was being written, as the exception says: only GPUs may
  io_failed,
  killed
};
inline constexpr std::size_t num_endings = 9;
[[nodiscard]] std::string_view name(ending e);

/// What the jobs of a case are drawn from.
struct drawing {
  test::random_words random;
  std::uint64_t most_keys = 0;
  bool has_gpu = false;
  std::string folder = {};   ///< the job's own, empty
  std::string command = {};  ///< the path of `spansort`; "" where there is none

  [[nodiscard]] bool one_in(std::uint64_t n) { return random.below(n) == 0; }
  [[nodiscard]] key_type type() { return static_cast<key_type>(random.below(12)); }
  /// Mostly few keys, now and then up to `most_keys`.
  [[nodiscard]] std::uint64_t size();
  [[nodiscard]] std::string distribution();
};

class job {
 public:
  virtual ~job() = default;
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Makes arrays and files as they are before the call.
  virtual void prepare() = 0;
  /// Calls once, and returns how the call ended where it does not throw. Throws what the call throws.
  virtual ending run(const test::hooked_options& options) = 0;
  /// Returns "" or what is wrong with what a call that ended so has left.
  [[nodiscard]] virtual std::string check(ending end) = 0;
  /// Returns the result where it lies in memory, for the soak's own test, which spoils a bit of it.
  [[nodiscard]] virtual std::span<std::byte> result() { return {}; }
};

struct operation {
  std::string_view name;
  unsigned weight = 1;  ///< how often it is drawn beside the others
  std::unique_ptr<job> (*draw)(drawing& from) = nullptr;
  bool has_progress = true;  ///< the call heeds progress callbacks
  bool has_devices = true;   ///< the call takes each device list and algorithm; false: what it takes are host devices
  bool writes_files = false;
  bool is_process = false;  ///< the call is made by another process, whose memory is not this one's
};

[[nodiscard]] std::span<const operation> operations();

// Jobs, each drawn by its own file.

[[nodiscard]] std::unique_ptr<job> draw_sort(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_sort_pairs(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_argsort(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_segments(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_quantiles(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_top(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_rank(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_sort_records(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_argsort_table(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_sort_file(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_argsort_file(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_merge_files(drawing& from);
[[nodiscard]] std::unique_ptr<job> draw_command(drawing& from);

}  // namespace spansort::soak
