// SPDX-License-Identifier: Apache-2.0
// Buffers that go round through three stages, each on a thread of its own: while one is filled, the next is worked on
// and the third is emptied. Work is done on the calling thread, in the order of filling, as is emptying.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/byte_buffer.hpp"
#include "files/external/stage_clock.hpp"

namespace spansort::external {

/// Elements on their way.
struct element_chunk {
  base::byte_buffer bytes;
  std::uint64_t count = 0;  ///< elements in it
};

struct pipeline_stages {
  std::function<bool(element_chunk&)> fill;  ///< false: there is no more, and nothing has been filled
  std::function<void(element_chunk&)> work;
  std::function<void(element_chunk&)> drain;
};

/// This says when each stage was at work.
struct stage_clocks {
  stage_clock fill;
  stage_clock work;
  stage_clock drain;
};

/// Blocks until the last chunk has been drained. The first failure of a stage stops all and is thrown; so is
/// device_error where the system refuses threads.
stage_clocks run_pipeline(std::vector<element_chunk>& chunks, const pipeline_stages& stages);

}  // namespace spansort::external
