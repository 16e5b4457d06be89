// SPDX-License-Identifier: Apache-2.0
#include "transport/host_staged_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "transport/transfer_order.hpp"

namespace spansort::transport {
namespace {

constexpr std::string_view label = "exchange";

/// A receiver's slots of host memory, used in turn.
class stage {
 public:
  stage(const device::buffer& memory, const staged_rank& rank, const endpoint& receiver)
      : memory_(static_cast<std::byte*>(memory.data())), slot_bytes_(rank.slot_bytes), receiver_(receiver) {}

  /// The source's queue fills a slot, the receiver's queue empties it. Either only waits for work queued before, so the
  /// queues cannot wait for each other in a ring.
  void copy(void* to, const void* from, std::uint64_t size_bytes, const endpoint& source) {
    for (std::uint64_t begin = 0; begin < size_bytes; begin += slot_bytes_) {
      const std::uint64_t bytes = std::min(slot_bytes_, size_bytes - begin);
      const unsigned slot = next_slot_++ % host_staged_exchange::num_slots;
      std::byte* const memory = memory_ + slot * slot_bytes_;
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
  std::byte* memory_;
  std::uint64_t slot_bytes_;
  const endpoint& receiver_;
  std::array<device::event*, host_staged_exchange::num_slots> emptied_{};
  unsigned next_slot_ = 0;
};

}  // namespace

host_staged_exchange::host_staged_exchange(std::vector<staged_rank> ranks, unsigned first_rank)
    : ranks_(std::move(ranks)), first_rank_(first_rank), staging_(ranks_.size()) {}

std::string host_staged_exchange::why_not(unsigned source, unsigned receiver) const {
  for (const unsigned rank : {source, receiver}) {
    if (rank < first_rank_ || rank - first_rank_ >= ranks_.size()) {
      return fmt::format("rank {} is another process's", rank);
    }
  }
  return {};
}

void host_staged_exchange::connect(unsigned, unsigned receiver) {
  device::buffer& memory = staging_[receiver - first_rank_];
  const staged_rank& rank = ranks_[receiver - first_rank_];
  if (memory.size_bytes() == 0) memory = rank.device->allocate_staging(num_slots * rank.slot_bytes);
}

exchanged host_staged_exchange::execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                        std::span<const endpoint> endpoints) {
  std::vector<stage> stages;
  for (std::size_t r = 0; r < endpoints.size(); ++r) stages.emplace_back(staging_[r], ranks_[r], endpoints[r]);
  exchanged sum;
  for (const endpoint& sender : endpoints) {
    for (const plan::transfer& t : in_turns(transfers, sender, endpoints)) {
      const std::size_t receiver = t.destination_rank - first_rank_;
      SPANSORT_ASSERT(staging_[receiver].size_bytes() != 0);
      const device::records from = device::advance(shape, sender.source, t.source_offset);
      const device::records to = device::advance(shape, endpoints[receiver].destination, t.destination_offset);
      stages[receiver].copy(to.keys, from.keys, t.count * shape.codec.width_bytes(), sender);
      if (shape.value_bytes != 0) {
        stages[receiver].copy(to.values, from.values, t.count * shape.value_bytes, sender);
      }
      if (&endpoints[receiver] != &sender) sum.bytes += t.count * shape.bytes();
      sum.staged_bytes += t.count * shape.bytes();
    }
  }
  return sum;
}

}  // namespace spansort::transport
