// SPDX-License-Identifier: Apache-2.0
// Many short rows of keys, each sorted by itself: one thread a row, in its caches, and as many rows at a time as there
// are threads.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Rows of `row_keys` keys each, one after the other.
struct row_request {
  keys::key_codec codec;
  void* keys = nullptr;
  std::uint32_t* places = nullptr;  ///< one a key, which travels with it; null: keys alone
  std::uint64_t num_rows = 0;
  std::uint64_t row_keys = 0;
};

/// Returns how many keys a row may have at most.
[[nodiscard]] std::uint64_t most_row_keys(unsigned key_bytes, bool has_places) noexcept;

/// Sorts each row in place, stable. Keys alone have a codec that folds no ties.
void sort_rows(const row_request& request);

}  // namespace spansort::device::host
