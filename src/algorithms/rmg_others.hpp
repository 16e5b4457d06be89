// SPDX-License-Identifier: Apache-2.0
// The other processes of a sort, as the steps of RMG sort meet them: twice, after a count and in the exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/run_context.hpp"
#include "transport/exchange.hpp"

namespace spansort::algorithms {

/// The counts of a pending slice, of whichever process.
struct slice_counts {
  unsigned rank = 0;  ///< the plan's
  std::vector<std::uint64_t>* counts = nullptr;
};

/// This class itself is for a process that is alone: there is nobody to tell, and nothing to wait for.
class rmg_others {
 public:
  virtual ~rmg_others() = default;

  /// Says what this process is at, should it fail.
  virtual void enter(std::string_view) {}
  /// Fills in the counts of other processes' slices, and gives them this one's. `slices` are all pending ones, in an
  /// order that is the same in all processes.
  virtual void share_counts(std::span<const slice_counts>) {}
  /// Waits until what this process's ranks will send lies there, where the host is to send it.
  virtual void complete_sources() {}
  /// Returns how ranks of different processes exchange; null where there are none.
  [[nodiscard]] virtual transport::exchange* between_processes() { return nullptr; }
  /// Calls `execute`, which exchanges, and notes the time of the host where it takes part in that.
  virtual void time_exchange(const std::function<void()>& execute) { execute(); }
};

/// The plan's number of this process's first rank.
[[nodiscard]] unsigned first_rank_of(const problem& sort);

[[nodiscard]] std::unique_ptr<rmg_others> make_rmg_others(run_context& run, const problem& sort);

}  // namespace spansort::algorithms
