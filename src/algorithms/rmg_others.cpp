// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rmg_others.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/rmg.hpp"
#include "base/assert.hpp"

namespace spansort::algorithms {
namespace {

/// Processes that reach each other through the problem's communicator.
class processes final : public rmg_others {
 public:
  processes(run_context& run, const problem& sort) : run_(run), sort_(sort), all_(*sort.others) {}

  void enter(std::string_view phase) override { all_.group->set_phase(phase); }

  /// Every process knows all pending slices, so counts travel without saying whose they are: process by process, and of
  /// each in the order of its slices.
  void share_counts(std::span<const slice_counts> slices) override {
    std::vector<std::uint64_t> mine;
    std::vector<std::uint64_t> next(all_.first_ranks.size());  // next[process + 1]: how many counts that process gives
    for (const slice_counts& slice : slices) {
      const std::size_t process = process_of(slice.rank);
      next[process + 1] += slice.counts->size();
      if (process == all_.process) mine.insert(mine.end(), slice.counts->begin(), slice.counts->end());
    }
    std::partial_sum(next.begin(), next.end(), next.begin());  // now where each process's counts begin
    std::vector<std::uint64_t> gathered;
    run_.time_on_host("index", 0, [&] { gathered = all_.group->all_gather_joined(mine); });
    SPANSORT_ASSERT(gathered.size() == next.back());
    for (const slice_counts& slice : slices) {
      std::uint64_t& begin = next[process_of(slice.rank)];
      std::copy_n(gathered.begin() + static_cast<std::ptrdiff_t>(begin), slice.counts->size(), slice.counts->begin());
      begin += slice.counts->size();
    }
  }

  void complete_sources() override { run_.finish_phase("partition", fraction_after_partitioning, 0); }

  [[nodiscard]] transport::exchange* between_processes() override { return all_.between_processes; }
  void time_exchange(const std::function<void()>& execute) override {
    run_.time_on_host("exchange", sort_.num_keys * sort_.shape.bytes(), execute);
  }

 private:
  [[nodiscard]] std::size_t process_of(unsigned rank) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(all_.first_ranks, rank) - all_.first_ranks.begin() - 1);
  }

  run_context& run_;
  const problem& sort_;
  const cluster_sort& all_;
};

}  // namespace

unsigned first_rank_of(const problem& sort) { return sort.others == nullptr ? 0 : sort.others->first_rank(); }

std::unique_ptr<rmg_others> make_rmg_others(run_context& run, const problem& sort) {
  if (sort.others == nullptr) return std::make_unique<rmg_others>();
  return std::make_unique<processes>(run, sort);
}

}  // namespace spansort::algorithms
