// SPDX-License-Identifier: Apache-2.0
#include "mpi/plan_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::mpi {
namespace {

/// The process grows by so many bytes besides what is planned: code that is paged in, stacks, the allocator's own, and
/// MPI's buffers for messages on their way.
constexpr std::uint64_t unplanned_bytes = std::uint64_t{3} << 20;
constexpr std::uint64_t buffers_of_mpi_bytes = std::uint64_t{12} << 20;
constexpr std::uint64_t buffers_of_a_peer_bytes = std::uint64_t{1} << 18;

/// Returns small blocks: every range of every node rank begins and ends within one of each run. Their first keys and
/// checksums take a 32nd of the memory at most.
std::uint64_t block_elements(const external::spill_demand& demand, std::uint64_t num_elements) {
  constexpr std::uint64_t least_bytes = std::uint64_t{32} << 10;
  constexpr std::uint64_t table_share = 32;
  const std::uint64_t table_bytes = demand.memory_bytes / table_share;
  const std::uint64_t most_blocks =
      std::max<std::uint64_t>(table_bytes / (demand.key_bytes + sizeof(std::uint64_t)), 1);
  const std::uint64_t block_bytes =
      std::max(least_bytes, base::ceil_div(num_elements * demand.element_bytes, most_blocks));
  return std::max<std::uint64_t>(block_bytes / demand.element_bytes, 1);
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
  const std::uint64_t own = base::resident_memory_bytes() + unplanned_bytes + buffers_of_mpi_bytes +
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

}  // namespace spansort::mpi
