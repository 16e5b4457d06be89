// SPDX-License-Identifier: Apache-2.0
// A transport in one file, as an example of what it takes: processes, here threads, put what they send into mailboxes
// in memory that all of them see, and the receivers take it out. The conformance suite at the end is its test.
#include <cstring>
#include <memory>
#include <vector>

#include "device/host/host_device.hpp"
#include "support/exchange_conformance.hpp"
#include "thread_group.hpp"

namespace spansort::test {
namespace {

using mailbox = std::vector<std::byte>;

/// One mailbox for every pair of ranks.
class post_office {
 public:
  explicit post_office(unsigned num_ranks) : num_ranks_(num_ranks), boxes_(num_ranks * num_ranks) {}
  [[nodiscard]] unsigned num_ranks() const noexcept { return num_ranks_; }
  [[nodiscard]] mailbox& box(unsigned source, unsigned receiver) { return boxes_[source * num_ranks_ + receiver]; }

 private:
  unsigned num_ranks_;
  std::vector<mailbox> boxes_;
};

void put(mailbox& box, const void* from, std::uint64_t size_bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  box.insert(box.end(), begin, begin + size_bytes);
}

class mailbox_exchange final : public transport::exchange {
 public:
  mailbox_exchange(transport::communicator& group, post_office& office) : group_(group), office_(office) {}

  [[nodiscard]] std::string why_not(unsigned, unsigned) const override { return {}; }
  void connect(unsigned, unsigned) override {}

  transport::exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                               std::span<const transport::endpoint> endpoints) override {
    const std::uint64_t key_bytes = shape.codec.width_bytes();
    transport::exchanged moved;
    for (const transport::endpoint& here : endpoints) {
      for (const plan::transfer& t : transfers) {
        if (t.source_rank != here.rank || t.count == 0) continue;
        const device::records from = device::advance(shape, here.source, t.source_offset);
        mailbox& box = office_.box(here.rank, t.destination_rank);
        put(box, from.keys, t.count * key_bytes);
        if (shape.value_bytes != 0) put(box, from.values, t.count * shape.value_bytes);
        if (t.destination_rank != here.rank) moved.bytes += t.count * shape.bytes();
      }
    }
    group_.barrier();
    for (const transport::endpoint& here : endpoints) {
      std::vector<std::uint64_t> taken_bytes(office_.num_ranks());
      for (const plan::transfer& t : transfers) {
        if (t.destination_rank != here.rank || t.count == 0) continue;
        const device::records to = device::advance(shape, here.destination, t.destination_offset);
        const mailbox& box = office_.box(t.source_rank, here.rank);
        std::uint64_t& taken = taken_bytes[t.source_rank];
        std::memcpy(to.keys, box.data() + taken, t.count * key_bytes);
        taken += t.count * key_bytes;
        if (shape.value_bytes != 0) std::memcpy(to.values, box.data() + taken, t.count * shape.value_bytes);
        taken += t.count * shape.value_bytes;
      }
    }
    group_.barrier();
    for (const transport::endpoint& here : endpoints) {
      for (const plan::transfer& t : transfers) {
        if (t.source_rank == here.rank) office_.box(here.rank, t.destination_rank).clear();
      }
    }
    group_.barrier();
    return moved;
  }

 private:
  transport::communicator& group_;
  post_office& office_;
};

/// `num_threads` processes with `num_ranks` ranks each.
exchange_world mailboxes(unsigned num_threads, unsigned num_ranks) {
  const std::string name = "mailboxes_" + std::to_string(num_threads) + "x" + std::to_string(num_ranks);
  return {name, [=](const std::function<void(const exchange_process&)>& f) -> std::string {
            post_office office(num_threads * num_ranks);
            run_on_threads(num_threads, [&](thread_group& group) {
              std::vector<std::unique_ptr<device::device>> owned;
              std::vector<device::device*> devices;
              for (unsigned r = 0; r < num_ranks; ++r) {
                owned.push_back(device::host::make_host_device({.num_threads = 1}));
                devices.push_back(owned.back().get());
              }
              mailbox_exchange by_mailbox(group, office);
              f({group, devices, by_mailbox});
            });
            return {};
          }};
}

INSTANTIATE_TEST_SUITE_P(toy, exchange_conformance, testing::Values(mailboxes(1, 2), mailboxes(3, 1), mailboxes(2, 2)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace spansort::test
