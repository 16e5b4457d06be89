// SPDX-License-Identifier: Apache-2.0
// The plan of the multi-device sort (RMG paper, section 3): pure arithmetic on histograms. No device, no clock, no I/O.
//
// Use:  planner p(parameters);
//       while (!p.pending().empty()) p.add_pass(histograms of p.pending());
//       sort_plan plan = std::move(p).finish();
//
// The root bucket (empty prefix, all keys) is the first pending refinement, so the first pass is no special case.
//
// One of several processes needs the slices of its own ranks alone. Who owns a bucket follows from sums over all ranks,
// and where this process's keys of it go from a sum over the ranks before:
//
//       planner p(parameters, own_ranks);
//       while (!p.pending().empty()) p.add_pass(histograms, {sums over earlier ranks, over all} of p.sum(histograms));
//       sort_plan plan = std::move(p).finish(what all ranks have in p.buckets_of(own_ranks));
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "keys/digit.hpp"
#include "plan/transfers/transfer.hpp"

namespace spansort::plan {

struct parameters {
  std::uint64_t num_keys = 0;
  unsigned num_ranks = 1;
  unsigned key_bits = 32;
  unsigned radix_bits = 8;        ///< the last digit may be narrower
  unsigned second_bits = 0;       ///< of the second digit, which may be narrower than others; 0: radix_bits
  double epsilon = 0.005;         ///< slack at each end of a part, fraction of the largest part, rounded down
  std::uint64_t refine_keys = 0;  ///< buckets of more keys are refined even when they do not span; 0: none
  /// Spanning buckets of at most so many keys are not refined: each rank that has a part of one gets all of it. For
  /// planners that know all ranks; 0: all are refined.
  std::uint64_t copied_keys = 0;
  double fuse_threshold = 0.01;  ///< fraction of the largest part
  /// Keys that each rank holds at first, its chunk; they sum to num_keys, some may be 0. Empty: equal chunks.
  std::vector<std::uint64_t> source_counts;
  /// Keys that each rank is to end with, its part, slack aside; as above. A rank with 0 gets none, slack or not.
  std::vector<std::uint64_t> target_counts;
};

/// Returns how many of a key's highest bits so many passes examine.
[[nodiscard]] unsigned bits_examined(const parameters& p, std::uint64_t num_passes) noexcept;

/// Keys [begin(rank), begin(rank + 1)) of the input are rank's chunk. Equal chunks differ by at most one key.
[[nodiscard]] std::uint64_t source_begin(const parameters& p, unsigned rank) noexcept;

/// Keys [begin(rank), begin(rank + 1)) of the sorted whole are rank's part, before slack. Equal parts lie as chunks do.
[[nodiscard]] std::uint64_t target_begin(const parameters& p, unsigned rank) noexcept;

[[nodiscard]] std::uint64_t source_count(const parameters& p, unsigned rank) noexcept;
[[nodiscard]] std::uint64_t target_count(const parameters& p, unsigned rank) noexcept;

/// Size of the largest chunk; of equal ones ceil(num_keys / num_ranks).
[[nodiscard]] std::uint64_t largest_source(const parameters& p) noexcept;

/// Size of the largest part, likewise.
[[nodiscard]] std::uint64_t largest_target(const parameters& p) noexcept;

/// Slack at each end of a part, in keys: a bound between ranks is at most this far from target_begin.
[[nodiscard]] std::uint64_t epsilon_keys(const parameters& p) noexcept;

/// Neighbouring ranks, such as those of one process.
struct rank_group {
  unsigned first = 0;
  unsigned count = 0;

  [[nodiscard]] unsigned end() const noexcept { return first + count; }
  [[nodiscard]] bool contains(unsigned rank) const noexcept { return rank >= first && rank < end(); }
};

/// A bucket's part in one rank's chunk. Offsets count from the start of that chunk, which is kept in bucket order.
struct slice {
  unsigned rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  friend bool operator==(const slice&, const slice&) = default;
};

/// A spanning bucket to count and partition by `digit`.
struct refinement {
  keys::prefix prefix;
  keys::digit_position digit;
  std::vector<slice> slices;  ///< non-empty ones of the ranks that the planner knows, by rank
};

/// All keys of a prefix.
struct bucket {
  keys::prefix prefix;
  unsigned pass = 0;        ///< number of passes that made it, 1 or more
  std::uint64_t begin = 0;  ///< position of its first key in the sorted whole
  std::uint64_t count = 0;
  std::uint64_t count_before = 0;           ///< of these, keys of ranks before those that the planner knows
  std::vector<std::uint64_t> slice_counts;  ///< by rank, of those that the planner knows
  unsigned first_rank = 0;                  ///< ranks that would hold it, slack used; equal: it has one owner
  unsigned last_rank = 0;
  [[nodiscard]] bool spans() const noexcept { return first_rank != last_rank; }
};

/// Returns whether each rank of a bucket gets all of it.
[[nodiscard]] inline bool goes_to_all_its_ranks(const parameters& p, const bucket& b) noexcept {
  return b.spans() && b.count <= p.copied_keys && b.prefix.bit_count != 0 && b.prefix.bit_count < p.key_bits;
}

/// Returns how many keys a rank gets of buckets that are copied, at most: its part begins in one and ends in another.
[[nodiscard]] inline std::uint64_t most_copied_keys(const parameters& p) noexcept { return 2 * p.copied_keys; }

/// What one pass left behind: all buckets in order. For drawing and for the bounds of the paper.
struct pass_view {
  unsigned pass = 0;
  keys::bit_range bits;         ///< examined in this pass
  std::vector<bucket> buckets;  ///< none where the planner does not know all ranks
};

/// Sums of a pass's histograms over ranks: a count for each digit value of each pending bucket, one bucket after the
/// other.
struct pass_sums {
  std::vector<std::uint64_t> before;  ///< over the ranks before those that the planner knows
  std::vector<std::uint64_t> all;     ///< over all ranks
};

/// Neighbouring buckets of one rank that are sorted together.
struct local_sort {
  unsigned rank = 0;
  std::uint64_t offset = 0;  ///< in the rank's part of the sorted whole
  std::uint64_t count = 0;
  keys::bit_range bits;  ///< empty: done already
  std::uint64_t num_buckets = 0;
  friend bool operator==(const local_sort&, const local_sort&) = default;
};

/// A rank sorts all keys of a small bucket that spans ranks in memory aside, and copies those of its part home.
struct copied_sort {
  unsigned rank = 0;
  std::uint64_t aside = 0;  ///< of the first key in the memory that the rank has aside
  std::uint64_t count = 0;  ///< of the bucket
  keys::bit_range bits;
  std::uint64_t first_kept = 0;  ///< of the sorted bucket
  std::uint64_t offset = 0;      ///< of the kept keys in the rank's part of the sorted whole
  std::uint64_t num_kept = 0;
  friend bool operator==(const copied_sort&, const copied_sort&) = default;
};

struct sort_plan {
  parameters params;
  /// The ranks whose transfers, from them and to them, and local sorts are listed. In a transfer from another rank the
  /// source offset counts from the first key that comes from there to one of these.
  rank_group ranks;
  std::vector<pass_view> passes;           ///< one a pass; the last one's buckets are the final ones
  std::vector<std::uint64_t> rank_begins;  ///< num_ranks + 1 positions in the sorted whole
  std::vector<transfer> transfers;         ///< by source rank, then source offset
  std::vector<local_sort> local_sorts;     ///< by rank, then offset; cover everything but copied buckets
  /// Copies of small spanning buckets, by bucket, then destination rank, then source rank. Destination offsets count in
  /// the memory that the rank has aside. `transfers` has the keys of all other buckets.
  std::vector<transfer> copied_transfers;
  std::vector<copied_sort> copied_sorts;  ///< by bucket, then rank
  /// Refined ones, root included, over all passes (paper, section 3.2: s); with refine_keys large ones too.
  std::uint64_t num_spanning_buckets = 0;

  /// Returns whether it lists what all ranks do.
  [[nodiscard]] bool is_whole() const noexcept { return ranks.count == params.num_ranks; }
  [[nodiscard]] std::uint64_t rank_count(unsigned rank) const { return rank_begins[rank + 1] - rank_begins[rank]; }
  /// Largest rank over average, also where the parts are uneven on purpose; 1 for no keys.
  [[nodiscard]] double imbalance() const;
};

class planner {
 public:
  /// This planner knows the slices of all ranks.
  explicit planner(const parameters& params);
  /// This one knows those of `own` ranks only, and plans what these send and get: its work and memory grow with what
  /// they hold, not with the number of ranks.
  planner(const parameters& params, rank_group own);

  [[nodiscard]] const parameters& params() const noexcept { return params_; }

  /// All buckets of the passes so far, in order, with the ranks that hold them.
  [[nodiscard]] const std::vector<bucket>& buckets() const noexcept { return buckets_; }

  /// Spanning buckets of this pass; empty: the partitioning phase is over.
  [[nodiscard]] const std::vector<refinement>& pending() const noexcept { return pending_; }

  /// `histograms[i][j]`: counts of pending()[i].digit in pending()[i].slices[j]; 2^bits of them, summing to its count.
  using pass_histograms = std::span<const std::vector<std::vector<std::uint64_t>>>;

  /// Returns the sums of the histograms over the ranks that the planner knows, laid out as those in pass_sums.
  [[nodiscard]] std::vector<std::uint64_t> sum(pass_histograms histograms) const;

  /// Ends a pass of a planner that knows all ranks. References into pending() do not outlive the call.
  void add_pass(pass_histograms histograms);
  /// Ends a pass of any planner: `sums` say what the other ranks have counted.
  void add_pass(pass_histograms histograms, const pass_sums& sums);

  /// Returns the neighbouring buckets of which some rank of the group holds keys. Only when nothing is pending.
  [[nodiscard]] std::span<const bucket> buckets_of(rank_group receivers) const;

  /// Returns the keys that each rank that the planner knows has in buckets_of(receivers): rank by rank, of each a count
  /// a bucket.
  [[nodiscard]] std::vector<std::uint64_t> counts_for(rank_group receivers) const;

  /// Makes the plan of a planner that knows all ranks. Only when nothing is pending.
  [[nodiscard]] sort_plan finish() &&;
  /// Makes the plan of any planner, from the counts_for() its ranks that the planners of all ranks return, in the order
  /// of ranks.
  [[nodiscard]] sort_plan finish(std::span<const std::uint64_t> incoming_counts) &&;

 private:
  [[nodiscard]] bool knows_all() const noexcept { return own_.count == params_.num_ranks; }
  void assign_ranks();
  void collect_pending();
  [[nodiscard]] std::vector<transfer> list_transfers(std::span<const std::uint64_t> incoming_counts) const;
  void list_copies();

  parameters params_;
  rank_group own_;                          ///< whose slices it knows
  std::vector<std::uint64_t> part_bounds_;  ///< num_ranks + 1
  std::vector<bucket> buckets_;             ///< all keys, in order; none is empty
  std::vector<refinement> pending_;
  sort_plan plan_;
};

/// The plan that these three take is whole.
///
/// Throws internal_error naming the first property that does not hold: every key moves exactly once, destinations are
/// contiguous and in order, no overlap, ranks within slack, local sorts cover everything and know enough bits.
void verify(const sort_plan& plan);

[[nodiscard]] std::string to_json(const sort_plan& plan);

/// The two views of Figure 1, pass by pass; then transfers (Figure 2) and local sorts. Plain text, `width` columns.
[[nodiscard]] std::string draw(const sort_plan& plan, unsigned width = 100);

}  // namespace spansort::plan
