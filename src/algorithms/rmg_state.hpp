// SPDX-License-Identifier: Apache-2.0
// The steps of RMG sort as functions, and what they hand to each other.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/run_context.hpp"
#include "plan/planner.hpp"

namespace spansort::algorithms {

/// The plan's parameters for a sort: what the options say, else what the devices advise. The paper's 256 buckets a pass
/// and fusing under 1 % of a chunk are for GPUs of its day; what matters is that one pass leaves segments which a local
/// sort finishes in one trip through memory.
[[nodiscard]] plan::parameters plan_parameters(const problem& sort, const std::vector<rank>& ranks,
                                               const tuning_options& tuning);

class rmg_state {
 public:
  /// The workspace has been reserved; only the planner's counts are still to be allocated.
  rmg_state(run_context& run, const problem& sort);
  /// Waits for queued work, which writes into this object, also when something has failed.
  ~rmg_state();
  rmg_state(const rmg_state&) = delete;
  rmg_state& operator=(const rmg_state&) = delete;

  /// The root bucket spans all ranks at first.
  [[nodiscard]] bool has_spanning_buckets() const noexcept { return !planner_.pending().empty(); }
  [[nodiscard]] const plan::sort_plan& plan() const noexcept { return plan_; }

  /// Section 3: chunks of equal size. Devices that share the caller's memory need no copy.
  void scatter_input();
  /// Section 3.1: every rank counts the pass's digit in its slices of the spanning buckets.
  void count_pending();
  /// Whether the first count found an input in order, which is then finished. Only `auto` looks; beyond the paper.
  [[nodiscard]] bool finish_if_ordered();
  /// Section 3.1: every rank reorders those slices; skipped where one bucket holds a whole slice.
  void partition_pending();
  /// Turns the last pass into transfers and local sorts.
  void make_plan();
  /// Section 3.2: one all-to-all exchange; ranks whose keys are all their own skip it.
  void exchange_buckets();
  /// Section 3.3: each rank sorts its buckets on the bits not yet examined.
  void sort_buckets();
  /// Copies finished buckets back to the caller, on devices with memory of their own.
  void gather_output();

 private:
  /// One rank's buffers. Both hold `capacity` records on a device with memory of its own.
  struct rank_buffers {
    device::records chunk;        ///< the input's share
    device::records spare;        ///< the partitioned chunk, once there is one
    device::records owned;        ///< the rank's part of the sorted whole, where it ends up
    bool is_partitioned = false;  ///< the chunk lies, in bucket order, in `spare`
    bool is_closed = false;       ///< all its keys are its own, in place: no exchange
    [[nodiscard]] const device::records& current() const noexcept { return is_partitioned ? spare : chunk; }
  };

  using slice_histograms = std::vector<std::vector<std::vector<std::uint64_t>>>;  // [bucket][slice][digit]

  void partition_slice(unsigned rank, plan::slice slice, keys::digit_position digit,
                       const std::vector<std::uint64_t>& counts);
  void reverse_in_place();
  void find_closed_ranks();
  [[nodiscard]] bool looks_for_order() const;
  [[nodiscard]] bool is_first_pass() const noexcept { return num_passes_ == 0; }
  [[nodiscard]] device::input_shape whole_shape() const;

  run_context& run_;
  const problem& sort_;
  bool shared_memory_;
  plan::planner planner_;
  plan::sort_plan plan_;
  std::vector<rank_buffers> buffers_;
  slice_histograms histograms_;
  std::vector<device::input_shape> chunk_shapes_;
  unsigned num_passes_ = 0;
};

}  // namespace spansort::algorithms
