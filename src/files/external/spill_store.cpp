// SPDX-License-Identifier: Apache-2.0
#include "files/external/spill_store.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "files/external/spill_plan.hpp"

namespace spansort::external {

spill_store::spill_store(const std::vector<std::string>& folders, const block_sizes& sizes,
                         std::uint64_t expected_bytes)
    : sizes_(sizes), files_(folders, sizes.batch_bytes, expected_bytes) {
  SPANSORT_ASSERT(!folders.empty() && sizes.block_bytes % direct_alignment_bytes == 0 &&
                  sizes.batch_bytes % sizes.block_bytes == 0);
}

spill_place spill_store::place_of(std::uint64_t block) const noexcept {
  const std::uint64_t batch = block / blocks_of_a_batch();
  const std::uint64_t in_batch = block % blocks_of_a_batch();
  return {batch % files_.num_files(), batch / files_.num_files() * sizes_.batch_bytes + in_batch * sizes_.block_bytes};
}

std::uint64_t spill_store::append(std::uint64_t num_blocks) {
  const std::uint64_t first = base::round_up(std::uint64_t{checksums_.size()}, blocks_of_a_batch());
  checksums_.resize(first + num_blocks);
  // One write alone waits for no other: it needs no room beforehand.
  if (num_blocks > blocks_of_a_batch()) allocate(first, first + num_blocks);
  return first;
}

void spill_store::allocate(std::uint64_t first_block, std::uint64_t end_block) noexcept {
  const std::uint64_t num_files = files_.num_files();
  const std::uint64_t first_batch = first_block / blocks_of_a_batch();
  const std::uint64_t last_batch = (end_block - 1) / blocks_of_a_batch();
  for (std::uint64_t batch = first_batch; batch <= last_batch && batch < first_batch + num_files; ++batch) {
    const std::uint64_t last_of_file = last_batch - (last_batch - batch) % num_files;
    const spill_place begin = place_of(batch * blocks_of_a_batch());
    const spill_place last = place_of(std::min((last_of_file + 1) * blocks_of_a_batch(), end_block) - 1);
    files_.allocate(begin, last.offset + sizes_.block_bytes - begin.offset);
  }
}

void spill_store::write(std::uint64_t first_block, std::span<const std::byte> bytes) {
  for (std::uint64_t i = 0; i * sizes_.block_bytes < bytes.size(); ++i) {
    checksums_[first_block + i] = spill_checksum(bytes.subspan(i * sizes_.block_bytes, sizes_.block_bytes));
  }
  files_.write(place_of(first_block), bytes);
}

void spill_store::read(std::uint64_t first_block, std::span<std::byte> bytes) {
  const spill_place at = place_of(first_block);
  const std::uint64_t num_bytes = files_.read(at, bytes);
  for (std::uint64_t i = 0; i * sizes_.block_bytes < bytes.size(); ++i) {
    const bool is_there = (i + 1) * sizes_.block_bytes <= num_bytes;
    const std::span<std::byte> block = bytes.subspan(i * sizes_.block_bytes, sizes_.block_bytes);
    if (!is_there || spill_checksum(block) != checksums_[first_block + i])
      files_.refuse_corrupt(first_block + i, at.file);
  }
}

void spill_store::discard(std::uint64_t first_block, std::uint64_t num_blocks) noexcept {
  if (num_blocks * sizes_.block_bytes < least_discarded_bytes) return;
  const std::uint64_t end = first_block + num_blocks;
  for (std::uint64_t block = first_block; block < end;) {
    const std::uint64_t batch_end = (block / blocks_of_a_batch() + 1) * blocks_of_a_batch();
    const std::uint64_t stop = std::min(end, batch_end);
    files_.discard(place_of(block), (stop - block) * sizes_.block_bytes);
    block = stop;
  }
}

}  // namespace spansort::external
