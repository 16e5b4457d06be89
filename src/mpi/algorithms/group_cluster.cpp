// SPDX-License-Identifier: Apache-2.0
#include "mpi/algorithms/group_cluster.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace spansort::algorithms {
namespace {

/// Memory of one endpoint that a part of the exchange lies in.
struct device_range {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  const algorithms::endpoint* owner = nullptr;
};

/// Copies between devices' memory and slots of the host's, on the queues of the devices.
class queue_packer : public transport::packer {
 public:
  queue_packer(std::vector<device_range> ranges, unsigned num_lanes) : ranges_(std::move(ranges)), ends_(num_lanes) {
    std::ranges::sort(ranges_, {}, &device_range::begin);
  }

  void start(unsigned lane, std::span<const transport::copied_piece> pieces) override {
    ends_[lane].clear();
    std::vector<const algorithms::endpoint*> used;
    for (const transport::copied_piece& piece : pieces) {
      const algorithms::endpoint* const from = owner_of(piece.from);
      const algorithms::endpoint& owner = from != nullptr ? *from : *owner_of(piece.to);
      owner.queue->copy(piece.to, piece.from, piece.size_bytes, "exchange");
      if (std::ranges::find(used, &owner) == used.end()) used.push_back(&owner);
    }
    for (const algorithms::endpoint* owner : used) {
      ends_[lane].push_back(&owner->take_event());
      owner->queue->record(*ends_[lane].back());
    }
  }
  [[nodiscard]] bool is_done(unsigned lane) override {
    return std::ranges::all_of(ends_[lane], [](const device::event* e) { return e->is_complete(); });
  }

 private:
  [[nodiscard]] const algorithms::endpoint* owner_of(const std::byte* memory) const {
    const auto after = std::ranges::upper_bound(ranges_, memory, std::less<>(), &device_range::begin);
    if (after == ranges_.begin() || memory >= (after - 1)->end) return nullptr;
    return (after - 1)->owner;
  }

  std::vector<device_range> ranges_;
  std::vector<std::vector<device::event*>> ends_;  ///< by lane
};

/// The parts of an exchange, keys and values apart.
class part_list {
 public:
  explicit part_list(const device::record_shape& shape) : shape_(shape) {}

  void add_outgoing(unsigned peer, const algorithms::endpoint& owner, std::uint64_t offset, std::uint64_t count) {
    const device::records at = advance(shape_, owner.source, offset);
    add(outgoing, peer, owner, at.keys, count * shape_.codec.width_bytes());
    if (shape_.value_bytes != 0) add(outgoing, peer, owner, at.values, count * shape_.value_bytes);
  }
  void add_incoming(unsigned peer, const algorithms::endpoint& owner, std::uint64_t offset, std::uint64_t count) {
    const device::records at = advance(shape_, owner.destination, offset);
    add(incoming, peer, owner, at.keys, count * shape_.codec.width_bytes());
    if (shape_.value_bytes != 0) add(incoming, peer, owner, at.values, count * shape_.value_bytes);
  }

  std::vector<transport::outgoing_part> outgoing;
  std::vector<transport::incoming_part> incoming;
  std::vector<device_range> ranges;

 private:
  template <class Part>
  void add(std::vector<Part>& parts, unsigned peer, const algorithms::endpoint& owner, void* memory,
           std::uint64_t size_bytes) {
    auto* const begin = static_cast<std::byte*>(memory);
    parts.push_back({peer, begin, size_bytes});
    ranges.push_back({begin, begin + size_bytes, &owner});
  }

  const device::record_shape& shape_;
};

}  // namespace

group_cluster::group_cluster(transport::node_group& group, transport::exchange_limits limits, std::vector<rank>& ranks,
                             std::vector<unsigned> first_ranks, transport::nccl_link* link)
    : group_(group), limits_(std::move(limits)), ranks_(ranks), first_ranks_(std::move(first_ranks)), link_(link) {}

bool group_cluster::has_own_memory() const {
  return std::ranges::any_of(ranks_, [](const rank& r) { return !r.device->shares_host_memory(); });
}

void group_cluster::reserve_slots() {
  if (link_ != nullptr || !has_own_memory() || slots_.size_bytes() != 0) return;
  slots_ = ranks_.front().device->allocate_staging(2 * limits_.in_flight * limits_.message_bytes);
}

void group_cluster::abandon_memory() {
  // On purpose never freed.
  static_cast<void>(new device::buffer(std::move(slots_)));
  for (rank& r : ranks_) static_cast<void>(new std::vector<device::buffer>(std::move(r.slots)));
}

std::vector<std::uint64_t> group_cluster::gather(std::span<const std::uint64_t> mine) {
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& its : group_.all_gather_varying(mine)) {
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

unsigned group_cluster::process_of(unsigned rank) const {
  return static_cast<unsigned>(std::ranges::upper_bound(first_ranks_, rank) - first_ranks_.begin() - 1);
}

algorithms::exchanged group_cluster::push(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                          std::span<const algorithms::endpoint> endpoints, unsigned first_rank) {
  const unsigned self = group_.node_rank();
  part_list parts(shape);
  // Sender and receiver of a pair list the same transfers in the same order.
  for (const plan::transfer& t : transfers) {
    const unsigned source = process_of(t.source_rank);
    const unsigned destination = process_of(t.destination_rank);
    if (source == destination) continue;
    if (source == self) {
      parts.add_outgoing(destination, endpoints[t.source_rank - first_rank], t.source_offset, t.count);
    } else if (destination == self) {
      parts.add_incoming(source, endpoints[t.destination_rank - first_rank], t.destination_offset, t.count);
    }
  }
  if (link_ != nullptr) return {.bytes = link_->exchange(parts.outgoing, parts.incoming).sent};
  transport::packed_memory packed;
  queue_packer packer(std::move(parts.ranges), 2 * limits_.in_flight + 1);
  if (has_own_memory()) {
    reserve_slots();
    packed = {&packer, {static_cast<std::byte*>(slots_.data()), slots_.size_bytes()}};
  }
  transport::exchanged_bytes moved;
  try {
    moved = transport::exchange_over_mpi(group_, parts.outgoing, parts.incoming, limits_, packed);
  } catch (...) {
    abandon_memory();
    throw;
  }
  return {.bytes = moved.sent, .staged_bytes = has_own_memory() ? moved.sent + moved.received : 0};
}

}  // namespace spansort::algorithms
