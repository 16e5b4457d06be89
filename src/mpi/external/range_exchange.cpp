// SPDX-License-Identifier: Apache-2.0
#include "mpi/external/range_exchange.hpp"

#include <algorithm>
#include <utility>

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

void range_exchange::expect(range_cuts cuts) {
  SPANSORT_ASSERT(!behind_);
  behind_ = std::move(cuts);
  if (!is_reading_) begin_range();
}

/// The last one has been read.
void range_exchange::begin_range() {
  if (!behind_) return;
  cuts_ = *std::exchange(behind_, std::nullopt);
  next_ = {};
  begin_filling();
}

void range_exchange::begin_filling() {
  filled_ = 1 - filled_;
  is_reading_ = true;
  reading_.start([this] { fill(buffers_[filled_]); });
}

std::uint64_t range_exchange::num_for(unsigned peer) const {
  std::uint64_t count = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) count += cuts_.ends[peer][run] - cuts_.begins[peer][run];
  return count;
}

std::uint64_t range_exchange::receive(std::byte* into) {
  SPANSORT_ASSERT(is_reading_);
  const unsigned num_nodes = group_.num_nodes();
  std::vector<std::uint64_t> numbers(2 * std::size_t{num_nodes});
  std::uint64_t num_sent = 0;
  for (unsigned peer = 0; peer < num_nodes; ++peer) num_sent += numbers[2 * peer] = num_for(peer);
  const std::uint64_t my_steps = std::max<std::uint64_t>(base::ceil_div(num_sent, capacity_), 1);
  for (unsigned peer = 0; peer < num_nodes; ++peer) numbers[2 * peer + 1] = my_steps;
  const std::vector<std::uint64_t> theirs = group_.all_to_all(numbers);
  std::vector<std::byte*> places(num_nodes);
  std::uint64_t num_received = 0;
  std::uint64_t num_steps = 0;
  for (unsigned peer = 0; peer < num_nodes; ++peer) {
    places[peer] = into + num_received * width_;
    num_received += theirs[2 * peer];
    num_steps = std::max(num_steps, theirs[2 * peer + 1]);
  }
  for (std::uint64_t step = 0; step < num_steps; ++step) {
    together_("reading runs", [&] { reading_.wait(); });
    is_reading_ = false;
    const send_buffer& full = buffers_[filled_];
    step + 1 < num_steps ? begin_filling() : begin_range();
    send(full, places);
  }
  return num_received;
}

/// Sends what a buffer holds, and receives what others send to `places`, which move on behind it.
void range_exchange::send(const send_buffer& full, std::vector<std::byte*>& places) {
  group_.set_phase("exchange");
  const std::vector<std::uint64_t> incoming_counts = group_.all_to_all(full.counts);
  std::vector<transport::outgoing_part> outgoing;
  const std::byte* from = full.memory;
  for (const unsigned peer : full.order) {
    outgoing.push_back({peer, from, full.counts[peer] * width_});
    from += full.counts[peer] * width_;
  }
  std::vector<transport::incoming_part> incoming;
  for (unsigned peer = 0; peer < group_.num_nodes(); ++peer) {
    incoming.push_back({peer, places[peer], incoming_counts[peer] * width_});
    places[peer] += incoming_counts[peer] * width_;
  }
  is_under_way_ = true;
  sent_bytes_ += transport::exchange_bytes(group_, outgoing, incoming, limits_).sent;
  is_under_way_ = false;
}

/// Takes what comes next until the buffer is full. Every node rank begins with its own range and goes on to the right,
/// so that not all of them send to one at a time.
void range_exchange::fill(send_buffer& b) {
  const unsigned num_nodes = group_.num_nodes();
  b.counts.assign(num_nodes, 0);
  b.order.clear();
  std::vector<request> requests;
  std::uint64_t filled = 0;
  for (; next_.step < num_nodes && filled < capacity_; ++next_.step, next_.run = 0) {
    const unsigned peer = (group_.node_rank() + next_.step) % num_nodes;
    b.order.push_back(peer);
    for (; next_.run < runs_.size() && filled < capacity_; ++next_.run, next_.taken = 0) {
      const std::uint64_t first = cuts_.begins[peer][next_.run] + next_.taken;
      const std::uint64_t count = std::min(cuts_.ends[peer][next_.run] - first, capacity_ - filled);
      if (count != 0) requests.push_back({next_.run, first, count, b.memory + filled * width_});
      filled += count;
      b.counts[peer] += count;
      next_.taken += count;
      if (first + count != cuts_.ends[peer][next_.run]) break;
    }
    if (next_.run < runs_.size()) break;
  }
  read(requests);
}

/// Cuts requests into what one call reads.
void range_exchange::read(const std::vector<request>& requests) {
  std::vector<request> reads;
  for (const request& whole : requests) {
    external::sorted_run& run = *runs_[whole.run];
    request next = whole;
    for (const std::uint64_t end = whole.first + whole.count; next.first < end; next.first += next.count) {
      const std::uint64_t block = next.first / block_elements_;
      next.count = std::min(end, (block + run.readable_blocks(block)) * block_elements_) - next.first;
      next.to = whole.to + (next.first - whole.first) * width_;
      reads.push_back(next);
    }
  }
  pool_.run(reads.size(), [&](std::uint64_t i, std::span<std::byte> buffer) {
    const request& r = reads[i];
    runs_[r.run]->read(r.first, r.count, r.to, buffer);
  });
}

}  // namespace spansort::mpi
