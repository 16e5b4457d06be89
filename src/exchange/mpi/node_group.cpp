// SPDX-License-Identifier: Apache-2.0
#include "exchange/mpi/node_group.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "exchange/mpi/group_state.hpp"

namespace spansort::exchange {
namespace {

using base::checked_cast;
using words = std::vector<std::uint64_t>;

/// Calls `move(first, count)` for pieces of at most `max_elements` that make up `num_elements`.
template <typename Move>
void in_pieces(std::uint64_t num_elements, std::uint64_t max_elements, Move&& move) {
  for (std::uint64_t first = 0; first < num_elements; first += max_elements) {
    move(first, checked_cast<int>(std::min(max_elements, num_elements - first)));
  }
}

/// Where each rank's part of a round lies in what the round gathers.
struct round_layout {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::size_t num_elements = 0;
};

round_layout lay_out_round(std::span<const std::uint64_t> sizes, std::uint64_t first, std::uint64_t most) {
  round_layout round;
  for (const std::uint64_t size : sizes) {
    const std::uint64_t count = size > first ? std::min(size - first, most) : 0;
    round.offsets.push_back(checked_cast<int>(round.num_elements));
    round.counts.push_back(checked_cast<int>(count));
    round.num_elements += count;
  }
  return round;
}

/// Parts of any size by rank, to all ranks or to the rank `to`. In rounds, because MPI's offsets are of type int.
template <typename T>
std::vector<std::vector<T>> gather_parts(node_group& group, std::span<const T> mine, MPI_Datatype type,
                                         std::optional<unsigned> to) {
  node_group::state& state = group.internals();
  const std::uint64_t my_size = mine.size();
  const words sizes = group.all_gather({&my_size, 1});
  const std::uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
  const std::uint64_t most = std::max<std::uint64_t>(1, state.max_elements / state.num_nodes);
  const bool receives = !to || *to == state.node_rank;
  std::vector<std::vector<T>> parts(receives ? state.num_nodes : 0);
  std::vector<T> gathered;
  for (std::uint64_t first = 0; first < longest; first += most) {
    const round_layout round = lay_out_round(sizes, first, most);
    if (receives) gathered.resize(round.num_elements);
    const int count = round.counts[state.node_rank];
    const T* const from = mine.data() + std::min<std::uint64_t>(first, my_size);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = to ? MPI_Igatherv(from, count, type, gathered.data(), round.counts.data(), round.offsets.data(),
                                       type, checked_cast<int>(*to), state.communicator, &request)
                        : MPI_Iallgatherv(from, count, type, gathered.data(), round.counts.data(), round.offsets.data(),
                                          type, state.communicator, &request);
    check_mpi(code, "MPI_Iallgatherv");
    state.wait(request, "MPI_Iallgatherv");
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const T* const part = gathered.data() + round.offsets[r];
      parts[r].insert(parts[r].end(), part, part + round.counts[r]);
    }
  }
  return parts;
}

std::vector<std::string> to_strings(const std::vector<std::vector<char>>& parts) {
  std::vector<std::string> strings;
  for (const std::vector<char>& part : parts) strings.emplace_back(part.begin(), part.end());
  return strings;
}

}  // namespace

node_group::node_group(std::unique_ptr<state> made) : state_(std::move(made)) {}
node_group::~node_group() = default;

unsigned node_group::node_rank() const noexcept { return state_->node_rank; }
unsigned node_group::num_nodes() const noexcept { return state_->num_nodes; }
failure_watch& node_group::watch() noexcept { return *state_->watch; }
void node_group::check() const { state_->watch->check(); }
void node_group::set_phase(std::string_view phase) { state_->watch->set_phase(phase); }
void node_group::announce_failure(std::string_view reason) noexcept { state_->watch->announce_failure(reason); }
void node_group::leave() noexcept { state_->watch->leave(); }

words node_group::all_gather(std::span<const std::uint64_t> mine) {
  words all(mine.size() * state_->num_nodes);
  const std::uint64_t most = std::max<std::uint64_t>(1, state_->max_elements / state_->num_nodes);
  words piece;
  in_pieces(mine.size(), most, [&](std::uint64_t first, int count) {
    const auto length = static_cast<std::size_t>(count);
    const bool whole = length == mine.size();
    if (!whole) piece.resize(length * state_->num_nodes);
    std::uint64_t* const to = whole ? all.data() : piece.data();
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(mine.data() + first, count, MPI_UINT64_T, to, count, MPI_UINT64_T, state_->communicator,
                             &request),
              "MPI_Iallgather");
    state_->wait(request, "MPI_Iallgather");
    for (std::size_t r = 0; !whole && r < state_->num_nodes; ++r) {
      std::copy_n(piece.data() + r * length, length, all.data() + r * mine.size() + first);
    }
  });
  return all;
}

std::vector<words> node_group::all_gather_varying(std::span<const std::uint64_t> mine) {
  return gather_parts<std::uint64_t>(*this, mine, MPI_UINT64_T, std::nullopt);
}

std::vector<std::string> node_group::all_gather_strings(std::string_view mine) {
  return to_strings(gather_parts<char>(*this, mine, MPI_CHAR, std::nullopt));
}

std::vector<std::vector<std::byte>> node_group::gather_bytes(std::span<const std::byte> mine, unsigned to) {
  SPANSORT_ASSERT(to < num_nodes());
  return gather_parts<std::byte>(*this, mine, MPI_BYTE, to);
}

std::vector<std::string> node_group::gather_strings(std::string_view mine, unsigned to) {
  SPANSORT_ASSERT(to < num_nodes());
  return to_strings(gather_parts<char>(*this, mine, MPI_CHAR, to));
}

words node_group::all_reduce_sum(std::span<const std::uint64_t> mine) {
  words sums(mine.size());
  in_pieces(mine.size(), state_->max_elements, [&](std::uint64_t first, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(mine.data() + first, sums.data() + first, count, MPI_UINT64_T, MPI_SUM,
                             state_->communicator, &request),
              "MPI_Iallreduce");
    state_->wait(request, "MPI_Iallreduce");
  });
  return sums;
}

words node_group::exclusive_scan_sum(std::span<const std::uint64_t> mine) {
  words sums(mine.size());
  in_pieces(mine.size(), state_->max_elements, [&](std::uint64_t first, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iexscan(mine.data() + first, sums.data() + first, count, MPI_UINT64_T, MPI_SUM, state_->communicator,
                          &request),
              "MPI_Iexscan");
    state_->wait(request, "MPI_Iexscan");
  });
  // MPI leaves the first rank's result undefined.
  if (node_rank() == 0) std::fill(sums.begin(), sums.end(), 0);
  return sums;
}

void node_group::broadcast(std::span<std::uint64_t> values, unsigned from) {
  SPANSORT_ASSERT(from < num_nodes());
  in_pieces(values.size(), state_->max_elements, [&](std::uint64_t first, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Ibcast(values.data() + first, count, MPI_UINT64_T, checked_cast<int>(from), state_->communicator, &request),
        "MPI_Ibcast");
    state_->wait(request, "MPI_Ibcast");
  });
}

words node_group::all_to_all(std::span<const std::uint64_t> mine) {
  const std::size_t num_nodes = state_->num_nodes;
  SPANSORT_ASSERT(mine.size() % num_nodes == 0);
  const std::size_t per_rank = mine.size() / num_nodes;
  words theirs(mine.size());
  words sent;
  words received;
  const std::uint64_t most = std::max<std::uint64_t>(1, state_->max_elements / num_nodes);
  in_pieces(per_rank, most, [&](std::uint64_t first, int count) {
    const auto length = static_cast<std::size_t>(count);
    sent.resize(length * num_nodes);
    received.resize(length * num_nodes);
    for (std::size_t r = 0; r < num_nodes; ++r) {
      std::copy_n(mine.data() + r * per_rank + first, length, sent.data() + r * length);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ialltoall(sent.data(), count, MPI_UINT64_T, received.data(), count, MPI_UINT64_T,
                            state_->communicator, &request),
              "MPI_Ialltoall");
    state_->wait(request, "MPI_Ialltoall");
    for (std::size_t r = 0; r < num_nodes; ++r) {
      std::copy_n(received.data() + r * length, length, theirs.data() + r * per_rank + first);
    }
  });
  return theirs;
}

void node_group::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(state_->communicator, &request), "MPI_Ibarrier");
  state_->wait(request, "MPI_Ibarrier");
}

}  // namespace spansort::exchange
