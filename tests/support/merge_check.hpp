// SPDX-License-Identifier: Apache-2.0
// The merge of two runs on any device, against std::merge with the comparators of the oracle.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.hpp"
#include "spansort/generate.hpp"
#include "spansort/types.hpp"

namespace spansort::test {

/// Two runs of generated keys, sorted by the oracle. A value says where its key stands in the left run, or behind that
/// in the right one, so that lost and swapped records show.
struct merge_case {
  key_type type = key_type::u64;
  bool descending = false;
  unsigned value_bytes = 0;
  std::uint64_t num_left = 0;
  std::uint64_t num_right = 0;
  distribution keys = {};
  std::uint64_t seed = 0;
  std::uint64_t first_record = 0;              ///< of every array, so that they begin as callers' arrays may
  std::uint64_t value_misalignment_bytes = 0;  ///< on top, for devices that take it

  [[nodiscard]] std::string describe() const;
};

/// Returns "" or what is wrong: a key, a value, a changed run, a byte written outside the destination, an exception.
[[nodiscard]] std::string diagnose_merge(device::device& device, const merge_case& c);

}  // namespace spansort::test
