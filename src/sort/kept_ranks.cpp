// SPDX-License-Identifier: Apache-2.0
#include "sort/kept_ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "algorithms/workspace.hpp"
#include "base/available_memory.hpp"
#include "device/host/host_memory.hpp"
#include "device/host/topology.hpp"

namespace spansort::sorting {
namespace {

using ranks = std::vector<algorithms::rank>;

struct rank_keeper {
  std::mutex in_use;
  rank_kind kind;
  ranks kept;
  int process = 0;                        ///< whose threads they have
  std::vector<ranks> of_other_processes;  ///< from before a fork: nobody can end the threads that they had
};

/// Lives as long as the threads of its ranks do.
rank_keeper& process_wide() {
  static auto* const one = new rank_keeper;
  return *one;
}

/// Returns what is kept, and keeps nothing; what another process has left stays where it is.
ranks take_all(rank_keeper& keeper) {
  const int process = ::getpid();
  if (!keeper.kept.empty() && keeper.process != process) {
    keeper.of_other_processes.push_back(std::move(keeper.kept));
    keeper.kept.clear();
  }
  keeper.process = process;
  return std::exchange(keeper.kept, {});
}

void make_workspace_reclaimable(const ranks& of) noexcept {
  for (const algorithms::rank& r : of) {
    for (const auto* slots : {&r.slots, &r.host_slots}) {
      for (const device::buffer& slot : *slots) {
        if (slot.size_bytes() != 0) device::host::make_reclaimable(slot.data(), slot.size_bytes());
      }
    }
  }
}

}  // namespace

std::uint64_t most_kept_bytes() {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  static const std::uint64_t bytes =
      std::min({most, device::host::total_memory_bytes(-1) / 32, base::available_memory_bytes() / 16});
  return bytes;
}

ranks take_kept_ranks(const rank_kind& kind) noexcept {
  rank_keeper& keeper = process_wide();
  const std::unique_lock lock(keeper.in_use, std::try_to_lock);
  if (!lock.owns_lock() || keeper.kind != kind) return {};
  try {
    return take_all(keeper);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void keep_ranks(const rank_kind& kind, ranks left) noexcept {
  ranks replaced;
  try {
    if (algorithms::held_bytes(left) > most_kept_bytes()) algorithms::release(left);
    make_workspace_reclaimable(left);
    rank_keeper& keeper = process_wide();
    const std::unique_lock lock(keeper.in_use, std::try_to_lock);
    if (!lock.owns_lock()) return;
    replaced = take_all(keeper);
    keeper.kind = kind;
    keeper.kept = std::move(left);
  } catch (const std::bad_alloc&) {
    return;  // those that were left go
  }
}

bool release_kept_ranks() noexcept {
  ranks released;
  try {
    rank_keeper& keeper = process_wide();
    const std::unique_lock lock(keeper.in_use, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    released = take_all(keeper);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return !released.empty();
}

}  // namespace spansort::sorting
