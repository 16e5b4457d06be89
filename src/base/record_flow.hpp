// SPDX-License-Identifier: Apache-2.0
// A record flow says how records come into the caller's memory and leave it while they are being sorted: a file that is
// read at one end and written at the other. What is sorted without one is there before, and stays.
#pragma once

#include <cstdint>

namespace spansort::base {

class record_flow {
 public:
  virtual ~record_flow() = default;

  /// Blocks until the first `count` records are there. Throws what kept them from coming. Any thread.
  virtual void wait_for(std::uint64_t count) = 0;
  /// `count` records of the result, from the one at `begin` on, lie where they were asked for, and nobody touches them
  /// any more. Called from any thread, in any order, also again for the same records; never before the last moment at
  /// which a sort can be cancelled. What nobody names is finished when the sort ends.
  virtual void finished(std::uint64_t begin, std::uint64_t count) noexcept = 0;
};

}  // namespace spansort::base
