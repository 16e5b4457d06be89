// SPDX-License-Identifier: Apache-2.0
// Merges runs range by range: whole blocks are read in the order of their first keys until memory is full; what comes
// before the next block's first key is a range, and sorting it in memory yields the next stretch of the merged whole.
// Each block is read once. The tails, what does not come before that key, are less than a block of each run and are
// carried over to the next range. Nothing depends on how keys are distributed; equal keys keep the order of the runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/io_pool.hpp"
#include "files/external/pipeline.hpp"
#include "files/external/runs.hpp"
#include "files/external/spill_plan.hpp"

namespace spansort::external {

class range_reader {
 public:
  /// Reads at most plan.fan_in runs, in the order of the input they are made of. `sums_elements` asks for checksum().
  range_reader(const element_order& order, const spill_plan& plan, run_list runs, bool sums_elements = false);

  /// Fills `into` with the elements of the next range, run after run, each run's in order; false when there are no
  /// more. plan.chunk_elements at most. Throws what reading runs throws.
  [[nodiscard]] bool next(element_chunk& into);
  /// The checksum of all elements that have been read, as the runs hold them, those carried over among them.
  [[nodiscard]] const multiset_checksum& checksum() const noexcept { return checksum_; }

 private:
  struct cursor {
    std::unique_ptr<sorted_run> run;
    std::uint64_t num_blocks = 0;
    std::uint64_t next_block = 0;
    std::vector<std::byte> tail;  ///< carried over
    // Of the range being made:
    std::uint64_t first_block = 0;
    std::uint64_t offset = 0;  ///< of its elements in the chunk
    std::uint64_t count = 0;
    std::uint64_t num_final = 0;
  };
  /// A range ends before the first element of this block.
  struct bound {
    std::span<const std::byte> key;
    std::size_t run = 0;
  };

  [[nodiscard]] std::uint64_t elements_of(const cursor& c, std::uint64_t block) const noexcept;
  [[nodiscard]] bool comes_before(std::size_t left, std::size_t right) const;
  [[nodiscard]] std::optional<bound> choose_blocks();
  void load(element_chunk& into);
  void cut_off_tails(element_chunk& into, const std::optional<bound>& end);
  [[nodiscard]] std::uint64_t num_before(const std::byte* elements, std::uint64_t count, const bound& end,
                                         std::size_t run) const;

  const element_order& order_;
  std::uint64_t capacity_;
  std::uint64_t block_elements_;
  std::vector<cursor> cursors_;
  std::vector<std::size_t> heap_;  ///< runs that have blocks left, the next block's least key in front
  io_pool pool_;
  bool sums_elements_;
  multiset_checksum checksum_;
};

}  // namespace spansort::external
