// SPDX-License-Identifier: Apache-2.0
// P2P merge sort (Tanasic, Vilanova, Jorda, Cabezas, Gelado, Navarro, Hwu: "Comparison Based Sorting for Systems with
// Multiple GPUs", GPGPU 2013), as Ilic, Tolovski, Rabl: "RMG Sort", BTW 2023, section 5.2 describes it: every device
// sorts a chunk; then two halves of the devices, each in order, swap the blocks beyond a pivot, so that the left half
// holds the smaller keys, the devices concerned merge what they kept with what they got, and both halves are put in
// order in the same way. Powers of two of devices only, as published. With g devices that is g - 1 swaps one after the
// other.
//
// Where the description is silent: the pivot is a co-rank, found by binary search, and goes left among equal keys, so
// that nothing moves without need. What the left half gives away is as long as what it gets, so the two blocks are
// neighbours in the whole and trade places as they are. (The published code pairs devices from the middle outwards,
// which turns the order of blocks around and with it that of equal keys; here a device swaps with at most two others,
// as many records as there, and the sort is stable.) Chunks differ by at most one record.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/rank_exchange.hpp"
#include "algorithms/registry.hpp"
#include "base/said_of_done.hpp"
#include "base/shares.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

/// The caller's progress bar: how far a sort is when chunks are sorted, and when they are merged.
constexpr double fraction_after_sort = 0.4;
constexpr double fraction_after_merge = 0.9;

/// Two neighbouring groups of devices, each in order, whose records shall be in order together.
struct halves {
  std::uint64_t begin = 0;   ///< of the left half's records in the whole
  std::uint64_t middle = 0;  ///< of the right half's
  std::uint64_t end = 0;
  std::uint64_t num_swapped = 0;  ///< the last records of the left half, and the first of the right
};

class p2p_state {
 public:
  /// The workspace has been reserved.
  p2p_state(run_context& run, const problem& sort);
  /// Waits for queued work, which writes into this object, also when something has failed.
  ~p2p_state() { run_.drain(); }
  p2p_state(const p2p_state&) = delete;
  p2p_state& operator=(const p2p_state&) = delete;

  void sort_chunks();
  /// Puts every group of `size` neighbouring devices in order, all groups at once.
  void merge_groups(unsigned size) {
    if (size == 1) return;
    merge_groups(size / 2);
    std::vector<halves> pairs = pairs_of(size);
    choose_pivots(pairs);
    swap_blocks(pairs);
    merge_swapped(pairs);
    merge_groups(size / 2);
  }
  void copy_out();
  void fill_report();

 private:
  /// One device's buffers; the records are in `chunk` between steps.
  struct rank_buffers {
    device::records chunk;
    device::records spare;
  };

  [[nodiscard]] std::uint64_t chunk_count(unsigned rank) const { return begins_[rank + 1] - begins_[rank]; }
  /// Returns the rank that holds a record of the whole.
  [[nodiscard]] unsigned rank_of(std::uint64_t position) const {
    return static_cast<unsigned>(std::ranges::upper_bound(begins_, position) - begins_.begin() - 1);
  }
  [[nodiscard]] std::vector<halves> pairs_of(unsigned size) const;
  void choose_pivots(std::vector<halves>& pairs);
  void swap_blocks(const std::vector<halves>& pairs);
  void merge_swapped(const std::vector<halves>& pairs);
  /// Queues a read of the key at `position` of the whole.
  void ask_for_key(std::uint64_t position, std::uint64_t& bits);
  void add_transfers(std::uint64_t from, std::uint64_t to, std::uint64_t count,
                     std::vector<plan::transfer>& transfers) const;
  void copy(device::queue& q, const device::records& to, const device::records& from, std::uint64_t count,
            std::string_view label);

  run_context& run_;
  const problem& sort_;
  std::vector<std::uint64_t> begins_;  ///< of every chunk in the whole, and its end
  std::vector<rank_buffers> buffers_;
  rank_exchange exchange_;
  std::vector<std::uint64_t> asked_bits_;  ///< keys as they come from the devices
};

std::vector<std::uint64_t> chunk_begins(std::uint64_t num_keys, unsigned num_ranks) {
  std::vector<std::uint64_t> begins;
  for (unsigned r = 0; r <= num_ranks; ++r) begins.push_back(base::share_begin(num_keys, num_ranks, r));
  return begins;
}

p2p_state::p2p_state(run_context& run, const problem& sort)
    : run_(run),
      sort_(sort),
      begins_(chunk_begins(sort.num_keys, run.num_ranks())),
      buffers_(run.num_ranks()),
      exchange_(run, sort.shape, std::vector<std::uint64_t>(run.num_ranks(), begins_[1])) {
  for (unsigned r = 0; r < run.num_ranks(); ++r) {
    buffers_[r].chunk = slot_records(run.ranks()[r], 0, sort.shape, chunk_count(r));
    buffers_[r].spare = slot_records(run.ranks()[r], 1, sort.shape, chunk_count(r));
  }
}

void p2p_state::copy(device::queue& q, const device::records& to, const device::records& from, std::uint64_t count,
                     std::string_view label) {
  q.copy(to.keys, from.keys, count * sort_.shape.codec.width_bytes(), label);
  q.copy(to.values, from.values, count * sort_.shape.value_bytes, label);
}

void p2p_state::sort_chunks() {
  const keys::bit_range all_bits{0, sort_.shape.codec.key_bits()};
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank& self = run_.ranks()[r];
    rank_buffers& b = buffers_[r];
    copy(*self.queue, b.chunk, advance(sort_.shape, sort_.data(), begins_[r]), chunk_count(r), "copy in");
    const bool in_alternate = self.device->prefers_alternate(sort_.shape, all_bits);
    self.queue->local_sort({.shape = sort_.shape,
                            .source = b.chunk,
                            .alternate = b.spare,
                            .result_in_alternate = in_alternate,
                            .segments = {{0, chunk_count(r), all_bits}}});
    if (in_alternate) std::swap(b.chunk, b.spare);
  }
  run_.finish_phase("local sort", fraction_after_sort, 2 * sort_.num_keys);
}

std::vector<halves> p2p_state::pairs_of(unsigned size) const {
  std::vector<halves> pairs;
  for (unsigned first = 0; first < run_.num_ranks(); first += size) {
    pairs.push_back({begins_[first], begins_[first + size / 2], begins_[first + size]});
  }
  return pairs;
}

void p2p_state::ask_for_key(std::uint64_t position, std::uint64_t& bits) {
  const unsigned r = rank_of(position);
  const device::records at = advance(sort_.shape, buffers_[r].chunk, position - begins_[r]);
  run_.ranks()[r].queue->copy(&bits, at.keys, sort_.shape.codec.width_bytes(), "pivot");
}

/// Searches for all pairs together, a round of reads a step. Record `kept` of the left half stays there if it comes
/// before the record of the right half that would then be the last to arrive.
void p2p_state::choose_pivots(std::vector<halves>& pairs) {
  struct search {
    std::uint64_t low = 0;  ///< records of the left half that stay, at least and at most
    std::uint64_t high = 0;
    [[nodiscard]] bool is_open() const { return low < high; }
    [[nodiscard]] std::uint64_t kept() const { return low + (high - low) / 2; }
  };
  std::vector<search> searches;
  for (const halves& p : pairs) {
    const std::uint64_t num_left = p.middle - p.begin;
    searches.push_back({num_left - std::min(num_left, p.end - p.middle), num_left});
  }
  asked_bits_.assign(2 * pairs.size(), 0);
  while (std::ranges::any_of(searches, &search::is_open)) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (!searches[i].is_open()) continue;
      ask_for_key(pairs[i].begin + searches[i].kept(), asked_bits_[2 * i]);
      ask_for_key(pairs[i].middle + (pairs[i].middle - pairs[i].begin) - 1 - searches[i].kept(),
                  asked_bits_[2 * i + 1]);
    }
    for (rank& r : run_.ranks()) r.queue->synchronize();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (!searches[i].is_open()) continue;
      const std::uint64_t left = encode_at(sort_.shape.codec, &asked_bits_[2 * i], 0);
      const std::uint64_t right = encode_at(sort_.shape.codec, &asked_bits_[2 * i + 1], 0);
      if (left <= right) {
        searches[i].low = searches[i].kept() + 1;
      } else {
        searches[i].high = searches[i].kept();
      }
    }
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].num_swapped = pairs[i].middle - pairs[i].begin - searches[i].low;
  }
}

void p2p_state::add_transfers(std::uint64_t from, std::uint64_t to, std::uint64_t count,
                              std::vector<plan::transfer>& transfers) const {
  while (count != 0) {
    const unsigned source = rank_of(from);
    const unsigned receiver = rank_of(to);
    const std::uint64_t part = std::min({count, begins_[source + 1] - from, begins_[receiver + 1] - to});
    transfers.push_back({source, from - begins_[source], receiver, to - begins_[receiver], part});
    from += part;
    to += part;
    count -= part;
  }
}

/// Copies into the spare buffers what comes from the other half, and beside it what a device keeps.
void p2p_state::swap_blocks(const std::vector<halves>& pairs) {
  std::vector<plan::transfer> transfers;
  for (const halves& p : pairs) {
    if (p.num_swapped == 0) continue;
    const std::uint64_t begin = p.middle - p.num_swapped;
    const std::uint64_t end = p.middle + p.num_swapped;
    add_transfers(begin, p.middle, p.num_swapped, transfers);
    add_transfers(p.middle, begin, p.num_swapped, transfers);
    const std::uint64_t first = begins_[rank_of(begin)];
    add_transfers(first, first, begin - first, transfers);
    add_transfers(end, end, begins_[rank_of(end - 1) + 1] - end, transfers);
  }
  std::vector<transport::endpoint> endpoints;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    rank& self = run_.ranks()[r];
    endpoints.push_back({r, self.queue.get(), buffers_[r].chunk, buffers_[r].spare,
                         [&self]() -> device::event& { return self.take_event(); }});
  }
  run_.join_queues();
  const transport::exchanged moved = exchange_.execute(sort_.shape, transfers, endpoints);
  run_.join_queues();
  run_.report().exchanged_bytes += moved.bytes;
  run_.report().staged_bytes += moved.staged_bytes;
  ++run_.report().num_passes;
}

/// Merges back into the chunks. In the left half what a device kept comes first, in the right half what it got.
void p2p_state::merge_swapped(const std::vector<halves>& pairs) {
  std::uint64_t num_merged = 0;
  for (const halves& p : pairs) {
    if (p.num_swapped == 0) continue;
    const std::uint64_t begin = p.middle - p.num_swapped;
    const std::uint64_t end = p.middle + p.num_swapped;
    for (unsigned r = rank_of(begin); r <= rank_of(end - 1); ++r) {
      const std::uint64_t cut =
          std::clamp(begins_[r] < p.middle ? begin : end, begins_[r], begins_[r + 1]) - begins_[r];
      run_.ranks()[r].queue->merge({.shape = sort_.shape,
                                    .left = buffers_[r].spare,
                                    .num_left = cut,
                                    .right = advance(sort_.shape, buffers_[r].spare, cut),
                                    .num_right = chunk_count(r) - cut,
                                    .destination = buffers_[r].chunk});
      num_merged += chunk_count(r);
    }
  }
  const double done = static_cast<double>(run_.report().num_passes) / std::max(1U, run_.num_ranks() - 1);
  run_.finish_phase("merge", fraction_after_sort + (fraction_after_merge - fraction_after_sort) * done, num_merged);
}

void p2p_state::copy_out() {
  run_.queue_as_one([&] {
    run_.commit();
    for (unsigned r = 0; r < run_.num_ranks(); ++r) {
      copy(*run_.ranks()[r].queue, advance(sort_.shape, sort_.data(), begins_[r]), buffers_[r].chunk, chunk_count(r),
           "copy out");
    }
  });
  run_.finish_phase("copy out", 1.0, sort_.num_keys);
}

void p2p_state::fill_report() {
  sort_report& report = run_.report();
  base::say_of_done([&] {
    report.algorithm = "p2p_merge";
    report.input_shape = "unknown";
  });
  for (unsigned r = 0; r < run_.num_ranks(); ++r) report.ranks[r].num_keys_out = chunk_count(r);
  if (sort_.num_keys == 0) return;
  report.imbalance = static_cast<double>(chunk_count(0)) * run_.num_ranks() / static_cast<double>(sort_.num_keys);
}

void run_p2p_merge(run_context& run, const problem& sort) {
  p2p_state state(run, sort);
  state.sort_chunks();
  state.merge_groups(run.num_ranks());
  state.copy_out();
  state.fill_report();
}

/// Slot 0 of every device is the chunk, slot 1 what it is sorted and merged with.
std::vector<slot_request> p2p_merge_workspace(const std::vector<rank>& ranks, const sort_settings&,
                                              const problem& sort) {
  if (!std::has_single_bit(ranks.size())) {
    throw invalid_argument(fmt::format(
        "algorithm p2p_merge takes 1, 2, 4, 8, ... devices, as published, and not {}: it merges halves of the devices",
        ranks.size()));
  }
  std::vector<slot_request> wishes;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    const std::uint64_t chunk = base::share_size(sort.num_keys, ranks.size(), r);
    for (const unsigned slot : {0U, 1U}) wishes.push_back({.rank = r, .slot = slot, .num_records = chunk});
  }
  return wishes;
}

}  // namespace

extern constinit const entry p2p_merge_algorithm{
    .name = "p2p_merge",
    .description = "sorted chunks, merged by swaps of blocks between 1, 2, 4, 8, ... devices",
    .is = {.uses_all_devices = true, .num_copies = 2},
    .run = run_p2p_merge,
    .workspace = p2p_merge_workspace};

}  // namespace spansort::algorithms
