// SPDX-License-Identifier: Apache-2.0
// The two trips of a sort of data larger than the devices, and the pipeline that each device is in both: records come
// in, are sorted and leave, all three at the same time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "algorithms/out_of_core_sizes.hpp"
#include "algorithms/run_context.hpp"
#include "base/shares.hpp"
#include "plan/split_runs.hpp"

namespace spansort::algorithms {

/// Neighbouring records in host memory.
struct host_slice {
  device::records data;
  std::uint64_t num_records = 0;
};

/// One device's slots and queues. Slots are taken and given back in turn; whoever is to write to one waits until it is
/// free. The caller sees to it that all queues are empty before a pipeline goes.
class pipeline {
 public:
  /// The slots, two at least, hold `capacity` records each. With fewer than num_pipeline_slots nothing comes or leaves
  /// while records are sorted.
  pipeline(rank& self, const device::record_shape& shape, std::uint64_t capacity,
           unsigned num_slots = num_pipeline_slots);

  /// Queues: bring `slices`, one behind the other, sort them together on `bits`, above which all keys agree, and carry
  /// the result to `to`. Stable. Without bits they are only brought and carried.
  void process(const std::vector<host_slice>& slices, keys::bit_range bits, const device::records& to);

 private:
  struct slot {
    device::records data;
    device::event* free = nullptr;  ///< null: it is
  };
  [[nodiscard]] slot take();
  [[nodiscard]] device::event* mark(device::queue& q);
  [[nodiscard]] std::uint64_t bring(const std::vector<host_slice>& slices, const device::records& to);
  void copy(device::queue& q, const device::records& to, const device::records& from, std::uint64_t num_records,
            std::string_view label);

  rank& self_;
  device::record_shape shape_;
  device::queue& copies_in_;
  device::queue& copies_out_;
  std::deque<slot> slots_;
};

class out_of_core_state {
 public:
  /// The workspace has been reserved.
  out_of_core_state(run_context& run, const problem& sort);
  /// Waits for queued work.
  ~out_of_core_state();
  out_of_core_state(const out_of_core_state&) = delete;
  out_of_core_state& operator=(const out_of_core_state&) = delete;

  /// First trip: each device in turn sorts a chunk of the input; it comes back as a run, beside the caller's arrays.
  void make_runs();
  /// Second trip: each device in turn takes what all runs have in a range of the result, sorts it together, and
  /// carries it to its final place. Overwrites the input.
  void merge_ranges();
  void fill_report();

 private:
  using cuts = std::vector<std::uint64_t>;  ///< positions, one in each run

  /// The slices of all runs that make up a range of the result.
  struct range {
    std::vector<host_slice> slices;  ///< none is empty
    keys::bit_range bits;            ///< in which its keys differ; none where they are in order already
  };

  [[nodiscard]] std::vector<pipeline> make_pipelines();
  [[nodiscard]] std::uint64_t part_begin(std::uint64_t part) const {
    return base::share_begin(sort_.num_keys, num_parts_, part);
  }
  [[nodiscard]] unsigned rank_of(std::uint64_t part) const { return static_cast<unsigned>(part % run_.num_ranks()); }
  [[nodiscard]] std::vector<plan::sorted_run> all_runs() const;
  [[nodiscard]] range cut_range(const cuts& begins, const cuts& ends) const;
  /// Returns where the next range of every device ends, in all runs; the first of the ranges begins at `begins`.
  [[nodiscard]] std::vector<cuts> cut_runs(std::uint64_t first_part, const cuts& begins) const;

  run_context& run_;
  const problem& sort_;
  std::uint64_t capacity_;   ///< of a slot
  std::uint64_t num_parts_;  ///< as many chunks as ranges, of equal size
  device::records runs_;     ///< one behind the other: of chunk i where it lay in the input
};

/// Reports that the devices took equal parts of the keys in turns, whatever they found in them.
void report_turns(run_context& run, std::uint64_t num_keys, std::uint64_t num_parts);

}  // namespace spansort::algorithms
