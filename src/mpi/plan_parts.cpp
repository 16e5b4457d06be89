// SPDX-License-Identifier: Apache-2.0
#include "mpi/plan_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "mpi/external/cluster_sort_in_parts.hpp"
#include "sort/kept_ranks.hpp"
#include "spansort/errors.hpp"

namespace spansort::mpi {
namespace {

/// The process grows by so many bytes besides what is planned: code that is paged in, stacks, the allocator's own, and
/// MPI's buffers for messages on their way.
constexpr std::uint64_t unplanned_bytes = std::uint64_t{3} << 20;
constexpr std::uint64_t buffers_of_mpi_bytes = std::uint64_t{12} << 20;
constexpr std::uint64_t buffers_of_a_peer_bytes = std::uint64_t{1} << 18;

/// Returns small blocks: every range of every node rank begins and ends within one of each run, which is read for both
/// and for the cut between them. They have several elements all the same, for blocks on disk are whole pages. Their
/// first keys and checksums take a 32nd of the memory, or little more.
std::uint64_t block_elements(const external::spill_demand& demand, std::uint64_t num_elements) {
  constexpr std::uint64_t least_bytes = std::uint64_t{8} << 10;
  constexpr std::uint64_t least_elements = 32;
  constexpr std::uint64_t table_share = 32;
  const std::uint64_t table_bytes = demand.memory_bytes / table_share;
  const std::uint64_t most_blocks =
      std::max<std::uint64_t>(table_bytes / (demand.key_bytes + sizeof(std::uint64_t)), 1);
  const std::uint64_t block_bytes = std::max({least_bytes, least_elements * demand.element_bytes,
                                              base::ceil_div(num_elements * demand.element_bytes, most_blocks)});
  return std::max<std::uint64_t>(block_bytes / demand.element_bytes, 1);
}

/// Returns what runs of `num_elements` take in temporary files, of each no more than `head`: whole blocks.
std::uint64_t bytes_of_runs(const external::spill_plan& spill, std::uint64_t num_elements, std::uint64_t head) {
  const std::uint64_t num_whole = num_elements / spill.chunk_elements;
  const std::uint64_t rest = num_elements % spill.chunk_elements;
  const auto num_blocks = [&](std::uint64_t num_sorted) {
    return base::ceil_div(std::min(num_sorted, head), spill.block_elements);
  };
  return (num_whole * num_blocks(spill.chunk_elements) + num_blocks(rest)) * spill.block_bytes;
}

}  // namespace

std::uint64_t ceiling_of_parts(const session::state& session) {
  const std::uint64_t given = session.given.memory_limit_bytes;
  return given != 0 ? given : base::available_memory_bytes() / 2 / session.num_sharing;
}

/// Plans as for a stream: the longest chunks for which there is memory, whatever the share, for a range is of all.
external::spill_plan plan_parts(const session::state& session, const std::string& input,
                                const external::element_order& order, std::uint64_t num_elements,
                                std::uint64_t ceiling_bytes) {
  const base::test_hooks& hooks = session.sort_settings.hooks;
  const std::uint64_t own = sorting::resident_bytes_with_nothing_kept() + unplanned_bytes + buffers_of_mpi_bytes +
                            session.group->num_nodes() * buffers_of_a_peer_bytes;
  external::spill_demand demand{.memory_bytes = ceiling_bytes > own ? ceiling_bytes - own : 0,
                                .element_bytes = order.element_bytes(),
                                .key_bytes = order.key_bytes(),
                                .sort_memory = order.sort_memory(),
                                .chunk_elements = hooks.file_chunk_elements,
                                .block_elements = hooks.file_block_elements,
                                .fan_in = hooks.file_fan_in};
  if (demand.block_elements == 0) demand.block_elements = block_elements(demand, num_elements);
  try {
    external::spill_plan plan = external::make_spill_plan(demand);
    plan.memory_bytes += own;
    return plan;
  } catch (const out_of_memory& failure) {
    const std::uint64_t needed = failure.needed_bytes() + own;
    throw out_of_memory(fmt::format("{}: {} bytes of memory (-S) are too few to sort it in parts; {} would do", input,
                                    ceiling_bytes, needed),
                        needed, ceiling_bytes);
  }
}

std::uint64_t head_of_runs(const file_options& file) noexcept {
  return file.verify ? no_head : file.head.value_or(no_head);
}

std::uint64_t num_spilled(const external::spill_plan& spill, std::uint64_t num_elements,
                          const file_options& file) noexcept {
  const std::uint64_t head = head_of_runs(file);
  return num_elements / spill.chunk_elements * std::min(spill.chunk_elements, head) +
         std::min(num_elements % spill.chunk_elements, head);
}

std::uint64_t bytes_to_spill(session::state& session, const external::spill_plan& spill, std::uint64_t num_elements,
                             const file_options& file) {
  const std::uint64_t bytes = bytes_of_runs(spill, num_elements, head_of_runs(file));
  if (!file.unique) return bytes;
  // What all have spilled is dealt out in equal parts, and a node rank of little memory has many runs, a head of each.
  const std::uint64_t mine = num_spilled(spill, num_elements, file);
  const std::uint64_t of_all = session.group->all_reduce_sum({&mine, 1}).front();
  const std::uint64_t part = base::ceil_div(of_all, std::uint64_t{session.group->num_nodes()});
  return bytes + base::ceil_div(part, spill.block_elements) * spill.block_bytes;
}

}  // namespace spansort::mpi
