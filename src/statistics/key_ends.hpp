// SPDX-License-Identifier: Apache-2.0
// This header finds the least and the greatest key, in one read: what a histogram asks for first, and what needs
// neither a sort nor a selection.
#pragma once

#include <cstdint>

#include "spansort/types.hpp"

namespace spansort::statistics {

/// The ends of keys in value order, NaN keys left out: -0.0 is less than +0.0.
struct key_ends {
  double least = 0;
  double greatest = 0;
  std::uint64_t num_numbers = 0;  ///< where it is 0, the ends mean nothing
};

/// Finds the ends of keys in host memory, with the help of other threads where there are many. Blocks.
[[nodiscard]] key_ends find_ends(const const_key_span& keys);

}  // namespace spansort::statistics
