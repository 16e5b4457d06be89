// SPDX-License-Identifier: Apache-2.0
#include "sort/kept_ranks.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "algorithms/workspace.hpp"
#include "base/available_memory.hpp"
#include "device/host/host_memory.hpp"
#include "device/host/topology.hpp"
#include "spansort/sort.hpp"

namespace spansort::sorting {
namespace {

using ranks = std::vector<algorithms::rank>;

struct rank_keeper {
  std::mutex in_use;
  rank_kind kind;
  ranks kept;
  std::uint64_t generation = 0;           ///< of the process whose threads they have
  std::vector<ranks> of_other_processes;  ///< from before a fork: nobody can end the threads that they had
};

/// Counts forks on the way to this process. Process numbers would not do: a child in a namespace of its own may have
/// its parent's.
std::atomic<std::uint64_t> num_forks = 0;

/// Lives as long as the threads of its ranks do.
rank_keeper& process_wide() {
  static auto* const one = [] {
    ::pthread_atfork(nullptr, nullptr, [] { ++num_forks; });
    return new rank_keeper;
  }();
  return *one;
}

/// Returns what is kept, and keeps nothing; what another process has left stays where it is.
ranks take_all(rank_keeper& keeper) {
  if (!keeper.kept.empty() && keeper.generation != num_forks) {
    keeper.of_other_processes.push_back(std::move(keeper.kept));
    keeper.kept.clear();
  }
  keeper.generation = num_forks;
  return std::exchange(keeper.kept, {});
}

/// Returns whether is_true(data, size_bytes) is so for all workspace.
template <class Predicate>
bool is_true_of_workspace(const ranks& of, const Predicate& is_true) {
  for (const algorithms::rank& r : of) {
    for (const auto* slots : {&r.slots, &r.host_slots}) {
      for (const device::buffer& slot : *slots) {
        if (slot.size_bytes() != 0 && !is_true(slot.data(), slot.size_bytes())) return false;
      }
    }
  }
  return true;
}

/// Releases the workspace where the kernel has taken it, or it has never been written, and there is no memory for it
/// now: nobody asks before workspace that is held is written. To ask takes 0.2 ms on an Emerald Rapids.
void release_what_is_gone(ranks& taken) {
  constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;
  const std::uint64_t held = algorithms::held_bytes(taken);
  if (held < worth_asking_bytes || is_true_of_workspace(taken, device::host::seems_resident)) return;
  if (held > base::available_memory_bytes()) algorithms::release(taken);
}

}  // namespace

std::uint64_t most_kept_bytes() {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  static const std::uint64_t bytes =
      std::min({most, device::host::total_memory_bytes(-1) / 32, base::available_memory_bytes() / 16});
  return bytes;
}

rank_kind kind_of_ranks(unsigned num_threads, bool across_nodes) noexcept {
  rank_kind kind{num_threads, across_nodes};
  // A machine may have more processors than a set holds: none are known then, and ranks are shared regardless of them.
  static_cast<void>(::sched_getaffinity(0, sizeof(kind.processors), &kind.processors));
  return kind;
}

ranks take_kept_ranks(const rank_kind& kind) noexcept {
  rank_keeper& keeper = process_wide();
  const std::unique_lock lock(keeper.in_use, std::try_to_lock);
  if (!lock.owns_lock() || !(keeper.kind == kind)) return {};
  try {
    ranks taken = take_all(keeper);
    release_what_is_gone(taken);
    return taken;
  } catch (...) {  // without memory to look at the machine, or to set others' ranks aside
    return {};
  }
}

void keep_ranks(const rank_kind& kind, ranks left) noexcept {
  ranks replaced;
  try {
    // It may not be reclaimed where a program has locked its memory.
    if (algorithms::held_bytes(left) > most_kept_bytes() ||
        !is_true_of_workspace(left, device::host::make_reclaimable)) {
      algorithms::release(left);
    }
    rank_keeper& keeper = process_wide();
    const std::unique_lock lock(keeper.in_use, std::try_to_lock);
    if (!lock.owns_lock()) return;
    replaced = take_all(keeper);
    keeper.kind = kind;
    keeper.kept = std::move(left);
  } catch (...) {
    return;  // the ranks that were left go
  }
}

bool release_kept_ranks() noexcept {
  ranks released;
  try {
    rank_keeper& keeper = process_wide();
    const std::unique_lock lock(keeper.in_use, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    released = take_all(keeper);
  } catch (...) {
    return false;
  }
  return !released.empty();
}

std::uint64_t resident_bytes_with_nothing_kept() {
  release_kept_memory();
  return base::resident_memory_bytes();
}

}  // namespace spansort::sorting
