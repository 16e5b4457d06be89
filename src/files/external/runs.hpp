// SPDX-License-Identifier: Apache-2.0
// Sorted runs on disk: blocks, of each of which the first key is known, so that the order in which a merge needs them
// is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/io_pool.hpp"
#include "files/external/spill_plan.hpp"
#include "files/external/spill_store.hpp"

namespace spansort::external {

/// A sorted run that is read block by block: spilled by us, or a file that was sorted before.
class sorted_run {
 public:
  virtual ~sorted_run() = default;
  [[nodiscard]] virtual std::uint64_t num_elements() const noexcept = 0;
  /// Normalised key of the first element of a block.
  [[nodiscard]] virtual std::span<const std::byte> first_key(std::uint64_t block) const noexcept = 0;
  /// Blocks that one call of read() may ask for, from `block` on.
  [[nodiscard]] virtual std::uint64_t readable_blocks(std::uint64_t block) const noexcept = 0;
  /// Reads `count` elements, one at least, from the one numbered `first` on, whose blocks one call may ask for.
  /// `buffer` is of a batch's size. Any number of threads.
  virtual void read(std::uint64_t first, std::uint64_t count, std::byte* elements, std::span<std::byte> buffer) = 0;
  /// Its blocks are not needed any more.
  virtual void discard() noexcept {}
};

using run_list = std::vector<std::unique_ptr<sorted_run>>;

class spilled_run;

/// Writes sorted elements as runs into a store of its own.
class run_writer {
 public:
  /// `expected_bytes` is for messages. Throws io_error and out_of_memory.
  run_writer(const element_order& order, const spill_plan& plan, const std::vector<std::string>& folders,
             std::uint64_t expected_bytes);
  ~run_writer();

  /// Appends sorted elements to the current run. What is over after whole blocks waits for more. Elements that begin at
  /// a multiple of direct_alignment_bytes may be written without a copy.
  void append(const std::byte* elements, std::uint64_t count);
  /// The next append() begins another run.
  void finish_run();
  /// The runs, which keep the store from now on.
  [[nodiscard]] run_list take_runs();
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return store_->bytes_written(); }

 private:
  void write_blocks(const std::byte* elements, std::uint64_t count);

  const element_order& order_;
  std::uint64_t block_elements_;
  std::shared_ptr<spill_store> store_;
  io_pool pool_;
  run_list runs_;
  std::unique_ptr<spilled_run> current_;
  std::vector<std::byte> rest_;  ///< elements of the current run that are no whole block yet
};

}  // namespace spansort::external
