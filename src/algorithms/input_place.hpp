// SPDX-License-Identifier: Apache-2.0
// An input place says where the input of RMG sort lies and where its result goes. All that differs between devices that
// share the caller's memory, devices that copy to and from memory of their own, and data that is on the devices
// already, is here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/run_context.hpp"

namespace spansort::algorithms {

/// A stretch of a rank's chunk that arrives as a whole.
struct arrival {
  std::uint64_t offset = 0;  ///< in the chunk
  std::uint64_t count = 0;
  device::event* arrived = nullptr;  ///< null: it is there
};

/// A rank's share of the input, or its part of the result: where it begins in this process's records, and how many it
/// holds.
struct share {
  unsigned rank = 0;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// Neighbouring buckets that one call of the local sort takes.
struct bucket_batch {
  std::vector<device::sort_segment> segments;
  std::uint64_t offset = 0;  ///< of the first, in the rank's part of the result
  std::uint64_t count = 0;
  bool in_alternate = false;  ///< the local sort leaves them in the other of its two buffers
};

class input_place {
 public:
  /// Both outlive the place.
  input_place(run_context& run, const problem& sort) : run_(run), sort_(sort) {}
  virtual ~input_place() = default;
  input_place(const input_place&) = delete;
  input_place& operator=(const input_place&) = delete;

  /// The device's memory for a share of the input. Where it is not the caller's it has room for `capacity` records, all
  /// that the rank may hold before or after the exchange.
  [[nodiscard]] virtual device::records chunk(const share& of_input, std::uint64_t capacity) const = 0;
  /// Queues what brings a share into its chunk.
  [[nodiscard]] virtual std::vector<arrival> scatter(const share& of_input, const device::records& chunk) = 0;
  /// The device's memory for a part of the result.
  [[nodiscard]] virtual device::records owned(const share& of_result, const device::records& chunk) const = 0;
  /// Returns the queues whose work overwrites the caller's memory.
  [[nodiscard]] virtual overwriting_queues overwritten_by() const { return overwriting_queues::all; }
  /// Called before a chunk, or an owned part, is written to: where that is the caller's memory, cancelling is over.
  virtual void begin_overwriting() = 0;
  /// The exchange has been queued, `num_keys` records of it: all ranks wait for it, or the host does.
  virtual void finish_exchange(std::uint64_t num_keys) = 0;
  /// Returns whether chunks and owned parts are the caller's memory, host memory side by side or shards: what was begun
  /// can be finished there.
  [[nodiscard]] virtual bool is_callers_memory() const { return false; }
  /// Returns whether the result must end in the owned parts; else in whichever array costs less.
  [[nodiscard]] virtual bool ends_where_owned() const = 0;
  /// Reverses the whole input where it lies; false where exchanging does no more than that.
  [[nodiscard]] virtual bool reverse() = 0;
  /// Neighbouring buckets of a rank as they are to be sorted; `lies_in_alternate` says that they do not lie in the
  /// owned part.
  [[nodiscard]] virtual std::vector<bucket_batch> batches(unsigned rank, std::vector<device::sort_segment> buckets,
                                                          bool lies_in_alternate) const = 0;
  /// Queues what carries a sorted batch from `result`, its first record, to where the caller finds it.
  virtual void gather(const share& of_result, const bucket_batch& batch, const device::records& result) = 0;

 protected:
  run_context& run_;
  const problem& sort_;
};

/// Returns whether the devices have memory of their own and the input is not in it.
[[nodiscard]] bool is_copied(const std::vector<rank>& ranks, const problem& sort);

/// Records that are copied at a time to and from devices with memory of their own.
[[nodiscard]] std::uint64_t keys_of_a_piece(const problem& sort, const base::test_hooks& hooks);

/// Returns what suits the problem and the devices of the run.
[[nodiscard]] std::unique_ptr<input_place> make_input_place(run_context& run, const problem& sort);

}  // namespace spansort::algorithms
