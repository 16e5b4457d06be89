// SPDX-License-Identifier: Apache-2.0
// A kernel that looks into a sample of each of several segments, to tell by which high digits, if any, these are
// brought in order before blocks finish their buckets.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/even_segments_policy.hpp"

namespace spansort::device::cuda {

/// A segment that is looked at.
struct looked_segment {
  std::uint64_t begin = 0;  ///< among the request's keys
  std::uint64_t count = 0;  ///< not 0
  unsigned num_bits = 0;    ///< in which its keys may differ, from the lowest up
  unsigned digit_bits = 0;  ///< of the only high digit that may do; 0: one digit will not do
  /// Records of the largest bucket that a block finishes as fast as others; 0: keys of 4 bytes alone, of which blocks
  /// count those of any bucket.
  std::uint32_t most_finished = 0;
};
struct segments_look {
  looked_segment segments[most_segments_of_a_look];
  unsigned num_segments = 0;
};

/// The GPU writes what it has seen of each segment to this, which is pinned memory of the host.
struct segments_mailbox {
  segment_evenness seen[most_segments_of_a_look] = {};  ///< `unknown` before
};

/// Looks at the segments of an array and answers. `mailbox` is pinned memory of the host, which waits for nothing here.
/// For K of 4 and 8 bytes; keys of 4 bytes may differ in their lowest 25 bits at most.
template <class K>
void launch_segments_look(const launch_site& site, const keys::codec_of<K>& codec, const void* keys,
                          const segments_look& look, segments_mailbox* mailbox);

}  // namespace spansort::device::cuda
