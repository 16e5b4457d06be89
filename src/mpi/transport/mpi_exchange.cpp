// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/mpi_exchange.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.hpp"

namespace spansort::transport {
namespace {

/// Copies between devices' memory and slots of the host's, on the queues of the devices.
class queue_packer : public packer {
 public:
  queue_packer(std::vector<endpoint_range> ranges, unsigned num_lanes) : ranges_(std::move(ranges)), ends_(num_lanes) {
    std::ranges::sort(ranges_, {}, &endpoint_range::begin);
  }

  void start(unsigned lane, std::span<const copied_piece> pieces) override {
    ends_[lane].clear();
    std::vector<const endpoint*> used;
    for (const copied_piece& piece : pieces) {
      const endpoint* const from = owner_of(piece.from);
      const endpoint& owner = from != nullptr ? *from : *owner_of(piece.to);
      owner.queue->copy(piece.to, piece.from, piece.size_bytes, "exchange");
      if (std::ranges::find(used, &owner) == used.end()) used.push_back(&owner);
    }
    for (const endpoint* owner : used) {
      ends_[lane].push_back(&owner->take_event());
      owner->queue->record(*ends_[lane].back());
    }
  }
  [[nodiscard]] bool is_done(unsigned lane) override {
    return std::ranges::all_of(ends_[lane], [](const device::event* e) { return e->is_complete(); });
  }

 private:
  [[nodiscard]] const endpoint* owner_of(const std::byte* memory) const {
    const auto after = std::ranges::upper_bound(ranges_, memory, std::less<>(), &endpoint_range::begin);
    if (after == ranges_.begin() || memory >= (after - 1)->end) return nullptr;
    return (after - 1)->owner;
  }

  std::vector<endpoint_range> ranges_;
  std::vector<std::vector<device::event*>> ends_;  ///< by lane
};

}  // namespace

mpi_exchange::mpi_exchange(node_group& group, mpi_exchange_options options)
    : group_(group), options_(std::move(options)), ranks_(options_.first_ranks) {}

void mpi_exchange::connect(unsigned, unsigned) {
  if (options_.staging_device == nullptr || slots_.size_bytes() != 0) return;
  const exchange_limits& limits = options_.limits;
  slots_ = options_.staging_device->allocate_staging(2 * limits.in_flight * limits.message_bytes);
}

exchanged mpi_exchange::execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                std::span<const endpoint> endpoints) {
  if (endpoints.empty()) return {};
  part_list parts = parts_of(shape, transfers, endpoints, ranks_);
  queue_packer copies(std::move(parts.ranges), 2 * options_.limits.in_flight + 1);
  packed_memory packed;
  if (options_.staging_device != nullptr) {
    SPANSORT_ASSERT(slots_.size_bytes() != 0);
    packed = {&copies, {static_cast<std::byte*>(slots_.data()), slots_.size_bytes()}};
  }
  exchanged_bytes moved;
  try {
    moved = exchange_bytes(group_, parts.outgoing, parts.incoming, options_.limits, packed);
  } catch (...) {
    // MPI cannot be made to forget memory that it is given: on purpose never freed.
    static_cast<void>(new device::buffer(std::move(slots_)));
    if (options_.keep_memory) options_.keep_memory();
    throw;
  }
  return {.bytes = parts.bytes, .staged_bytes = options_.staging_device == nullptr ? 0 : moved.sent + moved.received};
}

}  // namespace spansort::transport
