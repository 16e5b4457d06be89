// SPDX-License-Identifier: Apache-2.0
#include "table/external/table_spill.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/math.hpp"
#include "files/external/spill_plan.hpp"
#include "table/external/block_codec.hpp"

namespace spansort::table {
namespace {

/// Files grow in such steps: half of the time of a write that lengthens a file is the file system's own.
constexpr std::uint64_t step_bytes = std::uint64_t{32} << 20;
/// A spill that writes less at a time has little memory, and may have little to write.
constexpr std::uint64_t least_stepped_bytes = std::uint64_t{256} << 10;

std::uint64_t stored_bytes(std::uint64_t size_bytes) {
  return base::round_up(size_bytes, external::direct_alignment_bytes);
}

std::uint64_t end_of(const spilled_block& block) { return block.offset + stored_bytes(block.size_bytes); }

/// Returns how many of the blocks, one at least, are neighbours of `most_bytes` at most.
std::uint64_t num_neighbours(std::span<const spilled_block> blocks, std::uint64_t most_bytes) {
  std::uint64_t count = 1;
  while (count < blocks.size() && blocks[count].file == blocks[0].file &&
         blocks[count].offset == end_of(blocks[count - 1]) && end_of(blocks[count]) - blocks[0].offset <= most_bytes) {
    ++count;
  }
  return count;
}

}  // namespace

table_spill::table_spill(const std::vector<std::string>& folders, std::uint64_t transfer_bytes)
    : transfer_bytes_(stored_bytes(transfer_bytes)),
      files_(folders.empty() ? external::default_temporary_folders() : folders, transfer_bytes_, 0),
      ends_(files_.num_files(), 0),
      allocated_(files_.num_files(), 0) {}

void table_spill::make_room(std::uint64_t num_bytes) {
  if (filled_.num_bytes != 0 && filled_.num_bytes + num_bytes > filled_.bytes.bytes().size()) send();
  if (filled_.num_bytes != 0) return;
  const std::uint64_t wanted = std::max(num_bytes, transfer_bytes_);
  // A row may be longer than all blocks that are written together; its memory does not stay.
  if (filled_.bytes.bytes().size() != wanted) filled_.bytes = external::aligned_bytes(wanted);
  filled_.place = {next_file_, ends_[next_file_]};
}

spilled_block table_spill::write(const arrow_rows& rows) {
  const std::uint64_t size = packed_bytes(rows);
  make_room(stored_bytes(size));
  const std::span<std::byte> to = filled_.bytes.bytes().subspan(filled_.num_bytes, stored_bytes(size));
  pack(rows, to.data());
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(size), to.end(), std::byte{0});
  const spilled_block block{.offset = filled_.place.offset + filled_.num_bytes,
                            .checksum = external::spill_checksum(to.first(size)),
                            .size_bytes = size,
                            .num_rows = rows.num_rows,
                            .file = static_cast<std::uint32_t>(filled_.place.file)};
  filled_.num_bytes += to.size();
  return block;
}

void table_spill::send() {
  if (filled_.num_bytes == 0) return;
  writer_.wait();
  std::swap(filled_, sent_);
  filled_.num_bytes = 0;
  const std::size_t file = std::exchange(next_file_, (next_file_ + 1) % files_.num_files());
  ends_[file] += sent_.num_bytes;
  writer_.start([this, file] {
    if (ends_[file] > allocated_[file] && transfer_bytes_ >= least_stepped_bytes) {
      const std::uint64_t end = base::round_up(ends_[file], step_bytes);
      files_.allocate({file, allocated_[file]}, end - std::exchange(allocated_[file], end));
    }
    files_.write(sent_.place, sent_.bytes.bytes().first(sent_.num_bytes));
  });
}

void table_spill::flush() {
  send();
  writer_.wait();
}

std::uint64_t table_spill::num_readable(std::span<const spilled_block> blocks) const noexcept {
  return num_neighbours(blocks, transfer_bytes_);
}

void table_spill::read(std::span<const spilled_block> blocks, const std::shared_ptr<const ArrowSchema>& schema,
                       std::span<std::byte> buffer, const std::function<void(std::span<arrow_rows>)>& use) {
  const external::spill_place place{blocks.front().file, blocks.front().offset};
  const std::uint64_t num_bytes = end_of(blocks.back()) - place.offset;
  external::aligned_bytes larger;
  if (buffer.size() < num_bytes) {
    larger = external::aligned_bytes(num_bytes);
    buffer = larger.bytes();
  }
  const std::uint64_t num_read = files_.read(place, buffer.first(num_bytes));
  std::vector<arrow_rows> rows;
  for (const spilled_block& block : blocks) {
    const std::uint64_t at = block.offset - place.offset;
    const bool is_there = at + block.size_bytes <= num_read;
    const std::span<const std::byte> packed = buffer.subspan(at, block.size_bytes);
    if (!is_there || external::spill_checksum(packed) != block.checksum)
      files_.refuse_corrupt(block.offset / external::direct_alignment_bytes, block.file);
    rows.push_back(unpack(schema, block.num_rows, packed.data()));
  }
  use(rows);
}

void table_spill::discard(std::span<const spilled_block> blocks) noexcept {
  while (!blocks.empty()) {
    const std::uint64_t count = num_neighbours(blocks, std::numeric_limits<std::uint64_t>::max());
    const std::uint64_t num_bytes = end_of(blocks[count - 1]) - blocks[0].offset;
    if (num_bytes >= external::least_discarded_bytes) files_.discard({blocks[0].file, blocks[0].offset}, num_bytes);
    blocks = blocks.subspan(count);
  }
}

}  // namespace spansort::table
