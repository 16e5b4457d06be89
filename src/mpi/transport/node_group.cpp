// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/node_group.hpp"

#include <algorithm>
#include <exception>
#include <memory>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "mpi/transport/group_state.hpp"

namespace spansort::transport {
namespace {

using base::checked_cast;
using words = std::vector<std::uint64_t>;

/// What one MPI operation reads and writes.
struct operation_memory {
  words sent;
  words received;
  std::vector<int> counts;
  std::vector<int> offsets;
};

/// Starts an operation by `start(memory, request)` and waits for its end. The caller's memory is not given to MPI,
/// because an operation that is abandoned when a node rank fails cannot be cancelled: MPI goes on with it whenever it
/// is called again, if only to be finalised. So its memory is never freed.
template <typename Start>
void run(node_group::state& state, std::unique_ptr<operation_memory>& memory, std::string_view call, Start&& start) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(start(*memory, &request), call);
  try {
    state.wait(request, call);
  } catch (...) {
    static_cast<void>(memory.release());
    throw;
  }
}

/// Calls `move(first, count)` for pieces of at most `max_elements` that make up `num_elements`.
template <typename Move>
void in_pieces(std::uint64_t num_elements, std::uint64_t max_elements, Move&& move) {
  for (std::uint64_t first = 0; first < num_elements; first += max_elements) {
    move(first, checked_cast<int>(std::min(max_elements, num_elements - first)));
  }
}

/// Sets where each node rank's part of a round lies in what the round gathers; returns the sum of their sizes.
std::size_t lay_out_round(operation_memory& memory, std::span<const std::uint64_t> sizes, std::uint64_t first,
                          std::uint64_t most) {
  std::size_t num_elements = 0;
  memory.counts.clear();
  memory.offsets.clear();
  for (const std::uint64_t size : sizes) {
    const std::uint64_t count = size > first ? std::min(size - first, most) : 0;
    memory.offsets.push_back(checked_cast<int>(num_elements));
    memory.counts.push_back(checked_cast<int>(count));
    num_elements += count;
  }
  return num_elements;
}

/// Parts of any size by node rank. In rounds, because MPI's offsets are of type int.
std::vector<words> gather_parts(node_group& group, std::span<const std::uint64_t> mine) {
  node_group::state& state = group.internals();
  const std::uint64_t my_size = mine.size();
  const words sizes = group.all_gather({&my_size, 1});
  const std::uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
  const std::uint64_t most = std::max<std::uint64_t>(1, state.max_elements / state.num_nodes);
  std::vector<words> parts(state.num_nodes);
  auto memory = std::make_unique<operation_memory>();
  for (std::uint64_t first = 0; first < longest; first += most) {
    memory->received.resize(lay_out_round(*memory, sizes, first, most));
    const auto from = mine.begin() + static_cast<std::ptrdiff_t>(std::min(first, my_size));
    memory->sent.assign(from, from + memory->counts[state.node_rank]);
    run(state, memory, "MPI_Iallgatherv", [&](auto& m, MPI_Request* request) {
      return MPI_Iallgatherv(m.sent.data(), checked_cast<int>(m.sent.size()), MPI_UINT64_T, m.received.data(),
                             m.counts.data(), m.offsets.data(), MPI_UINT64_T, state.communicator, request);
    });
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const std::uint64_t* const part = memory->received.data() + memory->offsets[r];
      parts[r].insert(parts[r].end(), part, part + memory->counts[r]);
    }
  }
  return parts;
}

/// An operation that turns as many numbers as a node rank has into as many.
template <typename Start>
words run_elementwise(node_group::state& state, std::span<const std::uint64_t> mine, std::string_view call,
                      Start&& start) {
  words results(mine.size());
  auto memory = std::make_unique<operation_memory>();
  in_pieces(mine.size(), state.max_elements, [&](std::uint64_t first, int count) {
    const auto from = mine.begin() + static_cast<std::ptrdiff_t>(first);
    memory->sent.assign(from, from + count);
    memory->received.resize(memory->sent.size());
    run(state, memory, call, [&](auto& m, MPI_Request* request) { return start(m, count, request); });
    std::ranges::copy(memory->received, results.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return results;
}

}  // namespace

node_group::node_group(std::unique_ptr<state> made) : state_(std::move(made)) {}
node_group::~node_group() = default;

unsigned node_group::node_rank() const noexcept { return state_->node_rank; }
unsigned node_group::num_nodes() const noexcept { return state_->num_nodes; }
failure_watch& node_group::watch() noexcept { return *state_->watch; }
void node_group::check() const { state_->watch->check(); }
void node_group::set_phase(std::string_view phase) {
  state_->watch->set_phase(phase);
  if (!state_->on_phase) return;
  try {
    state_->on_phase(phase);
  } catch (const std::exception& failure) {
    announce_failure(failure.what());
    throw;
  }
}
void node_group::announce_failure(std::string_view reason) noexcept { state_->watch->announce_failure(reason); }
void node_group::leave() noexcept { state_->watch->leave(); }

words node_group::all_gather(std::span<const std::uint64_t> mine) {
  const std::size_t num_nodes = state_->num_nodes;
  words all(mine.size() * num_nodes);
  const std::uint64_t most = std::max<std::uint64_t>(1, state_->max_elements / num_nodes);
  auto memory = std::make_unique<operation_memory>();
  in_pieces(mine.size(), most, [&](std::uint64_t first, int count) {
    const auto length = static_cast<std::size_t>(count);
    const auto from = mine.begin() + static_cast<std::ptrdiff_t>(first);
    memory->sent.assign(from, from + count);
    memory->received.resize(length * num_nodes);
    run(*state_, memory, "MPI_Iallgather", [&](auto& m, MPI_Request* request) {
      return MPI_Iallgather(m.sent.data(), count, MPI_UINT64_T, m.received.data(), count, MPI_UINT64_T,
                            state_->communicator, request);
    });
    for (std::size_t r = 0; r < num_nodes; ++r) {
      std::copy_n(memory->received.data() + r * length, length, all.data() + r * mine.size() + first);
    }
  });
  return all;
}

std::vector<words> node_group::all_gather_varying(std::span<const std::uint64_t> mine) {
  return gather_parts(*this, mine);
}

words node_group::all_reduce_sum(std::span<const std::uint64_t> mine) {
  return run_elementwise(*state_, mine, "MPI_Iallreduce", [&](auto& m, int count, MPI_Request* request) {
    return MPI_Iallreduce(m.sent.data(), m.received.data(), count, MPI_UINT64_T, MPI_SUM, state_->communicator,
                          request);
  });
}

words node_group::exclusive_scan_sum(std::span<const std::uint64_t> mine) {
  words sums = run_elementwise(*state_, mine, "MPI_Iexscan", [&](auto& m, int count, MPI_Request* request) {
    return MPI_Iexscan(m.sent.data(), m.received.data(), count, MPI_UINT64_T, MPI_SUM, state_->communicator, request);
  });
  // MPI leaves the first node rank's result undefined.
  if (node_rank() == 0) std::ranges::fill(sums, 0);
  return sums;
}

void node_group::broadcast(std::span<std::uint64_t> values, unsigned from) {
  SPANSORT_ASSERT(from < num_nodes());
  auto memory = std::make_unique<operation_memory>();
  in_pieces(values.size(), state_->max_elements, [&](std::uint64_t first, int count) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    memory->sent.assign(begin, begin + count);
    run(*state_, memory, "MPI_Ibcast", [&](auto& m, MPI_Request* request) {
      return MPI_Ibcast(m.sent.data(), count, MPI_UINT64_T, checked_cast<int>(from), state_->communicator, request);
    });
    std::ranges::copy(memory->sent, begin);
  });
}

words node_group::all_to_all(std::span<const std::uint64_t> mine) {
  const std::size_t num_nodes = state_->num_nodes;
  SPANSORT_ASSERT(mine.size() % num_nodes == 0);
  const std::size_t per_node = mine.size() / num_nodes;
  words theirs(mine.size());
  const std::uint64_t most = std::max<std::uint64_t>(1, state_->max_elements / num_nodes);
  auto memory = std::make_unique<operation_memory>();
  in_pieces(per_node, most, [&](std::uint64_t first, int count) {
    const auto length = static_cast<std::size_t>(count);
    memory->sent.resize(length * num_nodes);
    memory->received.resize(length * num_nodes);
    for (std::size_t r = 0; r < num_nodes; ++r) {
      std::copy_n(mine.data() + r * per_node + first, length, memory->sent.data() + r * length);
    }
    run(*state_, memory, "MPI_Ialltoall", [&](auto& m, MPI_Request* request) {
      return MPI_Ialltoall(m.sent.data(), count, MPI_UINT64_T, m.received.data(), count, MPI_UINT64_T,
                           state_->communicator, request);
    });
    for (std::size_t r = 0; r < num_nodes; ++r) {
      std::copy_n(memory->received.data() + r * length, length, theirs.data() + r * per_node + first);
    }
  });
  return theirs;
}

void node_group::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(state_->communicator, &request), "MPI_Ibarrier");
  state_->wait(request, "MPI_Ibarrier");
}

}  // namespace spansort::transport
