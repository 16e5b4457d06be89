// SPDX-License-Identifier: Apache-2.0
// Fixed-width records: rows of bytes that are ordered by one or several fields.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spansort/types.hpp"

namespace spansort {

/// A field that records are ordered by.
struct record_key {
  std::uint32_t offset = 0;  ///< of its first byte in the record
  std::uint32_t size_bytes = 0;
  std::optional<key_type> type = {};  ///< little-endian; nothing: plain bytes in the order of memcmp
  bool descending = false;
};

/// Records of `record_bytes`, ordered by the first key; where that is equal by the second, and so on.
struct record_format {
  std::uint32_t record_bytes = 0;
  std::vector<record_key> keys = {};
};

}  // namespace spansort
