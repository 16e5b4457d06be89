// SPDX-License-Identifier: Apache-2.0
// The transports of one process against the conformance suite, and the choice among them.
#include <gtest/gtest.h>

#include <memory>

#include "device/host/host_device.hpp"
#include "support/exchange_conformance.hpp"
#include "transport/direct_exchange.hpp"
#include "transport/host_staged_exchange.hpp"
#include "transport/routed_exchange.hpp"
#include "transport/single_process.hpp"

namespace spansort::test {
namespace {

using transport::direct_exchange;
using transport::host_staged_exchange;
using transport::routed_exchange;

/// Host devices, of which those of odd rank have memory of their own.
class host_devices {
 public:
  explicit host_devices(unsigned num_ranks) {
    for (unsigned r = 0; r < num_ranks; ++r) {
      owned_.push_back(device::host::make_host_device(
          {.name = "host:" + std::to_string(r), .num_threads = 1 + r % 2, .shares_memory = r % 2 == 0}));
      devices.push_back(owned_.back().get());
    }
  }
  [[nodiscard]] std::vector<const device::device*> as_const() const { return {devices.begin(), devices.end()}; }
  [[nodiscard]] std::vector<transport::staged_rank> with_slots_of(std::uint64_t slot_bytes) const {
    std::vector<transport::staged_rank> ranks;
    for (device::device* const d : devices) ranks.push_back({d, slot_bytes});
    return ranks;
  }

  std::vector<device::device*> devices;

 private:
  std::vector<std::unique_ptr<device::device>> owned_;
};

/// Connects only pairs of ranks of which none, or each, is odd.
class every_second_pair final : public transport::exchange {
 public:
  explicit every_second_pair(transport::exchange& inner) : inner_(inner) {}
  [[nodiscard]] std::string why_not(unsigned source, unsigned receiver) const override {
    return source % 2 == receiver % 2 ? std::string() : "odd and even";
  }
  void connect(unsigned source, unsigned receiver) override { inner_.connect(source, receiver); }
  transport::exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                               std::span<const transport::endpoint> endpoints) override {
    for (const plan::transfer& t : transfers) EXPECT_EQ(why_not(t.source_rank, t.destination_rank), "");
    return inner_.execute(shape, transfers, endpoints);
  }

 private:
  transport::exchange& inner_;
};

exchange_world direct(unsigned num_ranks) {
  return {"direct_" + std::to_string(num_ranks), [=](const auto& f) -> std::string {
            const host_devices hosts(num_ranks);
            direct_exchange pushed(hosts.as_const(), 0);
            f(exchange_process{transport::alone(), hosts.devices, pushed});
            return {};
          }};
}

exchange_world staged(unsigned num_ranks, std::uint64_t slot_bytes) {
  return {"staged_" + std::to_string(num_ranks) + "_by_" + std::to_string(slot_bytes),
          [=](const auto& f) -> std::string {
            const host_devices hosts(num_ranks);
            host_staged_exchange through_host(hosts.with_slots_of(slot_bytes), 0);
            f(exchange_process{transport::alone(), hosts.devices, through_host});
            return {};
          }};
}

exchange_world routed(unsigned num_ranks) {
  return {"routed_" + std::to_string(num_ranks), [=](const auto& f) -> std::string {
            const host_devices hosts(num_ranks);
            direct_exchange pushed(hosts.as_const(), 0);
            every_second_pair some(pushed);
            host_staged_exchange through_host(hosts.with_slots_of(4096), 0);
            routed_exchange both({&some, &through_host});
            f(exchange_process{transport::alone(), hosts.devices, both});
            return {};
          }};
}

INSTANTIATE_TEST_SUITE_P(one_process, exchange_conformance,
                         testing::Values(direct(1), direct(2), direct(5), staged(1, 4096), staged(2, 1000),
                                         staged(3, 1 << 20), routed(2), routed(5)),
                         testing::PrintToStringParamName());

TEST(transports, TheFirstThatConnectsIsTaken) {
  const host_devices hosts(3);
  direct_exchange pushed(hosts.as_const(), 10, "asked for");
  host_staged_exchange through_host(hosts.with_slots_of(4096), 10);
  const std::vector<transport::exchange*> both{&pushed, &through_host};
  const transport::route to_itself = transport::choose_route(both, 11, 11);
  EXPECT_EQ(to_itself.transport, &pushed);
  EXPECT_EQ(to_itself.why_not_before, "");
  const transport::route to_another = transport::choose_route(both, 10, 12);
  EXPECT_EQ(to_another.transport, &through_host);
  EXPECT_EQ(to_another.why_not_before, "asked for");
  const transport::route to_elsewhere = transport::choose_route(both, 10, 13);
  EXPECT_EQ(to_elsewhere.transport, nullptr);
  EXPECT_EQ(to_elsewhere.why_not_before, "rank 13 is another process's; rank 13 is another process's");
  EXPECT_EQ(routed_exchange(both).why_not(9, 10), "rank 9 is another process's; rank 9 is another process's");
}

TEST(transports, StagedBytesAreCounted) {
  const host_devices hosts(2);
  host_staged_exchange through_host(hosts.with_slots_of(4096), 0);
  through_host.connect(0, 1);
  const device::record_shape shape{{key_type::u32}, 8};
  const device::buffer from = hosts.devices[0]->allocate(100 * shape.bytes());
  const device::buffer to = hosts.devices[1]->allocate(100 * shape.bytes());
  std::vector<std::unique_ptr<device::event>> events;
  std::vector<std::unique_ptr<device::queue>> queues;
  std::vector<transport::endpoint> endpoints;
  for (unsigned r = 0; r < 2; ++r) {
    queues.push_back(hosts.devices[r]->make_queue());
    const auto records = [](const device::buffer& b) {
      return device::records{b.data(), static_cast<char*>(b.data()) + 400};
    };
    endpoints.push_back({r, queues[r].get(), records(from), records(to), [&events, d = hosts.devices[r]]() -> auto& {
                           events.push_back(d->make_event());
                           return *events.back();
  }
});
}  // namespace
const std::vector<plan::transfer> transfers{{0, 0, 1, 0, 100}};
const transport::exchanged moved = through_host.execute(shape, transfers, endpoints);
for (const auto& q : queues) q->synchronize();
EXPECT_EQ(moved.bytes, 1200);
EXPECT_EQ(moved.staged_bytes, 1200);
}  // namespace spansort::test

}  // namespace
}  // namespace spansort::test
