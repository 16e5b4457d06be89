// SPDX-License-Identifier: Apache-2.0
// Segments that are sorted side by side, as the buckets of RMG sort are, go by buckets where their keys are even: by
// passes over one or two high digits and a finish. Of keys of 8 bytes passes over all their digits would be seven, and
// of keys of 4 bytes, which the finish counts behind a pass over one digit, three.
// A sample of each tells, for which the thread that feeds the stream waits; what was put on the streams before goes on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/cuda/kernels/segment_evenness.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/cuda/local_sort/mailbox.hpp"

namespace spansort::device::cuda {

/// The looks at one request's segments, of which it makes those of many in one launch.
class even_segments {
 public:
  /// Looks are put on the site's stream, which is not behind the sorts of other segments. `way` is as
  /// segment_sort::wished_way. Each segment that goes by buckets will have `memory_bytes` for them.
  even_segments(const launch_site& site, const local_sort_request& request, std::string_view way,
                std::uint64_t memory_bytes);

  /// Returns the way by buckets of a segment; none where it goes by passes. Segments are asked for in order. It waits
  /// for the look at the segment.
  [[nodiscard]] bucket_way way_of(std::size_t number);

 private:
  /// Returns the way by so many digits at least; none where the segment cannot go it.
  [[nodiscard]] bucket_way way_by(const sort_segment& segment, unsigned least_digits) const;
  /// Returns what looked_segment::most_finished is to be.
  [[nodiscard]] std::uint32_t most_finished() const;
  [[nodiscard]] bool is_looked_at(const sort_segment& segment) const;
  /// Puts the look at a segment that is looked at, and at those behind it, on the stream.
  void look(std::size_t first);

  launch_site site_;
  const local_sort_request& request_;
  std::string_view way_;
  std::uint64_t memory_bytes_;
  bool is_counted_;             ///< keys of 4 bytes
  bool has_way_;                ///< any of such keys goes by buckets
  std::size_t num_looked_ = 0;  ///< segments before this one are behind a look, or need none
  std::array<std::size_t, most_segments_of_a_look> looked_ = {};  ///< segments of the last look
  unsigned num_in_look_ = 0;
  unsigned num_asked_ = 0;                                  ///< of these, segments that were asked for
  std::optional<mailbox_lease<segments_mailbox>> mailbox_;  ///< of the last look
};

}  // namespace spansort::device::cuda
