// SPDX-License-Identifier: Apache-2.0
// exchange_bytes: every byte arrives at its place, whatever the totals, the cuts on either side, the size of messages
// and how many are in flight; nothing beside the parts is written; memory that MPI cannot reach is left to the packer.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <ostream>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace {

using namespace spansort::transport;

constexpr std::byte untouched{0xa5};

std::byte byte_of(std::uint64_t from, std::uint64_t to, std::uint64_t position) {
  const std::uint64_t mixed = (from * 1009 + to * 917 + position) * 0x9e3779b97f4a7c15U;
  return static_cast<std::byte>(mixed >> 56);
}

/// Parts with gaps between them in one piece of memory, in an order that is not that of the peers.
struct piece_of_part {
  unsigned peer = 0;
  std::uint64_t offset = 0;  ///< in the memory
  std::uint64_t size_bytes = 0;
  std::uint64_t position = 0;  ///< in what goes between the two ranks
};

struct layout {
  std::vector<piece_of_part> parts;
  std::uint64_t size_bytes = 0;
};

layout cut(const std::vector<std::uint64_t>& totals, std::mt19937_64& random) {
  std::vector<std::uint64_t> done(totals.size(), 0);
  layout made;
  const std::uint64_t most = 1 + random() % 5000;
  for (bool is_open = true; is_open;) {
    is_open = false;
    for (unsigned peer = 0; peer < totals.size(); ++peer) {
      const std::uint64_t size = std::min(totals[peer] - done[peer], random() % (most + 1));
      made.size_bytes += random() % 4;
      made.parts.push_back({peer, made.size_bytes, size, done[peer]});
      made.size_bytes += size;
      done[peer] += size;
      is_open = is_open || done[peer] < totals[peer];
    }
  }
  made.size_bytes += 3;
  return made;
}

/// Memory that MPI would crash on: addresses are those of the host moved by a constant. Copies happen only when asked
/// for several times whether they are done, so that what is sent or reused too early is wrong; how often is different
/// from one to the next, so that they end in another order than they start.
class unreachable_memory : public packer {
 public:
  explicit unreachable_memory(unsigned num_lanes) : lanes_(num_lanes) {}

  static std::byte* hide(std::byte* address) { return address + (std::uintptr_t{1} << 60); }
  static const std::byte* hide(const std::byte* address) { return address + (std::uintptr_t{1} << 60); }

  void start(unsigned lane, std::span<const copied_piece> pieces) override {
    ASSERT_LT(lane, lanes_.size());
    EXPECT_TRUE(lanes_[lane].waiting.empty()) << "lane " << lane << " is started twice";
    lanes_[lane].waiting.assign(pieces.begin(), pieces.end());
    lanes_[lane].looks_needed = 1 + starts_.size() * 3 % 7;
    starts_.push_back(std::chrono::steady_clock::now());
  }
  bool is_done(unsigned lane) override {
    if (--lanes_[lane].looks_needed > 0) return false;
    for (const copied_piece& piece : lanes_[lane].waiting) {
      std::memcpy(show(piece.to), show(piece.from), piece.size_bytes);
    }
    lanes_[lane].waiting.clear();
    return true;
  }
  [[nodiscard]] const std::vector<std::chrono::steady_clock::time_point>& starts() const { return starts_; }

 private:
  struct lane_state {
    std::vector<copied_piece> waiting;
    std::size_t looks_needed = 0;
  };
  template <typename Memory>
  static Memory* show(Memory* address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    return reinterpret_cast<Memory*>(number & ~(std::uintptr_t{1} << 60));
  }

  std::vector<lane_state> lanes_;
  std::vector<std::chrono::steady_clock::time_point> starts_;
};

struct exchange_case {
  std::uint64_t message_bytes = 0;
  unsigned in_flight = 0;
  std::uint64_t most_bytes = 0;  ///< between two ranks
  bool is_packed = false;
};

void PrintTo(const exchange_case& c, std::ostream* out) {
  *out << c.message_bytes << "_bytes_" << c.in_flight << "_in_flight_" << c.most_bytes
       << (c.is_packed ? "_packed" : "");
}

/// One exchange of random totals, a third of them zero.
class random_exchange {
 public:
  random_exchange(node_group& group, const exchange_case& c, std::uint64_t seed)
      : group_(group), case_(c), rank_(group.node_rank()) {
    // The totals of all pairs are the same on every rank, the cuts are each rank's own.
    std::mt19937_64 common(seed);
    std::vector<std::uint64_t> sent(group.num_nodes());
    std::vector<std::uint64_t> received(group.num_nodes());
    for (unsigned from = 0; from < group.num_nodes(); ++from) {
      for (unsigned to = 0; to < group.num_nodes(); ++to) {
        const std::uint64_t total = common() % 3 == 0 ? 0 : common() % (c.most_bytes + 1);
        if (from == rank_) sent[to] = total;
        if (to == rank_) received[from] = total;
      }
    }
    std::mt19937_64 own(seed + 1 + rank_);
    out_ = cut(sent, own);
    in_ = cut(received, own);
    source_.assign(out_.size_bytes, untouched);
    destination_.assign(in_.size_bytes, untouched);
    expected_ = destination_;
    fill(out_, source_, true);
    fill(in_, expected_, false);
  }

  void run() {
    const std::uint64_t slots_bytes = case_.is_packed ? 2 * case_.in_flight * case_.message_bytes : 0;
    std::vector<std::byte> slots(slots_bytes);
    unreachable_memory copies(2 * case_.in_flight + 1);
    packed_memory packed;
    if (case_.is_packed) packed = {&copies, slots};
    exchange_limits limits{case_.message_bytes, case_.in_flight, {}};
    std::uint64_t progress_bytes = 0;
    limits.on_progress = [&](std::uint64_t moved_bytes) {
      EXPECT_GE(moved_bytes, progress_bytes);
      progress_bytes = moved_bytes;
    };
    const exchanged_bytes moved = exchange_bytes(group_, outgoing(), incoming(), limits, packed);
    EXPECT_TRUE(destination_ == expected_);
    EXPECT_EQ(moved.sent, total_of(out_, false));
    EXPECT_EQ(moved.received, total_of(in_, false));
    EXPECT_EQ(moved.kept, total_of(in_, true));
    EXPECT_EQ(progress_bytes, moved.sent + moved.received);
  }

 private:
  void fill(const layout& parts, std::vector<std::byte>& memory, bool sends) const {
    for (const piece_of_part& part : parts.parts) {
      for (std::uint64_t i = 0; i < part.size_bytes; ++i) {
        memory[part.offset + i] =
            sends ? byte_of(rank_, part.peer, part.position + i) : byte_of(part.peer, rank_, part.position + i);
      }
    }
  }
  [[nodiscard]] std::uint64_t total_of(const layout& parts, bool own) const {
    std::uint64_t total = 0;
    for (const piece_of_part& part : parts.parts) total += (part.peer == rank_) == own ? part.size_bytes : 0;
    return total;
  }
  [[nodiscard]] std::vector<outgoing_part> outgoing() const {
    std::vector<outgoing_part> parts;
    for (const piece_of_part& part : out_.parts) {
      const std::byte* const memory = source_.data() + part.offset;
      parts.push_back({part.peer, case_.is_packed ? unreachable_memory::hide(memory) : memory, part.size_bytes});
    }
    return parts;
  }
  [[nodiscard]] std::vector<incoming_part> incoming() {
    std::vector<incoming_part> parts;
    for (const piece_of_part& part : in_.parts) {
      std::byte* const memory = destination_.data() + part.offset;
      parts.push_back({part.peer, case_.is_packed ? unreachable_memory::hide(memory) : memory, part.size_bytes});
    }
    return parts;
  }

  node_group& group_;
  const exchange_case& case_;
  unsigned rank_;
  layout out_;
  layout in_;
  std::vector<std::byte> source_;
  std::vector<std::byte> destination_;
  std::vector<std::byte> expected_;
};

class byte_exchange : public testing::TestWithParam<exchange_case> {};

INSTANTIATE_TEST_SUITE_P(limits, byte_exchange,
                         testing::Values(exchange_case{1, 1, 40, false}, exchange_case{1, 3, 40, true},
                                         exchange_case{7, 2, 300, false}, exchange_case{1000, 1, 20'000, false},
                                         exchange_case{1000, 1, 20'000, true}, exchange_case{1000, 4, 20'000, false},
                                         exchange_case{1000, 4, 20'000, true}, exchange_case{5000, 9, 100'000, true},
                                         exchange_case{65'549, 2, 1'000'000, false},
                                         exchange_case{65'549, 2, 1'000'000, true},
                                         exchange_case{1 << 28, 4, 1'500'000, false},
                                         exchange_case{1 << 20, 2, 1'500'000, true}),
                         testing::PrintToStringParamName());

TEST_P(byte_exchange, EveryByteArrivesAtItsPlace) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  // Of rank 0, which prints what replays it.
  std::uint64_t seed = group->node_rank() == 0 ? spansort::test::seed_for(GetParam().message_bytes) : 0;
  group->broadcast({&seed, 1}, 0);
  // One after another without a pause: a rank that is ahead must not disturb one that is behind.
  for (std::uint64_t round = 0; round < 5; ++round) random_exchange(*group, GetParam(), seed + 1000 * round).run();
}

TEST(byte_exchange_limits, NothingAtAllIsAnExchange) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  const exchanged_bytes moved = exchange_bytes(*group, {}, {});
  EXPECT_EQ(moved.sent + moved.received + moved.kept + moved.num_messages, 0);
}

TEST(byte_exchange_limits, MessagesAreAsLongAsAllowed) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  constexpr std::uint64_t size_bytes = 10'001;
  const unsigned num_nodes = group->num_nodes();
  std::vector<std::byte> source(size_bytes);
  std::vector<std::byte> destination(size_bytes);
  const std::vector<outgoing_part> out{{(group->node_rank() + 1) % num_nodes, source.data(), size_bytes}};
  const std::vector<incoming_part> in{
      {(group->node_rank() + num_nodes - 1) % num_nodes, destination.data(), size_bytes}};
  EXPECT_EQ(exchange_bytes(*group, out, in, {1000, 4, {}}).num_messages, num_nodes == 1 ? 0 : 11);
  EXPECT_EQ(exchange_bytes(*group, out, in).num_messages, num_nodes == 1 ? 0 : 1);
}

TEST(byte_exchange_limits, TheNextMessageIsPackedWhileOneIsOnItsWay) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  if (group->num_nodes() == 1) GTEST_SKIP() << "needs two ranks";
  // Longer than what MPI sends before the receiver has asked for it.
  constexpr std::uint64_t message_bytes = 1 << 20;
  constexpr unsigned in_flight = 2;
  std::vector<std::byte> memory(6 * message_bytes, std::byte{1});
  std::vector<std::byte> slots(2 * in_flight * message_bytes);
  unreachable_memory copies(2 * in_flight + 1);
  std::vector<outgoing_part> out;
  std::vector<incoming_part> in;
  if (group->node_rank() == 0)
    out.push_back({1, unreachable_memory::hide(std::as_const(memory).data()), memory.size()});
  if (group->node_rank() == 1) in.push_back({0, unreachable_memory::hide(memory.data()), memory.size()});
  group->barrier();
  if (group->node_rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // Ranks of one machine share this clock.
  const auto receiver_begins = std::chrono::steady_clock::now();
  exchange_bytes(*group, out, in, {message_bytes, in_flight, {}}, {&copies, slots});
  const auto begin_count = static_cast<std::uint64_t>(receiver_begins.time_since_epoch().count());
  const std::uint64_t begin_of_1 = group->all_gather({&begin_count, 1})[1];
  if (group->node_rank() != 0) return;
  ASSERT_EQ(copies.starts().size(), 6);
  const auto start_count = [&](std::size_t i) {
    return static_cast<std::uint64_t>(copies.starts()[i].time_since_epoch().count());
  };
  EXPECT_LT(start_count(1), begin_of_1);
  EXPECT_GE(start_count(2), begin_of_1) << "more in flight than allowed";
}

TEST(byte_exchange_errors, TotalsThatDoNotAgreeAreFound) {
  for (const std::uint64_t expected_bytes : {11, 9, 2500}) {
    const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
    if (group->num_nodes() == 1) GTEST_SKIP() << "needs two ranks";
    std::vector<std::byte> memory(4000);
    std::vector<outgoing_part> out;
    std::vector<incoming_part> in;
    if (group->node_rank() == 0) out.push_back({1, memory.data(), expected_bytes == 2500 ? 2499U : 10U});
    if (group->node_rank() == 1) in.push_back({0, memory.data(), expected_bytes});
    if (group->node_rank() == 1) {
      EXPECT_THROW(exchange_bytes(*group, out, in, {1000, 4, {}}), spansort::internal_error);
    } else {
      EXPECT_NO_THROW(exchange_bytes(*group, out, in, {1000, 4, {}}));
    }
  }
}

TEST(byte_exchange_errors, WhatARankKeepsMustFit) {
  const std::unique_ptr<node_group> group = make_node_group(MPI_COMM_WORLD);
  std::vector<std::byte> from(10);
  std::vector<std::byte> to(11);
  const unsigned self = group->node_rank();
  EXPECT_THROW(exchange_bytes(*group, std::vector<outgoing_part>{{self, from.data(), 10}},
                              std::vector<incoming_part>{{self, to.data(), 11}}),
               spansort::internal_error);
  EXPECT_THROW(exchange_bytes(*group, std::vector<outgoing_part>{{self, from.data(), 10}},
                              std::vector<incoming_part>{{self, to.data(), 9}}),
               spansort::internal_error);
}

}  // namespace
