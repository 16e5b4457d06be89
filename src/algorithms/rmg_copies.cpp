// SPDX-License-Identifier: Apache-2.0
// RMG sort between the caller's memory and devices with memory of their own: pieces are counted while the next ones
// arrive, and buckets that are sorted leave while the next ones are being sorted (RMG paper, section 3.3 and Figure 7).
#include <algorithm>
#include <functional>

#include "algorithms/rmg_state.hpp"
#include "algorithms/sizes.hpp"

namespace spansort::algorithms {

std::uint64_t keys_of_a_piece(const problem& sort, const base::test_hooks& hooks) {
  const std::uint64_t bytes = hooks.copy_piece_bytes == 0 ? copy_piece_bytes : hooks.copy_piece_bytes;
  return std::max<std::uint64_t>(1, bytes / sort.shape.bytes());
}

void rmg_state::scatter_input() {
  enter("scatter");
  const plan::parameters& p = planner_.params();
  const std::uint64_t most =
      place_ == input_place::separate ? keys_of_a_piece(sort_, run_.options().hooks) : p.num_keys;
  for (unsigned r = 0; r < run_.num_ranks(); ++r) {
    const std::uint64_t count = source_count(p, planned(r));
    for (std::uint64_t offset = 0; offset < count; offset += most) {
      pieces_.push_back({.rank = r, .offset = offset, .count = std::min(most, count - offset)});
    }
    if (place_ == input_place::separate) copy_in(r);
  }
}

void rmg_state::copy_in(unsigned rank) {
  const device::record_shape& shape = sort_.shape;
  device::queue& copies = *run_.ranks()[rank].copies;
  const device::records input = advance(shape, sort_.data, input_begin(rank));
  for (piece& p : pieces_) {
    if (p.rank != rank) continue;
    const device::records from = advance(shape, input, p.offset);
    const device::records to = advance(shape, buffers_[rank].chunk, p.offset);
    copies.copy(to.keys, from.keys, p.count * shape.codec.width_bytes(), "copy in");
    p.arrived = &run_.ranks()[rank].take_event();
    copies.record(*p.arrived);
    copies.copy(to.values, from.values, p.count * shape.value_bytes, "copy in");
  }
}

void rmg_state::count_pieces() {
  const plan::refinement& root = planner_.pending().front();
  const bool looks = looks_for_order();
  for (piece& p : pieces_) {
    device::queue& queue = *run_.ranks()[p.rank].queue;
    if (p.arrived != nullptr) queue.wait(*p.arrived);
    p.counts.resize(root.digit.num_buckets());
    queue.histogram({.shape = sort_.shape,
                     .keys = advance(sort_.shape, buffers_[p.rank].chunk, p.offset).keys,
                     .num_keys = p.count,
                     .digits = {root.digit},
                     .counts = p.counts.data(),
                     .found_shape = looks ? &p.shape : nullptr});
  }
  run_.finish_phase("histogram", 0.15, sort_.num_keys);

  for_each_slice([&](const plan::refinement&, const plan::slice& slice, std::vector<std::uint64_t>& counts) {
    for (const piece& p : pieces_) {
      if (planned(p.rank) == slice.rank) std::ranges::transform(counts, p.counts, counts.begin(), std::plus<>());
    }
  });
}

void rmg_state::sort_and_copy_out(unsigned rank, const std::vector<device::sort_segment>& segments) {
  const std::uint64_t batch_keys = keys_of_a_piece(sort_, run_.options().hooks);
  const device::device& device = *run_.ranks()[rank].device;
  for (std::size_t first = 0; first < segments.size();) {
    // Neighbours that end in the same place, up to a piece.
    const bool in_alternate = device.prefers_alternate(sort_.shape, segments[first].bits);
    std::uint64_t num_keys = 0;
    std::size_t end = first;
    while (end < segments.size() && (end == first || num_keys + segments[end].count <= batch_keys) &&
           device.prefers_alternate(sort_.shape, segments[end].bits) == in_alternate) {
      num_keys += segments[end++].count;
    }
    const auto begin = segments.begin() + static_cast<std::ptrdiff_t>(first);
    sort_batch(rank, {begin, segments.begin() + static_cast<std::ptrdiff_t>(end)}, in_alternate, num_keys);
    first = end;
  }
}

void rmg_state::sort_batch(unsigned rank, std::vector<device::sort_segment> batch, bool in_alternate,
                           std::uint64_t num_keys) {
  const device::record_shape& shape = sort_.shape;
  algorithms::rank& self = run_.ranks()[rank];
  const rank_buffers& b = buffers_[rank];
  const bool lies_in_spare = b.is_closed && b.is_partitioned;
  const device::records& result = lies_in_spare == in_alternate ? b.owned : b.spare;
  const std::uint64_t offset = batch.front().begin;
  sort_segments(rank, std::move(batch), result);
  device::event& sorted = self.take_event();
  self.queue->record(sorted);
  self.copies->wait(sorted);
  const device::records from = advance(shape, result, offset);
  const device::records to = advance(shape, output(), output_begin(rank) + offset);
  self.copies->copy(to.keys, from.keys, num_keys * shape.codec.width_bytes(), "copy out");
  self.copies->copy(to.values, from.values, num_keys * shape.value_bytes, "copy out");
}

}  // namespace spansort::algorithms
