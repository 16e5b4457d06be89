// SPDX-License-Identifier: Apache-2.0
#include "table/external/table_spill.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/math.hpp"
#include "files/external/spill_plan.hpp"
#include "table/external/block_codec.hpp"

namespace spansort::table {
namespace {

/// A store's blocks are what has a checksum, a quarter of ours; its batches are what one call writes.
external::block_sizes sizes_for(std::uint64_t block_bytes) {
  constexpr std::uint64_t most_blocks_of_a_batch = 8;
  const std::uint64_t part =
      base::round_up(base::ceil_div(block_bytes, std::uint64_t{4}), external::direct_alignment_bytes);
  return {.block_bytes = part, .batch_bytes = part * most_blocks_of_a_batch};
}

/// Calls transfer(first block of the store, bytes) for each batch that a block of ours covers.
template <class Transfer>
void for_batches(const external::spill_store& store, std::uint64_t first_block, std::span<std::byte> bytes,
                 const Transfer& transfer) {
  const std::uint64_t batch_bytes = store.blocks_of_a_batch() * store.block_bytes();
  for (std::uint64_t at = 0; at < bytes.size(); at += batch_bytes) {
    transfer(first_block + at / store.block_bytes(),
             bytes.subspan(at, std::min<std::uint64_t>(batch_bytes, bytes.size() - at)));
  }
}

}  // namespace

table_spill::table_spill(const std::vector<std::string>& folders, std::uint64_t block_bytes)
    : store_(folders.empty() ? external::default_temporary_folders() : folders, sizes_for(block_bytes), 0) {}

spilled_block table_spill::write(const arrow_rows& rows) {
  const std::uint64_t size = packed_bytes(rows);
  const external::aligned_bytes packed(base::round_up(size, store_.block_bytes()));
  pack(rows, packed.bytes().data());
  std::fill(packed.bytes().begin() + static_cast<std::ptrdiff_t>(size), packed.bytes().end(), std::byte{0});
  const std::uint64_t first = store_.append(packed.bytes().size() / store_.block_bytes());
  for_batches(store_, first, packed.bytes(),
              [&](std::uint64_t block, std::span<std::byte> bytes) { store_.write(block, bytes); });
  return {.first_block = first, .size_bytes = size, .num_rows = rows.num_rows};
}

arrow_rows table_spill::read(const spilled_block& block, const std::shared_ptr<const ArrowSchema>& schema) {
  auto packed = std::make_shared<const external::aligned_bytes>(base::round_up(block.size_bytes, store_.block_bytes()));
  for_batches(store_, block.first_block, packed->bytes(),
              [&](std::uint64_t first, std::span<std::byte> bytes) { store_.read(first, bytes); });
  store_.discard(block.first_block, packed->bytes().size() / store_.block_bytes());
  return unpack(schema, block.num_rows, std::move(packed));
}

}  // namespace spansort::table
