// SPDX-License-Identifier: Apache-2.0
// Exact places in the sorted runs of all node ranks: the cut before the t-th element of their merge, as a position in
// each run. A multi-sequence selection by rounds: all propose elements spread over what is not known, all count what
// comes before each of them. The first keys of blocks, which are in memory, narrow a cut down to about a block a run;
// then those blocks are read.
// Equal elements are ordered by node rank, run and position, so that a cut is one whatever the keys are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/io_pool.hpp"
#include "files/external/runs.hpp"
#include "files/external/spill_plan.hpp"
#include "transport/communicator.hpp"

namespace spansort::mpi {

/// Calls f() on every node rank, in a phase of that name. Where it throws, the exception goes on; all others throw
/// cluster_failure.
using together_call = std::function<void(std::string_view phase, const std::function<void()>& f)>;

/// A position in each run of this node rank.
using run_cut = std::vector<std::uint64_t>;

/// The bounds that are known of a cut: it lies behind another one, and before one or not too far behind in any run.
struct cut_bounds {
  run_cut low;
  run_cut high;
};

class run_cutter {
 public:
  /// The arguments outlive it. Blocks take half of a chunk of `plan`.
  run_cutter(transport::communicator& group, const together_call& together, const external::element_order& order,
             const external::run_list& runs, const external::spill_plan& plan);

  /// Collective. Returns where the merge of all runs is cut before its element `targets[i]`, or one that is at most
  /// `slacks[i]` elements away from it, of which `bounds[i]` is known. As many targets and slacks on all node ranks,
  /// and the same. A slack of some blocks of all runs saves most of the rounds, and of what is read. It seeks as many
  /// at a time as have a block of every run in memory on all of them. Throws what reading runs throws, cluster_failure
  /// on the others.
  [[nodiscard]] std::vector<run_cut> find(std::span<const std::uint64_t> targets, std::span<const std::uint64_t> slacks,
                                          std::vector<cut_bounds> bounds);

 private:
  /// An element that others are compared with.
  struct pivot {
    std::vector<std::byte> key;
    std::uint64_t node_rank = 0;
    std::uint64_t run = 0;
    std::uint64_t position = 0;
    std::uint64_t weight = 0;  ///< elements among which it is about the middle one
    bool is_in_block = false;  ///< its node rank knows the cut up to a block of each run
    [[nodiscard]] bool comes_before(const pivot& other) const;
  };
  static std::vector<pivot> spread(std::vector<pivot> candidates, std::size_t most, unsigned first_eighths);
  /// The least and the greatest number of a run's elements that may come before a pivot.
  struct bracket {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };

  [[nodiscard]] std::span<const std::byte> key_at(std::size_t run, std::uint64_t position);
  using block_name = std::pair<std::size_t, std::uint64_t>;  ///< a run, and its block
  void read_blocks(std::vector<block_name> names);
  [[nodiscard]] const std::vector<std::byte>& block_of(std::size_t run, std::uint64_t block);
  [[nodiscard]] bool is_before(std::span<const std::byte> key, std::size_t run, std::uint64_t position,
                               const pivot& p) const;
  [[nodiscard]] bracket bracket_of(std::size_t run, const cut_bounds& bounds, const pivot& p) const;
  [[nodiscard]] std::uint64_t count_before(std::size_t run, const bracket& within, const pivot& p);
  [[nodiscard]] std::optional<std::uint64_t> block_start_near(std::uint64_t position, std::uint64_t low,
                                                              std::uint64_t high) const;
  void add_candidates(const cut_bounds& bounds, std::size_t run, bool in_blocks, std::vector<pivot>& candidates);
  [[nodiscard]] std::vector<pivot> propose(const cut_bounds& bounds, bool reads_all);
  [[nodiscard]] std::vector<std::vector<pivot>> agree_on_pivots(std::span<const cut_bounds> bounds);
  [[nodiscard]] std::size_t agree_on_group_size();
  struct sought_cuts {
    std::span<const std::uint64_t> targets;
    std::span<const std::uint64_t> slacks;
    std::span<const cut_bounds> given;  ///< bounds, before the search
  };
  void find_group(const sought_cuts& sought, std::span<cut_bounds> bounds);
  /// A pivot of one of the cuts that are sought, and what is known of it.
  struct question {
    std::size_t cut = 0;
    const pivot* asked = nullptr;
    std::vector<bracket> found = {};  ///< by run of this node rank
    bracket sum = {};                 ///< of all node ranks
  };
  void narrow(const sought_cuts& sought, const std::vector<std::vector<pivot>>& pivots, std::span<cut_bounds> bounds);
  static std::vector<question*> choose_open(std::span<question> questions, std::span<const std::uint64_t> targets);
  void count_open(std::span<question* const> open);
  static const question* find_near(std::span<const question> of_cut, std::uint64_t target, std::uint64_t slack);
  void narrow(cut_bounds& bounds, const question& answered, std::uint64_t target) const;
  void share(const std::exception_ptr& failure, bool has_any_failed);

  transport::communicator& group_;
  const together_call& together_;
  const external::element_order& order_;
  const external::run_list& runs_;
  std::uint64_t block_elements_;
  std::uint64_t most_blocks_;
  std::size_t num_proposed_;  ///< pivots a cut, by this node rank
  unsigned first_eighths_;  ///< of the way from one to the next where the first lies: others propose what lies between
  external::io_pool pool_;
  std::map<block_name, std::vector<std::byte>> blocks_;  ///< that have been read
  std::vector<std::byte> key_;
};

}  // namespace spansort::mpi
