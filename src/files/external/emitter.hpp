// SPDX-License-Identifier: Apache-2.0
// What becomes of sorted elements on their way out: checked, duplicates removed, cut to the first so many, written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "spansort/check.hpp"

namespace spansort::external {

struct emit_options {
  std::string input_name;  ///< for messages
  bool unique = false;
  bool verify = false;
  std::optional<std::uint64_t> head = {};  ///< no more than so many go out
  bool damages_result = false;             ///< flips a bit before it is checked
};

class emitter {
 public:
  emitter(const element_order& order, element_sink& sink, const emit_options& options);

  /// Of elements that come after all those before. Overwrites them. Throws internal_error for what is out of order, and
  /// what the sink throws.
  void emit(std::byte* elements, std::uint64_t count);
  /// Whether more would be dropped.
  [[nodiscard]] bool is_full() const noexcept { return options_.head && num_out_ >= *options_.head; }
  /// Compares what went by with what was read, where all of it did: throws internal_error. Then the output appears.
  void finish(const multiset_checksum& expected, std::uint64_t num_expected);

  [[nodiscard]] std::uint64_t num_out() const noexcept { return num_out_; }

 private:
  void check(const std::byte* elements, std::uint64_t count);
  [[noreturn]] void fail(const std::string& what) const;

  const element_order& order_;
  element_sink& sink_;
  emit_options options_;
  std::vector<std::byte> left_;  ///< the last element that went by, kept or not; empty at first
  multiset_checksum checksum_;
  std::uint64_t num_in_ = 0;
  std::uint64_t num_out_ = 0;
  bool is_damaged_ = false;
};

}  // namespace spansort::external
