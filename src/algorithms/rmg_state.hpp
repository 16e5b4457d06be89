// SPDX-License-Identifier: Apache-2.0
// The steps of RMG sort as functions, and what they hand to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/input_place.hpp"
#include "algorithms/rank_exchange.hpp"
#include "algorithms/rmg.hpp"
#include "algorithms/rmg_others.hpp"
#include "algorithms/run_context.hpp"
#include "plan/planner.hpp"
#include "plan/rounds.hpp"

namespace spansort::algorithms {

/// Returns what suits every rank's device.
[[nodiscard]] device::partition_advice advice_of_all(const std::vector<rank>& ranks, const device::record_shape& shape);

/// Most records that a rank of the plan can hold before or after the exchange.
[[nodiscard]] std::uint64_t rank_capacity(const plan::parameters& p, unsigned rank);

/// The plan's parameters for a sort: what the options say, else what the devices advise. The paper's 256 buckets a pass
/// and fusing under 1 % of a chunk are for GPUs of its day; what matters is that one pass leaves segments which a local
/// sort finishes in one trip through memory.
[[nodiscard]] plan::parameters plan_parameters(const problem& sort, const std::vector<rank>& ranks,
                                               const sort_settings& options, const rmg_extras& extras = {});

/// Returns the records that a rank's spare buffer holds: copied buckets besides, twice, for they are sorted there.
[[nodiscard]] std::uint64_t spare_capacity(const plan::parameters& p, unsigned rank);

/// Returns how finely the exchange is cut into rounds: not at all between processes, on devices that share the caller's
/// memory, and where a round would not be worth its launches.
[[nodiscard]] plan::round_sizes exchange_rounds(const problem& sort, const std::vector<rank>& ranks,
                                                const sort_settings& options, const plan::parameters& p);

/// Throws invalid_argument when a resident part has too little room for what it may end with.
void check_part_capacities(const problem& sort, const std::vector<rank>& ranks, const sort_settings& options);

/// Ranks are this process's own, from 0. In a sort over several processes the plan numbers those of all: everything
/// that is asked of the plan or comes from it goes through planned() and is_mine().
class rmg_state {
 public:
  /// The workspace has been reserved; only the planner's counts are still to be allocated.
  rmg_state(run_context& run, const problem& sort, const rmg_extras& extras = {});
  /// Waits for queued work, which writes into this object, also when something has failed.
  ~rmg_state();
  rmg_state(const rmg_state&) = delete;
  rmg_state& operator=(const rmg_state&) = delete;

  /// The root bucket spans all ranks at first.
  [[nodiscard]] bool has_spanning_buckets() const noexcept { return !pending_.empty(); }
  [[nodiscard]] const plan::sort_plan& plan() const noexcept { return plan_; }

  /// Section 3: chunks of equal size, in pieces that are counted as they arrive.
  void scatter_input();
  /// Section 3.1: every rank counts the pass's digit in its slices of the spanning buckets.
  void count_pending();
  /// Returns whether the first count found an input in order, which is then finished. Only where the extras ask for it.
  [[nodiscard]] bool finish_if_ordered();
  /// Section 3.1: says who owns which of the counted buckets; processes tell each other what they have counted.
  void plan_pass();
  /// Section 3.1: every rank reorders those slices; skipped where one bucket holds a whole slice. After the last pass
  /// there is a plan of what travels in which round, and what is sorted.
  void partition_pending();
  /// Sections 3.2 and 3.3: one all-to-all exchange, in rounds, beside the sorts of what has arrived.
  void exchange_and_sort();
  /// Waits for all of that.
  void finish();

 private:
  /// Section 3.2: one all-to-all exchange, in rounds; ranks whose keys are all their own skip it.
  void begin_exchange();
  void exchange_round(unsigned round);
  /// Section 3.3: each rank sorts the buckets that have arrived with this round or before on the bits not yet examined,
  /// as far as there is room. On devices with memory of their own a finished one is copied back to the caller while the
  /// next is being sorted.
  void sort_arrived(unsigned round);
  /// Says that each rank's records lie in part_of(rank), where the caller's memory is overwritten.
  template <class PartOf>
  void note_parts(const PartOf& part_of) noexcept {
    if (!place_->is_callers_memory()) return;
    run_.begin_parts();
    for (unsigned r = 0; r < run_.num_ranks(); ++r) run_.add_part(part_of(r));
  }

  /// A stretch of a rank's chunk, counted on its own in the first pass.
  struct piece {
    unsigned rank = 0;
    arrival part;
    device::input_shape shape = device::input_shape::constant;
    std::vector<std::uint64_t> counts = {};  ///< of the first digit and the bits of the second one that were counted
  };

  /// One rank's buffers. Both hold all that the rank may have before or after the exchange, but for a
  /// chunk that is the caller's memory.
  struct rank_buffers {
    device::records chunk;                         ///< the input's share
    device::records spare;                         ///< the partitioned chunk, once there is one
    device::records owned;                         ///< the rank's part of the sorted whole, where it ends up
    bool is_partitioned = false;                   ///< the chunk lies, in bucket order, in `spare`
    bool is_closed = false;                        ///< all its keys are its own, in place: no exchange
    std::optional<plan::freed_places> freed = {};  ///< places of `spare` that its keys may arrive in
    unsigned next_sorted = 0;                      ///< its first round that is not being sorted
    std::vector<device::event*> home_sorted = {};  ///< by round, before those of freed places: it has been sorted
    [[nodiscard]] const device::records& current() const noexcept { return is_partitioned ? spare : chunk; }
    /// Its part of the sorted whole lies in `spare` and not where it is to end up.
    [[nodiscard]] bool lies_in_spare() const noexcept { return is_closed && is_partitioned; }
  };

  /// Neighbouring local sorts of a rank in a round.
  struct sort_range {
    unsigned round = 0;
    bool lies_in_spare = false;
    std::vector<device::sort_segment> segments = {};
  };

  /// The number of one of this process's ranks in the plan.
  [[nodiscard]] unsigned planned(unsigned rank) const noexcept { return first_rank_ + rank; }
  [[nodiscard]] bool is_mine(unsigned planned_rank) const noexcept {
    return planned_rank >= first_rank_ && planned_rank - first_rank_ < run_.num_ranks();
  }
  [[nodiscard]] share input_share(unsigned rank) const noexcept;
  [[nodiscard]] share output_share(unsigned rank) const noexcept;
  /// Calls f(bucket, slice, its counts) for all slices of pending buckets that the planner knows.
  template <class F>
  void for_each_slice(F&& f) {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const plan::refinement& bucket = pending_[i];
      for (std::size_t j = 0; j < bucket.slices.size(); ++j) f(bucket, bucket.slices[j], histograms_[i][j]);
    }
  }
  void count_pieces();
  void count_slices();
  /// Returns whether the first count has counted the digit of the pending buckets.
  [[nodiscard]] bool are_slices_counted() const noexcept { return num_passes_ == 1 && params_.second_bits != 0; }
  void take_counts_of_slices();
  void make_plan();
  void sort_round(unsigned rank, unsigned round);
  [[nodiscard]] std::vector<sort_range> sort_ranges(unsigned rank, unsigned round) const;
  void sort_batch(unsigned rank, const sort_range& range, const bucket_batch& batch);
  void partition_slice(unsigned rank, plan::slice slice, keys::digit_position digit,
                       const std::vector<std::uint64_t>& counts);
  void clear_the_way();
  [[nodiscard]] std::uint64_t keys_between_own() const;
  /// Where records of a transfer arrive.
  enum class arrival_place : std::uint8_t { owned, spare, aside };
  void execute(std::span<const plan::transfer> transfers, arrival_place place);
  void send_copies();
  void copy_records(device::queue& queue, const device::records& from, const device::records& to, std::uint64_t count,
                    std::string_view phase) const;
  /// Sorts buckets of which this rank has a part, whole and aside, and copies what it keeps to where it belongs.
  void sort_copies();
  /// Returns where copied buckets arrive, behind all that the rank may hold else.
  [[nodiscard]] device::records aside(unsigned rank) const;
  /// Returns events at which each rank's queue for exchanges has done what it has to do so far.
  [[nodiscard]] std::vector<device::event*> mark_sent();
  /// Has the exchange's queues wait until keys of a round may arrive in places that earlier rounds have left.
  void await_freed_places(unsigned round);
  /// Has the rank's queue wait until its keys of a round have arrived, and the places that their sort needs are free.
  void await_round(unsigned rank, unsigned round);
  /// Returns whether a local sort takes its records from `spare`, where they arrive, and leaves them in `owned`.
  [[nodiscard]] bool arrives_in_spare(unsigned rank, unsigned round, keys::bit_range bits) const;
  /// Returns whether the transfer's records arrive in the receiver's `spare`.
  [[nodiscard]] bool arrives_in_spare(const plan::transfer& t, unsigned round) const;
  [[nodiscard]] bool goes_in_rounds() const noexcept { return rounds_.num_rounds() > 1; }
  /// Returns whether the exchange and all sorts are queued together. Parts on the devices are: between the two they
  /// would be neither input nor result, and nobody could finish them.
  [[nodiscard]] bool goes_as_one() const noexcept {
    return goes_in_rounds() || (sort_.is_resident() && sort_.others == nullptr);
  }
  /// Returns the number of rounds after which nothing unsent lies where a rank's sort of a round needs `spare`.
  [[nodiscard]] unsigned rounds_until_free(unsigned rank, unsigned round) const;
  /// Returns how much lower than in `owned` the records of a round lie in `spare`, before or while they are sorted.
  [[nodiscard]] std::uint64_t lower_in_spare(unsigned rank, unsigned round) const;
  /// Sets up how every pair of this process's ranks exchanges; takes the memory for it.
  void connect_ranks();
  void find_closed_ranks();
  [[nodiscard]] bool is_first_pass() const noexcept { return num_passes_ == 0; }
  [[nodiscard]] bool looks_for_order() const noexcept { return extras_.looks_for_order && is_first_pass(); }
  [[nodiscard]] device::input_shape whole_shape() const;

  run_context& run_;
  const problem& sort_;
  rmg_extras extras_;
  unsigned first_rank_;
  std::unique_ptr<input_place> place_;
  std::unique_ptr<rmg_others> others_;
  plan::parameters params_;
  plan::planner planner_;
  std::vector<plan::refinement> pending_;  ///< buckets that are counted and partitioned in this pass
  plan::round_sizes round_sizes_;
  plan::chunk_layout layout_;  ///< of chunks that have been partitioned
  plan::sort_plan plan_;
  plan::round_plan rounds_;
  std::vector<rank_buffers> buffers_;
  slice_histograms histograms_;  ///< of pending buckets; other processes' slices among them where the plan is whole
  std::vector<piece> pieces_;    ///< of all chunks, in order
  std::optional<rank_exchange> exchange_;
  std::vector<std::vector<device::event*>> sent_;  ///< by round: mark_sent() behind it
  std::vector<device::event*> copies_sent_;        ///< mark_sent() behind copied buckets; none without rounds
  unsigned num_passes_ = 0;
};

}  // namespace spansort::algorithms
