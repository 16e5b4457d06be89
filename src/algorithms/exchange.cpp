// SPDX-License-Identifier: Apache-2.0
#include "algorithms/exchange.hpp"

#include <algorithm>
#include <vector>

#include "base/assert.hpp"

namespace spansort::algorithms {
namespace {

constexpr std::string_view label = "exchange";

/// A receiver's slots of host memory, used in turn.
class stage {
 public:
  stage(const staging_area& area, const endpoint& receiver)
      : area_(area), receiver_(receiver), emptied_(area.num_slots) {}

  /// The source's queue fills a slot, the receiver's queue empties it. Either only waits for work queued before, so the
  /// queues cannot wait for each other in a ring.
  void copy(void* to, const void* from, std::uint64_t size_bytes, const endpoint& source) {
    for (std::uint64_t begin = 0; begin < size_bytes; begin += area_.slot_bytes) {
      const std::uint64_t bytes = std::min(area_.slot_bytes, size_bytes - begin);
      const unsigned slot = next_slot_++ % area_.num_slots;
      std::byte* const memory = area_.memory + slot * area_.slot_bytes;
      if (emptied_[slot] != nullptr) source.queue->wait(*emptied_[slot]);
      source.queue->copy(memory, static_cast<const std::byte*>(from) + begin, bytes, label);
      device::event& filled = source.take_event();
      source.queue->record(filled);
      receiver_.queue->wait(filled);
      receiver_.queue->copy(static_cast<std::byte*>(to) + begin, memory, bytes, label);
      emptied_[slot] = &receiver_.take_event();
      receiver_.queue->record(*emptied_[slot]);
    }
  }

 private:
  const staging_area& area_;
  const endpoint& receiver_;
  std::vector<device::event*> emptied_;
  unsigned next_slot_ = 0;
};

/// The transfers of one source, the first to every receiver, then the second to every receiver ...
std::vector<plan::transfer> in_turns(std::span<const plan::transfer> transfers, unsigned source, unsigned num_ranks) {
  std::vector<std::vector<plan::transfer>> to_rank(num_ranks);
  std::size_t most = 0;
  for (const plan::transfer& t : transfers) {
    if (t.source_rank != source) continue;
    to_rank[t.destination_rank].push_back(t);
    most = std::max(most, to_rank[t.destination_rank].size());
  }
  std::vector<plan::transfer> ordered;
  for (std::size_t i = 0; i < most; ++i) {
    for (unsigned distance = 0; distance < num_ranks; ++distance) {
      const std::vector<plan::transfer>& of_one = to_rank[(source + distance) % num_ranks];
      if (i < of_one.size()) ordered.push_back(of_one[i]);
    }
  }
  return ordered;
}

}  // namespace

exchanged push_in_memory(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                         std::span<const endpoint> endpoints, const reach_rule& reaches,
                         std::span<const staging_area> staging) {
  const auto num_ranks = static_cast<unsigned>(endpoints.size());
  const unsigned key_bytes = shape.codec.width_bytes();
  std::vector<stage> stages;
  for (std::size_t r = 0; r < staging.size(); ++r) stages.emplace_back(staging[r], endpoints[r]);
  exchanged sum;
  for (unsigned source = 0; source < num_ranks; ++source) {
    const endpoint& sender = endpoints[source];
    std::vector<device::copy_piece> pushed_keys;
    std::vector<device::copy_piece> pushed_values;
    for (const plan::transfer& t : in_turns(transfers, source, num_ranks)) {
      const device::records from = device::advance(shape, sender.source, t.source_offset);
      const device::records to =
          device::advance(shape, endpoints[t.destination_rank].destination, t.destination_offset);
      if (t.destination_rank != source) sum.bytes += t.count * shape.bytes();
      if (reaches(source, t.destination_rank)) {
        pushed_keys.push_back({to.keys, from.keys, t.count * key_bytes});
        if (shape.value_bytes != 0) pushed_values.push_back({to.values, from.values, t.count * shape.value_bytes});
        continue;
      }
      SPANSORT_ASSERT(t.destination_rank < stages.size());
      stage& through = stages[t.destination_rank];
      through.copy(to.keys, from.keys, t.count * key_bytes, sender);
      if (shape.value_bytes != 0) through.copy(to.values, from.values, t.count * shape.value_bytes, sender);
      sum.staged_bytes += t.count * shape.bytes();
    }
    sender.queue->copy_pieces(std::move(pushed_keys), key_bytes, label);
    if (shape.value_bytes != 0) sender.queue->copy_pieces(std::move(pushed_values), shape.value_bytes, label);
  }
  return sum;
}

}  // namespace spansort::algorithms
