// SPDX-License-Identifier: Apache-2.0
#include "mpi/external/range_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/math.hpp"

namespace spansort::mpi {

range_exchange::range_exchange(transport::node_group& group, const together_call& together,
                               const external::element_order& order, const external::run_list& runs,
                               const external::spill_plan& plan, std::span<std::byte> send_memory,
                               const transport::exchange_limits& limits)
    : group_(group),
      together_(together),
      runs_(runs),
      width_(order.element_bytes()),
      block_elements_(plan.block_elements),
      capacity_(send_memory.size() / 2 / width_),
      limits_(limits),
      pool_(plan.batch_bytes) {
  SPANSORT_ASSERT(capacity_ != 0);
  buffers_[0].memory = send_memory.data();
  buffers_[1].memory = send_memory.data() + capacity_ * width_;
}

std::uint64_t range_exchange::num_for(const range_cuts& cuts, unsigned peer) const {
  std::uint64_t count = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) count += cuts.ends[peer][run] - cuts.begins[peer][run];
  return count;
}

std::uint64_t range_exchange::receive(const range_cuts& cuts, std::byte* into) {
  const unsigned num_nodes = group_.num_nodes();
  std::vector<std::uint64_t> numbers(2 * std::size_t{num_nodes});
  std::uint64_t num_sent = 0;
  for (unsigned peer = 0; peer < num_nodes; ++peer) num_sent += numbers[2 * peer] = num_for(cuts, peer);
  for (unsigned peer = 0; peer < num_nodes; ++peer) numbers[2 * peer + 1] = base::ceil_div(num_sent, capacity_);
  const std::vector<std::uint64_t> theirs = group_.all_to_all(numbers);
  std::vector<std::byte*> places(num_nodes);
  std::uint64_t num_received = 0;
  std::uint64_t num_steps = 0;
  for (unsigned peer = 0; peer < num_nodes; ++peer) {
    places[peer] = into + num_received * width_;
    num_received += theirs[2 * peer];
    num_steps = std::max(num_steps, theirs[2 * peer + 1]);
  }

  cursor next;
  const background_call::joined_scope reads_in_here(reading_);
  const auto begin_filling = [&](std::uint64_t step) {
    send_buffer& b = buffers_[step % 2];
    reading_.start([this, &b, &cuts, &next] { fill(b, cuts, next); });
  };
  if (num_steps != 0) begin_filling(0);
  for (std::uint64_t step = 0; step < num_steps; ++step) {
    together_("reading runs", [&] { reading_.wait(); });
    const send_buffer& full = buffers_[step % 2];
    if (step + 1 < num_steps) begin_filling(step + 1);
    group_.set_phase("exchange");
    const std::vector<std::uint64_t> incoming_counts = group_.all_to_all(full.counts);
    std::vector<transport::outgoing_part> outgoing;
    const std::byte* from = full.memory;
    for (const unsigned peer : full.order) {
      outgoing.push_back({peer, from, full.counts[peer] * width_});
      from += full.counts[peer] * width_;
    }
    std::vector<transport::incoming_part> incoming;
    for (unsigned peer = 0; peer < num_nodes; ++peer) {
      incoming.push_back({peer, places[peer], incoming_counts[peer] * width_});
      places[peer] += incoming_counts[peer] * width_;
    }
    is_under_way_ = true;
    sent_bytes_ += transport::exchange_bytes(group_, outgoing, incoming, limits_).sent;
    is_under_way_ = false;
  }
  return num_received;
}

/// Takes what comes next until the buffer is full. Every node rank begins with its own range and goes on to the right,
/// so that not all of them send to one at a time.
void range_exchange::fill(send_buffer& b, const range_cuts& cuts, cursor& next) {
  const unsigned num_nodes = group_.num_nodes();
  b.counts.assign(num_nodes, 0);
  b.order.clear();
  std::vector<request> requests;
  std::uint64_t filled = 0;
  for (; next.step < num_nodes && filled < capacity_; ++next.step, next.run = 0) {
    const unsigned peer = (group_.node_rank() + next.step) % num_nodes;
    b.order.push_back(peer);
    for (; next.run < runs_.size() && filled < capacity_; ++next.run, next.taken = 0) {
      const std::uint64_t first = cuts.begins[peer][next.run] + next.taken;
      const std::uint64_t count = std::min(cuts.ends[peer][next.run] - first, capacity_ - filled);
      if (count != 0) requests.push_back({next.run, first, count, b.memory + filled * width_});
      filled += count;
      b.counts[peer] += count;
      next.taken += count;
      if (first + count != cuts.ends[peer][next.run]) break;
    }
    if (next.run < runs_.size()) break;
  }
  read(requests);
}

/// Cuts a request into what one call reads: blocks that lie together, and by themselves those that are wanted in part.
void range_exchange::add_reads(const request& whole, std::vector<request>& reads) const {
  const external::sorted_run& run = *runs_[whole.run];
  const std::uint64_t end = whole.first + whole.count;
  // The elements before it are wanted up to the end of a block.
  const std::uint64_t end_of_whole = end == run.num_elements() ? end : end / block_elements_ * block_elements_;
  request next = whole;
  while (next.first < end) {
    const std::uint64_t block = next.first / block_elements_;
    if (next.first == block * block_elements_ && next.first < end_of_whole) {
      const std::uint64_t readable = (block + run.readable_blocks(block)) * block_elements_;
      next.count = std::min(readable, end_of_whole) - next.first;
    } else {
      next.count = std::min(end, (block + 1) * block_elements_) - next.first;
    }
    reads.push_back(next);
    next.first += next.count;
    next.to += next.count * width_;
  }
}

void range_exchange::read(const std::vector<request>& requests) {
  std::vector<request> reads;
  for (const request& r : requests) add_reads(r, reads);
  pool_.run(reads.size(), [&](std::uint64_t i, std::span<std::byte> buffer) {
    const request& r = reads[i];
    external::sorted_run& run = *runs_[r.run];
    const std::uint64_t block = r.first / block_elements_;
    const std::uint64_t in_block = r.first % block_elements_;
    const std::uint64_t of_block = std::min(block_elements_, run.num_elements() - block * block_elements_);
    if (in_block == 0 && r.count >= of_block) {
      run.read(block, base::ceil_div(r.count, block_elements_), r.to, buffer);
      return;
    }
    std::vector<std::byte> elements(of_block * width_);
    run.read(block, 1, elements.data(), buffer);
    std::memcpy(r.to, elements.data() + in_block * width_, r.count * width_);
  });
}

}  // namespace spansort::mpi
