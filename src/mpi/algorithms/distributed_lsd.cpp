// SPDX-License-Identifier: Apache-2.0
// Spafford, "Quartiles, outliers and distributed radix sort" (2011), Algorithm 1: digits from the least significant,
// for each of them a global exclusive scan of histograms, explicit destinations and an all-to-all exchange. Stable. One
// CPU device a process.
//
// The paper calculates the position of every key (steps 5 and 6). Here a process's keys lie in the order of the digit
// when it does, as in the paper's implementation (section III.B.1), so that keys of one digit value go to neighbouring
// positions and those for one process lie together: positions are calculated for digit values, and the exchange is one
// block for each pair of processes. Where in the receiver's part a key belongs follows from its digit and its sender: a
// stable local sort of the blocks by the digit, sender after sender, is step 7.
#include "mpi/algorithms/distributed_lsd.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/math.hpp"
#include "spansort/errors.hpp"
#include "transport/direct_exchange.hpp"
#include "transport/routed_exchange.hpp"

namespace spansort::algorithms {
namespace {

class lsd_state {
 public:
  lsd_state(run_context& run, const problem& sort)
      : run_(run),
        others_(*sort.others),
        self_(run.ranks()[0]),
        shape_(sort.shape),
        num_keys_(sort.num_keys),
        keys_(sort.data()),
        part_begins_(others_.source_counts.size() + 1),
        direct_({self_.device.get()}, others_.process),
        exchange_({&direct_, others_.between_processes}) {
    const auto& parts = others_.target_counts.empty() ? others_.source_counts : others_.target_counts;
    std::partial_sum(parts.begin(), parts.end(), part_begins_.begin() + 1);
    for (unsigned slot = 0; slot < spares_.size(); ++slot) {
      spares_[slot] = slot_records(self_, slot, shape_, std::max(num_keys_, parts[others_.process]));
    }
  }
  /// Waits for queued work, which writes into this object, also when something has failed.
  ~lsd_state() { run_.drain(); }
  lsd_state(const lsd_state&) = delete;
  lsd_state& operator=(const lsd_state&) = delete;

  /// Section III.B.1: this process's keys in the order of the digit. Steps 1 and 5: how many there are of each value.
  void sort_locally_by(keys::digit_position digit) {
    others_.group->set_phase("local sort");
    order_by(digit, false);
    run_.finish_phase("local sort", double(digit.shift) / shape_.codec.key_bits(), num_keys_);
    // A digit that took several partitions has not been counted as a whole.
    if (counts_.size() != digit.num_buckets()) run_.time_on_host("index", 0, [&] { count_ordered(digit); });
  }

  /// Steps 2 to 4: the global position of this process's first key of every value.
  void find_destinations() {
    others_.group->set_phase("index");
    run_.time_on_host("index", 0, [&] {
      positions_ = others_.group->exclusive_scan_sum(counts_);  // the paper's H_PriorRank
      std::vector<std::uint64_t> prior_digit(counts_.size());
      const auto last = static_cast<unsigned>(others_.source_counts.size() - 1);
      if (others_.process == last) {
        std::ranges::transform(counts_, positions_, prior_digit.begin(), std::plus<>());
        std::exclusive_scan(prior_digit.begin(), prior_digit.end(), prior_digit.begin(), std::uint64_t{0});
      }
      others_.group->broadcast(prior_digit, last);
      std::ranges::transform(positions_, prior_digit, positions_.begin(), std::plus<>());
    });
  }

  /// Steps 6 and 7: every key goes to the process that holds its position.
  void exchange_keys() {
    others_.group->set_phase("exchange");
    const std::vector<std::uint64_t> num_sent = count_by_destination();
    run_.time_on_host("exchange", 2 * num_keys_ * shape_.bytes(), [&] {
      const std::vector<std::uint64_t> num_received = others_.group->all_to_all(num_sent);
      const device::records arrived = beside(keys_);
      const transport::endpoint here{others_.process, self_.queue.get(), keys_, arrived,
                                     [&]() -> device::event& { return self_.take_event(); }};
      const std::vector<plan::transfer> blocks = list_blocks(num_sent, num_received);
      run_.report().exchanged_bytes += exchange_.execute(shape_, blocks, {&here, 1}).bytes;
      keys_ = arrived;
      num_keys_ = std::accumulate(num_received.begin(), num_received.end(), std::uint64_t{0});
    });
  }

  /// Step 7: among what has arrived, keys of one value stay in the order of their senders.
  void place(keys::digit_position digit, bool is_last) {
    others_.group->set_phase("local sort");
    if (is_last) run_.commit();
    order_by(digit, is_last);
    ++run_.report().num_passes;
    run_.finish_phase("local sort", double(digit.shift + digit.bits) / shape_.codec.key_bits(), num_keys_);
  }

  [[nodiscard]] std::uint64_t num_keys() const noexcept { return num_keys_; }

 private:
  [[nodiscard]] const device::records& beside(const device::records& used) const noexcept {
    return used.keys == spares_[0].keys ? spares_[1] : spares_[0];
  }

  /// Stable, in as few partitions as the device can do it; the last of all goes to the result.
  void order_by(keys::digit_position digit, bool ends_in_result) {
    const unsigned num_steps = base::ceil_div(digit.bits, self_.device->advise(shape_).most_radix_bits);
    const unsigned step_bits = base::ceil_div(digit.bits, num_steps);
    for (unsigned done = 0; done < digit.bits; done += step_bits) {
      const bool is_last = done + step_bits >= digit.bits;
      const device::records to = is_last && ends_in_result ? others_.result : beside(keys_);
      partition({digit.shift + done, std::min(step_bits, digit.bits - done)}, to);
    }
  }

  void partition(keys::digit_position digit, device::records to) {
    counts_.assign(digit.num_buckets(), 0);
    self_.queue->histogram(
        {.shape = shape_, .keys = keys_.keys, .num_keys = num_keys_, .digits = {digit}, .counts = counts_.data()});
    self_.queue->synchronize();
    std::vector<device::records> destinations(counts_.size());
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < counts_.size(); ++d) {
      destinations[d] = advance(shape_, to, offset);
      offset += counts_[d];
    }
    self_.queue->partition(
        {.shape = shape_, .source = keys_, .num_keys = num_keys_, .digit = digit, .destinations = destinations.data()});
    keys_ = to;
  }

  /// Searches as the paper's implementation does, by halving.
  void count_ordered(keys::digit_position digit) {
    counts_.assign(digit.num_buckets(), 0);
    std::uint64_t begin = 0;
    while (begin < num_keys_) {
      const std::uint64_t value = digit.of(encode_at(shape_.codec, keys_.keys, begin));
      std::uint64_t low = begin;  // holds `value`
      std::uint64_t high = num_keys_;
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (digit.of(encode_at(shape_.codec, keys_.keys, middle)) == value ? low : high) = middle;
      }
      counts_[value] = high - begin;
      begin = high;
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> count_by_destination() const {
    std::vector<std::uint64_t> num_sent(part_begins_.size() - 1);
    for (std::size_t value = 0; value < counts_.size(); ++value) {
      std::uint64_t position = positions_[value];
      const std::uint64_t end = position + counts_[value];
      while (position < end) {
        // The last part that begins here or before; empty ones begin where their successors do.
        const auto part = std::ranges::upper_bound(part_begins_, position) - part_begins_.begin() - 1;
        const std::uint64_t upto = std::min(end, part_begins_[static_cast<std::size_t>(part) + 1]);
        num_sent[static_cast<std::size_t>(part)] += upto - position;
        position = upto;
      }
    }
    return num_sent;
  }

  /// Transfers go from and to every process; offsets at others are their own business.
  [[nodiscard]] std::vector<plan::transfer> list_blocks(const std::vector<std::uint64_t>& num_sent,
                                                        const std::vector<std::uint64_t>& num_received) const {
    std::vector<plan::transfer> blocks;
    const unsigned self = others_.process;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (unsigned p = 0; p < num_sent.size(); ++p) {
      if (p == self) {
        blocks.push_back({self, sent, self, received, num_sent[p]});
      } else {
        blocks.push_back({self, sent, p, 0, num_sent[p]});
        blocks.push_back({p, 0, self, received, num_received[p]});
      }
      sent += num_sent[p];
      received += num_received[p];
    }
    return blocks;
  }

  run_context& run_;
  const cluster_sort& others_;
  rank& self_;
  const device::record_shape& shape_;
  std::uint64_t num_keys_;
  device::records keys_;                    ///< where they are
  std::vector<std::uint64_t> part_begins_;  ///< of each process, in the sorted whole, and its end
  std::array<device::records, 2> spares_;
  transport::direct_exchange direct_;
  transport::routed_exchange exchange_;
  std::vector<std::uint64_t> counts_;     ///< of this process's keys, by digit value
  std::vector<std::uint64_t> positions_;  ///< in the sorted whole, of its first key of each digit value
};

unsigned radix_bits_of(const sort_settings& options) {
  constexpr unsigned bits_of_the_paper = 16;
  return options.tuning.radix_bits == 0 ? bits_of_the_paper : options.tuning.radix_bits;
}

}  // namespace

void run_distributed_lsd(run_context& run, const problem& sort) {
  lsd_state state(run, sort);
  const unsigned key_bits = sort.shape.codec.key_bits();
  const unsigned radix_bits = std::min(key_bits, radix_bits_of(run.options()));
  for (unsigned shift = 0; shift < key_bits; shift += radix_bits) {
    const keys::digit_position digit{shift, std::min(radix_bits, key_bits - shift)};
    state.sort_locally_by(digit);
    state.find_destinations();
    state.exchange_keys();
    state.place(digit, shift + digit.bits == key_bits);
  }
  run.report().algorithm = "distributed_lsd";
  run.report().input_shape = "unknown";
  run.report().ranks[0].num_keys_out = state.num_keys();
}

std::vector<slot_request> distributed_lsd_workspace(const std::vector<rank>& ranks, const sort_settings&,
                                                    const problem& sort) {
  if (ranks.size() != 1 || !ranks[0].device->shares_host_memory()) {
    throw invalid_argument("algorithm distributed_lsd takes one CPU device in each process, as in --devices cpu");
  }
  const cluster_sort& others = *sort.others;
  const std::vector<std::uint64_t>& parts = others.target_counts.empty() ? others.source_counts : others.target_counts;
  const std::uint64_t most = std::max(sort.num_keys, parts[others.process]);
  return {{0, 0, most}, {0, 1, most}};
}

}  // namespace spansort::algorithms
