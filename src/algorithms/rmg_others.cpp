// SPDX-License-Identifier: Apache-2.0
// What RMG sort does because there are other processes: where this one's ranks stand among all, and what it tells and
// sends the others. Alone, everything here is as if this process were the first and the last.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "algorithms/rmg_state.hpp"
#include "base/assert.hpp"

namespace spansort::algorithms {

std::uint64_t rmg_state::input_begin(unsigned rank) const noexcept {
  const plan::parameters& p = planner_.params();
  return source_begin(p, planned(rank)) - source_begin(p, first_rank_);
}

std::uint64_t rmg_state::output_begin(unsigned rank) const noexcept {
  return plan_.rank_begins[planned(rank)] - plan_.rank_begins[first_rank_];
}

const device::records& rmg_state::output() const noexcept {
  return sort_.others == nullptr ? sort_.data : sort_.others->result;
}

void rmg_state::enter(std::string_view phase) {
  if (sort_.others != nullptr) sort_.others->group->enter_phase(phase);
}

/// Every process knows all pending slices, so counts travel without saying whose they are: process by process, and of
/// each in the order of its slices.
void rmg_state::fill_in_counts_of_others() {
  const cluster_sort& others = *sort_.others;
  const auto process_of = [&](unsigned rank) {
    return static_cast<std::size_t>(std::ranges::upper_bound(others.first_ranks, rank) - others.first_ranks.begin() -
                                    1);
  };
  std::vector<std::uint64_t> mine;
  std::vector<std::uint64_t> next(others.first_ranks.size());  // next[process + 1]: how many counts that process gives
  for_each_slice([&](const plan::refinement&, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    next[process_of(slice.rank) + 1] += counts.size();
    if (is_mine(slice.rank)) mine.insert(mine.end(), counts.begin(), counts.end());
  });
  std::partial_sum(next.begin(), next.end(), next.begin());  // now where each process's counts begin
  std::vector<std::uint64_t> all;
  run_.time_on_host("index", 0, [&] { all = others.group->gather(mine); });
  SPANSORT_ASSERT(all.size() == next.back());
  for_each_slice([&](const plan::refinement&, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    std::uint64_t& begin = next[process_of(slice.rank)];
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(begin), counts.size(), counts.begin());
    begin += counts.size();
  });
}

std::vector<plan::transfer> rmg_state::transfers_between_own() const {
  std::vector<plan::transfer> transfers;
  for (plan::transfer t : plan_.transfers) {
    if (!is_mine(t.source_rank) || !is_mine(t.destination_rank)) continue;
    t.source_rank -= first_rank_;
    t.destination_rank -= first_rank_;
    if (!buffers_[t.source_rank].is_closed) transfers.push_back(t);
  }
  return transfers;
}

void rmg_state::push_to_others(std::span<const endpoint> endpoints) {
  exchanged moved;
  run_.time_on_host("exchange", sort_.num_keys * sort_.shape.bytes(),
                    [&] { moved = sort_.others->group->push(sort_.shape, plan_.transfers, endpoints, first_rank_); });
  run_.report().exchanged_bytes += moved.bytes;
  run_.report().staged_bytes += moved.staged_bytes;
}

}  // namespace spansort::algorithms
