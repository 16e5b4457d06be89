// SPDX-License-Identifier: Apache-2.0
// The first K elements of what sorting an input would give, without sorting it: one read, and memory for a few times K
// elements. An element that does not come before the K-th best so far is dropped as soon as it is seen; what is left is
// sorted and cut to K whenever memory is full, so that on random input almost nothing is ever sorted.
#pragma once

#include <cstdint>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/external/stage_clock.hpp"

namespace spansort::external {

struct head_request {
  std::uint64_t num_wanted = 0;    ///< K
  std::uint64_t num_buffered = 0;  ///< elements held at a time, at least 2 K and 2
  bool unique = false;             ///< of equal elements only the first one counts
};

struct head_result {
  std::uint64_t num_read = 0;
  std::uint64_t num_kept = 0;  ///< K, or fewer where the input has no more
  stage_clock reading = {};
  stage_clock dropping = {};  ///< those that come too late to be among the first
  stage_clock sorting = {};
  stage_clock writing = {};
};

/// Reads `source` to its end and writes the first elements of its stable order to `sink`, after expect(); finish() is
/// left to the caller. Several threads call order.write_key() at a time. Memory: num_buffered elements, beside what
/// order.sort() takes for as many. Throws invalid_argument for a buffer that is too small, out_of_memory, and what
/// source, order and sink throw.
head_result write_head(element_source& source, element_order& order, const head_request& request, element_sink& sink);

}  // namespace spansort::external
