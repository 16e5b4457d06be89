// SPDX-License-Identifier: Apache-2.0
#include "files/external/spill_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::external {
namespace {

constexpr std::uint64_t most_block_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t least_block_bytes = std::uint64_t{16} << 10;
constexpr std::uint64_t most_batch_bytes = std::uint64_t{4} << 20;
/// Shares of the memory: a chunk is large against what is read at a time, tables are small against chunks.
constexpr std::uint64_t batches_of_a_chunk = 64;
constexpr std::uint64_t table_share = 16;
/// Threads of input and output, their stacks and the system's buffers.
constexpr std::uint64_t thread_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t num_chunks_at_once = 3;
/// Smaller chunks would be merged through ever more passes.
constexpr std::uint64_t least_chunk_elements = 1024;
constexpr std::uint64_t least_chunk_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t checksum_bytes = 8;

/// Bytes of memory for every element of a chunk: three buffers, the sort's workspace, and the tails that ranges carry
/// over, which are half a chunk at most.
std::uint64_t chunk_bytes_per_element(const spill_demand& d) {
  return num_chunks_at_once * d.element_bytes + base::ceil_div(d.element_bytes, std::uint64_t{2}) +
         d.sort_memory.element_bytes;
}

std::uint64_t table_bytes(const spill_demand& d) { return d.memory_bytes / table_share; }

std::uint64_t fixed_bytes(const spill_demand& d) { return d.sort_memory.fixed_bytes + thread_bytes + table_bytes(d); }

std::uint64_t batch_bytes_for(std::uint64_t chunk_bytes, std::uint64_t block_bytes) {
  const std::uint64_t wanted = std::bit_floor(std::max<std::uint64_t>(chunk_bytes / batches_of_a_chunk, 1));
  return base::round_up(std::clamp(wanted, std::min(block_bytes, most_batch_bytes), most_batch_bytes), block_bytes);
}

std::uint64_t staging_bytes(std::uint64_t batch_bytes) { return 2 * num_io_threads * batch_bytes; }

/// Elements of a chunk when batches take their part of the memory, too.
std::uint64_t chunk_elements_for(const spill_demand& d) {
  const std::uint64_t fixed = fixed_bytes(d) + staging_bytes(least_block_bytes + 2 * direct_alignment_bytes);
  if (d.memory_bytes <= fixed) return 0;
  const std::uint64_t for_chunks = d.memory_bytes - fixed;
  // Staging is at most 2 * num_io_threads batches of a 64th of a chunk.
  const std::uint64_t per_element = chunk_bytes_per_element(d) + base::ceil_div(2 * num_io_threads * d.element_bytes,
                                                                                std::uint64_t{batches_of_a_chunk});
  return for_chunks / per_element;
}

bool is_enough(const spill_demand& d, std::uint64_t chunk_elements) {
  return chunk_elements >= std::max(least_chunk_elements, least_chunk_bytes / d.element_bytes);
}

/// More memory never holds fewer elements. A little is added: the process itself does not always take the same.
std::uint64_t least_memory_bytes(spill_demand d) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  std::uint64_t too_few = 0;
  std::uint64_t enough = std::uint64_t{1} << 40;  // mebibytes
  while (enough - too_few > 1) {
    const std::uint64_t middle = too_few + (enough - too_few) / 2;
    d.memory_bytes = middle * mebibyte;
    (is_enough(d, chunk_elements_for(d)) ? enough : too_few) = middle;
  }
  return (enough + 1) * mebibyte;
}

void set_block(spill_plan& p, const spill_demand& d, std::uint64_t block_bytes) {
  // Tails and one block more must fit in a chunk, however few runs are merged.
  const std::uint64_t most = std::max<std::uint64_t>(1, p.chunk_elements / 4);
  const std::uint64_t wanted_elements = d.block_elements != 0 ? d.block_elements : block_bytes / d.element_bytes;
  p.block_elements = std::clamp<std::uint64_t>(wanted_elements, 1, most);
  p.block_bytes = base::round_up(p.block_elements * d.element_bytes, direct_alignment_bytes);
  p.batch_bytes = batch_bytes_for(p.chunk_elements * d.element_bytes, p.block_bytes);
  const std::uint64_t wanted = d.fan_in != 0 ? d.fan_in : std::numeric_limits<std::uint64_t>::max();
  // The tails of all runs together are at most half of a chunk.
  p.fan_in =
      std::clamp<std::uint64_t>(p.chunk_elements / (2 * p.block_elements), 2, std::max<std::uint64_t>(wanted, 2));
}

void count_passes(spill_plan& p, const spill_demand& d) {
  if (!d.num_elements) return;
  p.num_runs = base::ceil_div(*d.num_elements, p.chunk_elements);
  p.num_merges = 1;
  for (std::uint64_t runs = p.num_runs; runs > p.fan_in; runs = base::ceil_div(runs, p.fan_in)) ++p.num_merges;
  p.spilled_bytes = p.num_merges * *d.num_elements * d.element_bytes;
}

/// Returns the bytes of the tables of two passes at most: those that are read and those that are written.
std::uint64_t table_bytes_of(const spill_plan& p, const spill_demand& d) {
  const std::uint64_t blocks = base::ceil_div(d.num_elements.value_or(0), p.block_elements) + p.num_runs;
  return blocks * (d.key_bytes + checksum_bytes) * (p.num_merges > 1 ? 2 : 1);
}

/// Returns the least block of B bytes with which the first keys and checksums of all that one merge takes keep to the
/// share of tables: that is C * C / (2 B) bytes, C those of a chunk.
std::uint64_t least_block_for_tables(const spill_plan& p, const spill_demand& d) {
  const double entry = static_cast<double>(d.key_bytes + checksum_bytes);
  const double memory = static_cast<double>(std::max<std::uint64_t>(d.memory_bytes, 1));
  const double chunk = static_cast<double>(p.chunk_elements) * static_cast<double>(d.element_bytes);
  const double block = chunk * std::sqrt(static_cast<double>(table_share) / 2 * entry / memory);
  return std::bit_ceil(static_cast<std::uint64_t>(std::min(block, static_cast<double>(most_batch_bytes))));
}

std::uint64_t memory_bytes_of(const spill_plan& p, const spill_demand& d) {
  return fixed_bytes(d) + p.chunk_elements * chunk_bytes_per_element(d) + staging_bytes(p.batch_bytes);
}

/// Batches of large blocks are more than the part of a chunk that they are thought to be.
void make_room_for_batches(spill_plan& p, const spill_demand& d) {
  const std::uint64_t taken = memory_bytes_of(p, d);
  if (d.chunk_elements != 0 || taken <= d.memory_bytes) return;
  const std::uint64_t too_many = base::ceil_div(taken - d.memory_bytes, chunk_bytes_per_element(d));
  p.chunk_elements -= std::min(too_many, p.chunk_elements - 1);
}

/// The fewest passes, then the largest blocks.
void choose_block(spill_plan& p, const spill_demand& d) {
  std::optional<spill_plan> best;
  for (std::uint64_t bytes = most_block_bytes; bytes >= least_block_bytes; bytes /= 2) {
    if (bytes > least_block_bytes && bytes > p.chunk_elements * d.element_bytes / batches_of_a_chunk) continue;
    spill_plan candidate = p;
    set_block(candidate, d, bytes);
    count_passes(candidate, d);
    if (best && table_bytes_of(candidate, d) > table_bytes(d)) break;
    if (!best || candidate.num_merges < best->num_merges) best = candidate;
  }
  p = *best;
}

}  // namespace

std::uint64_t elements_that_fit(const spill_demand& d) {
  if (d.chunk_elements != 0) return d.chunk_elements;
  const std::uint64_t fixed = d.sort_memory.fixed_bytes + thread_bytes;
  if (d.memory_bytes <= fixed) return 0;
  return (d.memory_bytes - fixed) / (d.element_bytes + d.sort_memory.element_bytes);
}

spill_plan make_spill_plan(const spill_demand& d) {
  spill_plan p;
  if (d.num_elements && *d.num_elements <= elements_that_fit(d)) {
    p.chunk_elements = std::max<std::uint64_t>(*d.num_elements, 1);
    set_block(p, d, least_block_bytes);  // for a source that has more than it said
    p.memory_bytes =
        d.sort_memory.fixed_bytes + thread_bytes + p.chunk_elements * (d.element_bytes + d.sort_memory.element_bytes);
    return p;
  }
  p.chunk_elements = d.chunk_elements != 0 ? d.chunk_elements : chunk_elements_for(d);
  if (d.chunk_elements == 0 && !is_enough(d, p.chunk_elements)) {
    const std::uint64_t needed = least_memory_bytes(d);
    throw out_of_memory(
        fmt::format("{} bytes of memory are too few to sort a file in parts; {} would do", d.memory_bytes, needed),
        needed, d.memory_bytes);
  }
  if (d.block_elements != 0) {
    set_block(p, d, 0);
    count_passes(p, d);
  } else if (d.num_elements) {
    choose_block(p, d);
  } else {
    // A stream may be of any length: blocks that let hundreds of runs be merged at once.
    const std::uint64_t chunk_bytes = p.chunk_elements * d.element_bytes;
    const std::uint64_t for_fan_in =
        std::clamp(std::bit_floor(chunk_bytes / 512 + 1), least_block_bytes, most_block_bytes);
    const std::uint64_t block_bytes = std::max(for_fan_in, least_block_for_tables(p, d));
    set_block(p, d, block_bytes);
    make_room_for_batches(p, d);
    set_block(p, d, block_bytes);
  }
  p.memory_bytes = memory_bytes_of(p, d);
  return p;
}

}  // namespace spansort::external
