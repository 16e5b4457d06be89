// SPDX-License-Identifier: Apache-2.0
// Sample sort over processes (Shi, Schaeffer: "Parallel Sorting by Regular Sampling", 1992), which cuPyNumeric and
// cudax have over NCCL: every process sorts its part, looks at keys at regular places, all gather these and choose
// p - 1 splitters, one all-to-all exchange takes every record to the process between whose splitters it lies, and each
// merges what has arrived. Stable. One device a process.
//
// A splitter is a key with the process and the position where it stands, so that equal keys are cut as others are.
// Positions need not be sent, for all know them. A published sample sort stops after one sample, with parts that differ
// by what lies between two samples, and moves records once more where sizes are given. Here the sample is taken again
// between the two that enclose a splitter, until all splitters are exact: that is a few small rounds instead of a
// second exchange, and what every process sends and receives is known without asking.
#include "mpi/algorithms/distributed_sample_sort.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/rank_exchange.hpp"
#include "plan/sampled_cuts.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

// The caller's progress bar.
constexpr double fraction_after_sort = 0.5;
constexpr double fraction_after_merge = 0.95;

/// Returns how many records each process ends with.
const std::vector<std::uint64_t>& parts_of(const cluster_sort& others) {
  return others.target_counts.empty() ? others.source_counts : others.target_counts;
}

/// Returns the records that this process's buffers hold.
std::uint64_t capacity_of(const problem& sort) {
  return std::max(sort.num_keys, parts_of(*sort.others)[sort.others->process]);
}

class sample_sort_state {
 public:
  /// The workspace has been reserved.
  sample_sort_state(run_context& run, const problem& sort)
      : run_(run),
        sort_(sort),
        others_(*sort.others),
        self_(run.ranks()[0]),
        shape_(sort.shape),
        num_processes_(static_cast<unsigned>(others_.source_counts.size())),
        records_(slot_records(self_, 0, shape_, capacity_of(sort))),
        spare_(slot_records(self_, 1, shape_, capacity_of(sort))),
        exchange_(run, shape_, {capacity_of(sort)}, others_.process, others_.between_processes) {}
  /// Waits for queued work, which writes into this object, also when something has failed.
  ~sample_sort_state() { run_.drain(); }
  sample_sort_state(const sample_sort_state&) = delete;
  sample_sort_state& operator=(const sample_sort_state&) = delete;

  void sort_part();
  void choose_splitters();
  void exchange_records();
  void merge_runs();
  void copy_out();
  void fill_report();

 private:
  void copy(const device::records& to, const device::records& from, std::uint64_t count, std::string_view label) {
    self_.queue->copy(to.keys, from.keys, count * shape_.codec.width_bytes(), label);
    self_.queue->copy(to.values, from.values, count * shape_.value_bytes, label);
  }
  /// Returns this process's encoded keys at the sample positions of all open cuts, one cut after the other.
  [[nodiscard]] std::vector<std::uint64_t> take_sample();
  void narrow_cuts(const std::vector<std::vector<std::uint64_t>>& samples);
  /// Returns how many records process `sender` has for process `receiver`.
  [[nodiscard]] std::uint64_t count_between(unsigned sender, unsigned receiver) const {
    return cuts_[receiver + 1].low[sender] - cuts_[receiver].low[sender];
  }
  [[nodiscard]] bool has_open_cuts() const {
    return !std::ranges::all_of(cuts_, [](const plan::cut_bracket& c) { return c.is_closed(); });
  }

  run_context& run_;
  const problem& sort_;
  const cluster_sort& others_;
  rank& self_;
  const device::record_shape& shape_;
  unsigned num_processes_;
  device::records records_;  ///< where they are
  device::records spare_;
  rank_exchange exchange_;
  std::vector<std::uint64_t> ranks_of_cuts_;  ///< records before the part of each process, and all of them
  std::vector<plan::cut_bracket> cuts_;       ///< in the processes' sorted parts
  std::vector<std::uint64_t> sampled_bits_;   ///< keys as they come from the device
  std::vector<std::uint64_t> num_arrived_;    ///< of each run that is still to be merged, in input order
};

void sample_sort_state::sort_part() {
  others_.group->set_phase("local sort");
  copy(records_, sort_.data(), sort_.num_keys, "copy in");
  const keys::bit_range all_bits{0, shape_.codec.key_bits()};
  const bool in_alternate = self_.device->prefers_alternate(shape_, all_bits);
  self_.queue->local_sort({.shape = shape_,
                           .source = records_,
                           .alternate = spare_,
                           .result_in_alternate = in_alternate,
                           .segments = {{0, sort_.num_keys, all_bits}}});
  if (in_alternate) std::swap(records_, spare_);
  run_.finish_phase("local sort", fraction_after_sort, 2 * sort_.num_keys);
}

std::vector<std::uint64_t> sample_sort_state::take_sample() {
  std::vector<std::uint64_t> positions;
  for (const plan::cut_bracket& c : cuts_) {
    if (c.is_closed()) continue;
    const auto of_cut = plan::sample_positions(c.low[others_.process], c.high[others_.process]);
    positions.insert(positions.end(), of_cut.begin(), of_cut.end());
  }
  sampled_bits_.assign(positions.size(), 0);
  const unsigned width = shape_.codec.width_bytes();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    self_.queue->copy(&sampled_bits_[i], advance(shape_, records_, positions[i]).keys, width, "sample");
  }
  self_.queue->synchronize();
  std::vector<std::uint64_t> encoded;
  for (const std::uint64_t& bits : sampled_bits_) encoded.push_back(encode_at(shape_.codec, &bits, 0));
  return encoded;
}

/// Takes the sample apart again: everybody knows how many keys everybody sends for a cut.
void sample_sort_state::narrow_cuts(const std::vector<std::vector<std::uint64_t>>& samples) {
  std::vector<std::uint64_t> begins(num_processes_, 0);
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    plan::cut_bracket& cut = cuts_[i];
    if (cut.is_closed()) continue;
    std::vector<std::vector<std::uint64_t>> of_cut(num_processes_);
    for (unsigned p = 0; p < num_processes_; ++p) {
      const std::uint64_t count = plan::sample_positions(cut.low[p], cut.high[p]).size();
      const auto begin = samples[p].begin() + static_cast<std::ptrdiff_t>(begins[p]);
      of_cut[p].assign(begin, begin + static_cast<std::ptrdiff_t>(count));
      begins[p] += count;
    }
    plan::narrow(cut, ranks_of_cuts_[i], of_cut);
  }
}

void sample_sort_state::choose_splitters() {
  others_.group->set_phase("index");
  const std::vector<std::uint64_t>& parts = parts_of(others_);
  ranks_of_cuts_.assign(num_processes_ + 1, 0);
  std::partial_sum(parts.begin(), parts.end(), ranks_of_cuts_.begin() + 1);
  for (const std::uint64_t rank : ranks_of_cuts_) cuts_.push_back(plan::first_bracket(others_.source_counts, rank));
  while (has_open_cuts()) {
    const std::vector<std::uint64_t> mine = take_sample();
    run_.time_on_host("index", 0, [&] { narrow_cuts(others_.group->all_gather_varying(mine)); });
    ++run_.report().num_passes;
  }
}

void sample_sort_state::exchange_records() {
  others_.group->set_phase("exchange");
  const unsigned self = others_.process;
  std::vector<plan::transfer> blocks;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (unsigned p = 0; p < num_processes_; ++p) {
    const std::uint64_t num_sent = count_between(self, p);
    num_arrived_.push_back(count_between(p, self));
    // Offsets at others are their own business.
    if (p == self) {
      blocks.push_back({self, sent, self, received, num_sent});
    } else {
      blocks.push_back({self, sent, p, 0, num_sent});
      blocks.push_back({p, 0, self, received, num_arrived_.back()});
    }
    sent += num_sent;
    received += num_arrived_.back();
  }
  run_.time_on_host("exchange", 2 * sort_.num_keys * shape_.bytes(), [&] {
    const transport::endpoint here{self, self_.queue.get(), records_, spare_,
                                   [&]() -> device::event& { return self_.take_event(); }};
    const transport::exchanged moved = exchange_.execute(shape_, blocks, {&here, 1});
    run_.report().exchanged_bytes += moved.bytes;
    run_.report().staged_bytes += moved.staged_bytes;
  });
  std::swap(records_, spare_);
}

/// Merges neighbouring runs, which keeps the order of senders among equal keys, until one is left.
void sample_sort_state::merge_runs() {
  others_.group->set_phase("merge");
  std::erase(num_arrived_, 0);
  std::uint64_t num_merged = 0;
  while (num_arrived_.size() > 1) {
    std::vector<std::uint64_t> merged;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < num_arrived_.size(); i += 2) {
      const std::uint64_t num_left = num_arrived_[i];
      const std::uint64_t num_right = i + 1 < num_arrived_.size() ? num_arrived_[i + 1] : 0;
      self_.queue->merge({.shape = shape_,
                          .left = advance(shape_, records_, begin),
                          .num_left = num_left,
                          .right = advance(shape_, records_, begin + num_left),
                          .num_right = num_right,
                          .destination = advance(shape_, spare_, begin)});
      merged.push_back(num_left + num_right);
      begin += merged.back();
    }
    num_arrived_ = std::move(merged);
    num_merged += begin;
    std::swap(records_, spare_);
  }
  run_.finish_phase("merge", fraction_after_merge, num_merged);
}

void sample_sort_state::copy_out() {
  run_.commit();
  const std::uint64_t count = parts_of(others_)[others_.process];
  copy(others_.result, records_, count, "copy out");
  run_.finish_phase("copy out", 1.0, count);
}

void sample_sort_state::fill_report() {
  run_.report().algorithm = "distributed_sample_sort";
  run_.report().input_shape = "unknown";
  run_.report().ranks[0].num_keys_out = parts_of(others_)[others_.process];
}

}  // namespace

void run_distributed_sample_sort(run_context& run, const problem& sort) {
  sample_sort_state state(run, sort);
  state.sort_part();
  state.choose_splitters();
  state.exchange_records();
  state.merge_runs();
  state.copy_out();
  state.fill_report();
}

std::vector<slot_request> distributed_sample_sort_workspace(const std::vector<rank>& ranks, const sort_settings&,
                                                            const problem& sort) {
  if (ranks.size() != 1) {
    throw invalid_argument(
        "algorithm distributed_sample_sort takes one device in each process, as in --devices cpu or --devices gpu:0");
  }
  const std::uint64_t most = capacity_of(sort);
  return {{.rank = 0, .slot = 0, .num_records = most}, {.rank = 0, .slot = 1, .num_records = most}};
}

}  // namespace spansort::algorithms
