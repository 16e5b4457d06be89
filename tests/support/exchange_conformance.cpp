// SPDX-License-Identifier: Apache-2.0
#include "support/exchange_conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "support/environment.hpp"

namespace spansort::test {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::byte untouched{0xa5};
constexpr std::uint64_t red_zone_bytes = 256;

std::byte byte_of(unsigned rank, bool is_value, std::uint64_t position) {
  const std::uint64_t mixed = (rank * 2 + (is_value ? 1 : 0) + position * 4099) * 0x9e3779b97f4a7c15U;
  return static_cast<std::byte>(mixed >> 56);
}

/// This case says what is to move, and how large each rank's memory is.
struct transfer_list {
  std::vector<plan::transfer> transfers;
  std::vector<std::uint64_t> source_counts;       ///< records, by rank of all processes
  std::vector<std::uint64_t> destination_counts;  ///< likewise
};

struct planned_move {
  unsigned source = 0;
  unsigned destination = 0;
  std::uint64_t count = 0;
};

/// Lays the moves out in their order at the sources and in another order at the destinations, with gaps between them.
transfer_list lay_out(const std::vector<planned_move>& moves, unsigned num_ranks, std::uint64_t seed) {
  random_words random(seed);
  transfer_list list;
  list.source_counts.assign(num_ranks, 0);
  list.destination_counts.assign(num_ranks, 0);
  for (const planned_move& m : moves) {
    std::uint64_t& end = list.source_counts[m.source];
    end += random.below(3);
    list.transfers.push_back({m.source, end, m.destination, 0, m.count});
    end += m.count;
  }
  std::vector<std::size_t> order(moves.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const std::size_t i : order) {
    plan::transfer& t = list.transfers[i];
    std::uint64_t& end = list.destination_counts[t.destination_rank];
    end += random.below(3);
    t.destination_offset = end;
    end += t.count;
  }
  for (unsigned r = 0; r < num_ranks; ++r) {
    list.source_counts[r] += 2;
    list.destination_counts[r] += 2;
  }
  return list;
}

/// Device memory between red zones, filled and read through a queue of the device.
class tested_memory {
 public:
  tested_memory(device::device& device, device::queue& queue, bytes contents)
      : queue_(queue), expected_(std::move(contents)) {
    expected_.insert(expected_.begin(), red_zone_bytes, untouched);
    expected_.insert(expected_.end(), red_zone_bytes, untouched);
    memory_ = device.allocate(expected_.size());
    queue_.copy(memory_.data(), expected_.data(), expected_.size(), "test");
    queue_.synchronize();
  }

  [[nodiscard]] void* data() const { return static_cast<std::byte*>(memory_.data()) + red_zone_bytes; }
  void expect(std::uint64_t offset, std::byte value) { expected_[red_zone_bytes + offset] = value; }
  /// "" while the memory holds what is expected of it, red zones among it.
  [[nodiscard]] std::string diagnose() const {
    bytes found(expected_.size());
    queue_.copy(found.data(), memory_.data(), found.size(), "test");
    queue_.synchronize();
    const auto at = std::ranges::mismatch(found, expected_).in1;
    if (at == found.end()) return {};
    const auto offset = at - found.begin() - static_cast<std::ptrdiff_t>(red_zone_bytes);
    return fmt::format("byte {} is {:#x}", offset, std::to_integer<unsigned>(*at));
  }

 private:
  device::queue& queue_;
  device::buffer memory_;
  bytes expected_;
};

/// One of this process's ranks with its memory. Without values their arrays are empty, and no records name them.
class tested_rank {
 public:
  tested_rank(unsigned rank, device::device& device, const device::record_shape& shape, const transfer_list& list)
      : rank_(rank),
        device_(device),
        queue_(device.make_queue()),
        shape_(shape),
        source_keys_(device, *queue_, contents(list.source_counts[rank] * shape.codec.width_bytes(), false)),
        source_values_(device, *queue_, contents(list.source_counts[rank] * shape.value_bytes, true)),
        keys_(device, *queue_, bytes(list.destination_counts[rank] * shape.codec.width_bytes(), untouched)),
        values_(device, *queue_, bytes(list.destination_counts[rank] * shape.value_bytes, untouched)) {}

  [[nodiscard]] transport::endpoint endpoint() {
    const bool has_values = shape_.value_bytes != 0;
    return {rank_,
            queue_.get(),
            {source_keys_.data(), has_values ? source_values_.data() : nullptr},
            {keys_.data(), has_values ? values_.data() : nullptr},
            [this]() -> device::event& {
              events_.push_back(device_.make_event());
              return *events_.back();
            }};
  }
  void expect(const plan::transfer& t) {
    expect(t, keys_, false, shape_.codec.width_bytes());
    expect(t, values_, true, shape_.value_bytes);
  }
  void synchronize() { queue_->synchronize(); }
  /// The queues of all ranks are empty.
  void check() {
    EXPECT_EQ(keys_.diagnose(), "") << "keys at rank " << rank_;
    EXPECT_EQ(values_.diagnose(), "") << "values at rank " << rank_;
    EXPECT_EQ(source_keys_.diagnose(), "") << "source keys of rank " << rank_;
    EXPECT_EQ(source_values_.diagnose(), "") << "source values of rank " << rank_;
  }

 private:
  [[nodiscard]] bytes contents(std::uint64_t size_bytes, bool is_value) const {
    bytes all(size_bytes);
    for (std::uint64_t i = 0; i < size_bytes; ++i) all[i] = byte_of(rank_, is_value, i);
    return all;
  }
  static void expect(const plan::transfer& t, tested_memory& memory, bool is_value, std::uint64_t width) {
    for (std::uint64_t i = 0; i < t.count * width; ++i) {
      memory.expect(t.destination_offset * width + i, byte_of(t.source_rank, is_value, t.source_offset * width + i));
    }
  }

  unsigned rank_;
  device::device& device_;
  std::vector<std::unique_ptr<device::event>> events_;
  std::unique_ptr<device::queue> queue_;
  device::record_shape shape_;
  tested_memory source_keys_;
  tested_memory source_values_;
  tested_memory keys_;
  tested_memory values_;
};

/// This says where this process's ranks stand among all.
struct rank_numbers {
  unsigned first = 0;
  unsigned total = 0;

  explicit rank_numbers(const exchange_process& process) {
    const std::uint64_t mine = process.devices.size();
    const std::vector<std::uint64_t> all = process.group.all_gather({&mine, 1});
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (p < process.group.node_rank()) first += static_cast<unsigned>(all[p]);
      total += static_cast<unsigned>(all[p]);
    }
  }
};

void exchange_and_check(const exchange_process& process, const device::record_shape& shape, const transfer_list& list) {
  const rank_numbers numbers(process);
  std::vector<std::unique_ptr<tested_rank>> ranks;
  std::vector<transport::endpoint> endpoints;
  for (device::device* const device : process.devices) {
    const unsigned rank = numbers.first + static_cast<unsigned>(ranks.size());
    ranks.push_back(std::make_unique<tested_rank>(rank, *device, shape, list));
    endpoints.push_back(ranks.back()->endpoint());
  }
  const auto is_here = [&](unsigned rank) { return rank >= numbers.first && rank - numbers.first < ranks.size(); };
  std::uint64_t leaving_bytes = 0;
  for (const plan::transfer& t : list.transfers) {
    if (is_here(t.destination_rank)) ranks[t.destination_rank - numbers.first]->expect(t);
    if (is_here(t.source_rank) && t.source_rank != t.destination_rank) leaving_bytes += t.count * shape.bytes();
  }
  const transport::exchanged moved = process.exchange.execute(shape, list.transfers, endpoints);
  for (const std::unique_ptr<tested_rank>& rank : ranks) rank->synchronize();
  for (const std::unique_ptr<tested_rank>& rank : ranks) rank->check();
  EXPECT_EQ(moved.bytes, leaving_bytes);
}

void connect_all(const exchange_process& process) {
  const rank_numbers numbers(process);
  for (unsigned mine = numbers.first; mine < numbers.first + process.devices.size(); ++mine) {
    for (unsigned other = 0; other < numbers.total; ++other) {
      EXPECT_EQ(process.exchange.why_not(mine, other), "");
      EXPECT_EQ(process.exchange.why_not(other, mine), "");
      process.exchange.connect(mine, other);
      process.exchange.connect(other, mine);
    }
  }
}

const device::record_shape keys_of_4_bytes{{key_type::u32}, 0};
const device::record_shape widest{{key_type::u64}, 16};

using move_maker = std::function<std::vector<planned_move>(unsigned num_ranks, random_words& random)>;

/// The moves are the same in all processes. Several times, one after another: what is left of the one before must not
/// disturb the next.
void run_moves(const exchange_world& world, const std::vector<device::record_shape>& shapes, const move_maker& make) {
  constexpr std::uint64_t num_rounds = 2;
  const std::uint64_t seed = seed_for(17);
  const std::string why_not = world.run([&](const exchange_process& process) {
    std::uint64_t common_seed = seed;
    process.group.broadcast({&common_seed, 1}, 0);
    connect_all(process);
    random_words random(common_seed);
    const rank_numbers numbers(process);
    for (const device::record_shape& shape : shapes) {
      for (std::uint64_t round = 0; round < num_rounds; ++round) {
        const std::vector<planned_move> moves = make(numbers.total, random);
        exchange_and_check(process, shape, lay_out(moves, numbers.total, random()));
      }
    }
    process.group.barrier();
  });
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

std::vector<planned_move> between_all(unsigned num_ranks, const std::function<std::uint64_t()>& next_count) {
  std::vector<planned_move> moves;
  for (unsigned source = 0; source < num_ranks; ++source) {
    for (unsigned destination = 0; destination < num_ranks; ++destination) {
      moves.push_back({source, destination, next_count()});
    }
  }
  return moves;
}

}  // namespace

void PrintTo(const exchange_world& world, std::ostream* out) { *out << world.name; }

TEST_P(exchange_conformance, NoTransfersAreAnExchange) {
  run_moves(GetParam(), {keys_of_4_bytes, widest}, [](unsigned, random_words&) { return std::vector<planned_move>(); });
}

TEST_P(exchange_conformance, TransfersOfNoRecordsMoveNothing) {
  run_moves(GetParam(), {keys_of_4_bytes, widest},
            [](unsigned num_ranks, random_words&) { return between_all(num_ranks, [] { return 0; }); });
}

TEST_P(exchange_conformance, EveryShapeArrives) {
  std::vector<device::record_shape> shapes;
  for (const key_type type : {key_type::u8, key_type::i16, key_type::f32, key_type::u64}) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) shapes.push_back({{type}, value_bytes});
  }
  run_moves(GetParam(), shapes, [](unsigned num_ranks, random_words& random) {
    return between_all(num_ranks, [&] { return random.below(4) == 0 ? 0 : random.below(100); });
  });
}

TEST_P(exchange_conformance, RanksSendToThemselves) {
  run_moves(GetParam(), {keys_of_4_bytes, widest}, [](unsigned num_ranks, random_words& random) {
    std::vector<planned_move> moves;
    for (unsigned rank = 0; rank < num_ranks; ++rank) moves.push_back({rank, rank, random.below(500)});
    return moves;
  });
}

TEST_P(exchange_conformance, OneRankSendsToAllAndAnotherReceivesFromAll) {
  run_moves(GetParam(), {keys_of_4_bytes, widest}, [](unsigned num_ranks, random_words& random) {
    std::vector<planned_move> moves;
    for (unsigned rank = 0; rank < num_ranks; ++rank) {
      moves.push_back({0, rank, random.below(300)});
      moves.push_back({rank, num_ranks - 1, random.below(300)});
    }
    return moves;
  });
}

TEST_P(exchange_conformance, ManyTinyTransfersBetweenFewRanks) {
  run_moves(GetParam(), {{{key_type::u8}, 0}, widest}, [](unsigned num_ranks, random_words& random) {
    std::vector<planned_move> moves;
    for (unsigned i = 0; i < 2000; ++i) {
      moves.push_back({static_cast<unsigned>(random.below(num_ranks)), static_cast<unsigned>(random.below(num_ranks)),
                       random.below(4)});
    }
    return moves;
  });
}

TEST_P(exchange_conformance, OneHugeTransferAmongSmallOnes) {
  run_moves(GetParam(), {keys_of_4_bytes, widest}, [](unsigned num_ranks, random_words& random) {
    std::vector<planned_move> moves = between_all(num_ranks, [&] { return random.below(3); });
    moves.push_back({num_ranks - 1, 0, 150'001});
    return moves;
  });
}

}  // namespace spansort::test
