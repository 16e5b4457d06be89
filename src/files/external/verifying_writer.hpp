// SPDX-License-Identifier: Apache-2.0
// The last step of every sort of a file: sorted elements are verified, duplicates removed, what is beyond the wanted
// head cut off, and the rest written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/external/stage_clock.hpp"
#include "spansort/check.hpp"

namespace spansort::external {

struct write_options {
  std::string input_name;  ///< for messages
  bool unique = false;
  bool verify = false;
  std::optional<std::uint64_t> head = {};  ///< no more than so many elements are written
  bool corrupts_result = false;            ///< for tests: flips a bit before the result is verified
  /// Called with the sorted elements, duplicates too, before they are written, where all of them are in memory.
  std::function<void(std::byte* elements, std::uint64_t count)> on_whole = {};
};

class verifying_writer {
 public:
  /// All three outlive the writer.
  verifying_writer(const element_order& order, element_sink& sink, const write_options& options);

  /// Writes elements that come after all those before, and overwrites them. Throws internal_error for what is out of
  /// order, and what the sink throws.
  void write(std::byte* elements, std::uint64_t count);
  /// Writes all elements of the sort at once, and tells the sink how many are left of them. Throws as write(), and what
  /// on_whole throws.
  void write_whole(std::byte* elements, std::uint64_t count);
  /// Returns whether write() would drop all further elements.
  [[nodiscard]] bool is_full() const noexcept { return options_.head && num_out_ >= *options_.head; }
  /// Compares the elements that were written with those that were read, unless some were never read for a head; throws
  /// internal_error where they differ. Then the output appears.
  void finish(const multiset_checksum& expected, std::uint64_t num_expected);

  [[nodiscard]] std::uint64_t num_out() const noexcept { return num_out_; }
  /// Returns when the sink was at work.
  [[nodiscard]] const stage_clock& writing() const noexcept { return writing_; }
  /// Returns when elements were verified.
  [[nodiscard]] const stage_clock& verifying() const noexcept { return verifying_; }

 private:
  void write_kept(std::byte* elements, std::uint64_t count);
  void take(std::byte* elements, std::uint64_t count);
  void check(const std::byte* elements, std::uint64_t count);
  [[nodiscard]] std::uint64_t keep_wanted(std::byte* elements, std::uint64_t count);
  [[nodiscard]] const std::byte* left() const noexcept { return left_.empty() ? nullptr : left_.data(); }
  [[noreturn]] void fail(const std::string& what) const;

  const element_order& order_;
  element_sink& sink_;
  const write_options& options_;
  std::vector<std::byte>
      left_;  ///< the last element that was taken, whether it was kept or not; empty before the first
  multiset_checksum checksum_;
  std::uint64_t num_in_ = 0;
  std::uint64_t num_out_ = 0;
  stage_clock writing_;
  stage_clock verifying_;
  bool is_corrupted_ = false;
};

}  // namespace spansort::external
