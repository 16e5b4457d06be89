// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rmg_others.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/rmg.hpp"
#include "base/assert.hpp"

namespace spansort::algorithms {
namespace {

/// Processes that reach each other through the problem's communicator. Each plans for its own ranks: they sum their
/// counts, and tell each rank what they have for it.
class processes : public rmg_others {
 public:
  processes(run_context& run, const problem& sort) : run_(run), sort_(sort), all_(*sort.others) {}

  void enter(std::string_view phase) override { all_.group->set_phase(phase); }

  [[nodiscard]] plan::planner make_planner(const plan::parameters& p) const override {
    return {p, ranks_of(all_.process)};
  }

  void add_pass(plan::planner& planner, slice_histograms& histograms) override {
    const std::vector<std::uint64_t> mine = planner.sum(histograms);
    plan::pass_sums sums;
    run_.time_on_host("index", 0, [&] {
      sums.before = all_.group->exclusive_scan_sum(mine);
      sums.all = all_.group->all_reduce_sum(mine);
    });
    planner.add_pass(histograms, sums);
  }

  /// All know who holds how many buckets, so that counts travel without saying how many there are: as many to every
  /// process as to the one that gets the most.
  [[nodiscard]] plan::sort_plan finish(plan::planner&& planner) override {
    const std::size_t most = most_counts(planner);
    std::vector<std::uint64_t> mine(most * num_processes());
    for (unsigned p = 0; p < num_processes(); ++p) {
      std::ranges::copy(planner.counts_for(ranks_of(p)), mine.begin() + static_cast<std::ptrdiff_t>(p * most));
    }
    std::vector<std::uint64_t> theirs;
    run_.time_on_host("index", 0, [&] { theirs = all_.group->all_to_all(mine); });
    const std::size_t num_buckets = planner.buckets_of(ranks_of(all_.process)).size();
    std::vector<std::uint64_t> incoming;
    for (unsigned p = 0; p < num_processes(); ++p) {
      const std::span its = std::span(theirs).subspan(p * most, ranks_of(p).count * num_buckets);
      incoming.insert(incoming.end(), its.begin(), its.end());
    }
    return std::move(planner).finish(incoming);
  }

  void complete_sources() override { run_.finish_phase("partition", fraction_after_partitioning, 0); }

  [[nodiscard]] transport::exchange* between_processes() override { return all_.between_processes; }
  void time_exchange(const std::function<void()>& execute) override {
    run_.time_on_host("exchange", sort_.num_keys * sort_.shape.bytes(), execute);
  }

 protected:
  [[nodiscard]] unsigned num_processes() const { return static_cast<unsigned>(all_.first_ranks.size() - 1); }
  [[nodiscard]] std::size_t process_of(unsigned rank) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(all_.first_ranks, rank) - all_.first_ranks.begin() - 1);
  }

  run_context& run_;
  const problem& sort_;
  const cluster_sort& all_;

 private:
  [[nodiscard]] plan::rank_group ranks_of(unsigned process) const {
    return {all_.first_ranks[process], all_.first_ranks[process + 1] - all_.first_ranks[process]};
  }
  /// Returns how many counts a process may have for another one.
  [[nodiscard]] std::size_t most_counts(const plan::planner& planner) const {
    std::size_t most_ranks = 0;
    std::size_t most_buckets = 0;
    for (unsigned p = 0; p < num_processes(); ++p) {
      most_ranks = std::max<std::size_t>(most_ranks, ranks_of(p).count);
      most_buckets = std::max(most_buckets, planner.buckets_of(ranks_of(p)).size());
    }
    return most_ranks * most_buckets;
  }
};

/// Processes that all make the plan of all ranks, for a report that shows it: they gather all counts.
class gathering_processes final : public processes {
 public:
  using processes::processes;

  [[nodiscard]] plan::planner make_planner(const plan::parameters& p) const override { return plan::planner(p); }

  void add_pass(plan::planner& planner, slice_histograms& histograms) override {
    gather(planner.pending(), histograms);
    planner.add_pass(histograms);
  }

  [[nodiscard]] plan::sort_plan finish(plan::planner&& planner) override { return std::move(planner).finish(); }

 private:
  /// Every process knows all pending slices, so counts travel without saying whose they are: process by process, and of
  /// each in the order of its slices.
  void gather(const std::vector<plan::refinement>& pending, slice_histograms& histograms) {
    std::vector<std::uint64_t> mine;
    std::vector<std::uint64_t> next(all_.first_ranks.size());  // next[process + 1]: how many counts that process gives
    for (std::size_t i = 0; i < pending.size(); ++i) {
      for (std::size_t j = 0; j < pending[i].slices.size(); ++j) {
        const std::size_t process = process_of(pending[i].slices[j].rank);
        const std::vector<std::uint64_t>& counts = histograms[i][j];
        next[process + 1] += counts.size();
        if (process == all_.process) mine.insert(mine.end(), counts.begin(), counts.end());
      }
    }
    std::partial_sum(next.begin(), next.end(), next.begin());  // now where each process's counts begin
    std::vector<std::uint64_t> gathered;
    run_.time_on_host("index", 0, [&] { gathered = all_.group->all_gather_joined(mine); });
    SPANSORT_ASSERT(gathered.size() == next.back());
    for (std::size_t i = 0; i < pending.size(); ++i) {
      for (std::size_t j = 0; j < pending[i].slices.size(); ++j) {
        std::uint64_t& begin = next[process_of(pending[i].slices[j].rank)];
        std::vector<std::uint64_t>& counts = histograms[i][j];
        std::copy_n(gathered.begin() + static_cast<std::ptrdiff_t>(begin), counts.size(), counts.begin());
        begin += counts.size();
      }
    }
  }
};

}  // namespace

unsigned first_rank_of(const problem& sort) { return sort.others == nullptr ? 0 : sort.others->first_rank(); }

std::unique_ptr<rmg_others> make_rmg_others(run_context& run, const problem& sort) {
  if (sort.others == nullptr) return std::make_unique<rmg_others>();
  if (sort.others->wants_whole_plan) return std::make_unique<gathering_processes>(run, sort);
  return std::make_unique<processes>(run, sort);
}

}  // namespace spansort::algorithms
