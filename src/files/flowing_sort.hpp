// SPDX-License-Identifier: Apache-2.0
// The sort of a file that is held whole, from end to end: devices get its first keys while the others are being read,
// where they take them so, and what is finished is written while the rest is being sorted.
#pragma once

#include <cstdint>
#include <functional>

#include "files/element_flow.hpp"
#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/external/external_sort.hpp"

namespace spansort::files {

/// Files of fewer bytes are read, sorted and written one after the other: threads would cost more than they save.
inline constexpr std::uint64_t least_flowing_bytes = std::uint64_t{8} << 20;

/// The ends of a flow, which tell it on their threads how far they are: the source by arrive() and note_reading(), the
/// sink, where it writes along, by note_writing().
struct flow_ends {
  external::element_source& source;  ///< of a known number of elements
  external::element_sink& sink;
};

struct flowing_options {
  const external::write_options& writing;
  unsigned threads = 0;  ///< as the option of that name
  /// Finished elements are written before all are finished. Otherwise all are written when the sort has ended.
  bool writes_along = true;
  /// Called about ten times a second on the calling thread while that waits for the writer alone; may throw to stop.
  std::function<void(double written_share)> while_writing = {};
  /// Called as that of external_options is; reading comes first, writing last.
  std::function<void(const external::stage_report& stage)> on_stage = {};
};

/// Sorts all elements of the source by one call of order.sort_flowing(), and makes the output appear. Throws what the
/// parts throw; the output is then as it was.
external::external_result sort_flowing(element_flow& flow, const flow_ends& ends, external::element_order& order,
                                       const flowing_options& options);

}  // namespace spansort::files
