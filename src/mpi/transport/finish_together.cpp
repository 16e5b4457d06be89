// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/finish_together.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace spansort::transport {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds poll_interval{50};
/// The time between two looks at how the others are.
constexpr std::chrono::milliseconds round_length{10};

enum class outcome : std::uint8_t { pending, done, failed };

/// Looks for as long as a round takes.
outcome look(const std::function<bool()>& is_done, clock::time_point deadline, std::string& failure) {
  const clock::time_point begin = clock::now();
  try {
    do {
      if (is_done()) return outcome::done;
      std::this_thread::sleep_for(poll_interval);
    } while (clock::now() < begin + round_length);
  } catch (const std::exception& thrown) {
    failure = thrown.what();
    return outcome::failed;
  }
  if (clock::now() < deadline) return outcome::pending;
  failure = "it takes too long";
  return outcome::failed;
}

}  // namespace

std::string finish_together(communicator& group, const std::function<bool()>& is_done,
                            std::chrono::milliseconds limit) {
  const clock::time_point deadline = clock::now() + limit;
  outcome mine = outcome::pending;
  std::string failure;
  while (true) {
    if (mine == outcome::pending) mine = look(is_done, deadline, failure);
    const std::array<std::uint64_t, 2> numbers{mine == outcome::done ? 1U : 0U, mine == outcome::failed ? 1U : 0U};
    const std::vector<std::uint64_t> all = group.all_reduce_sum(numbers);
    if (all[1] != 0) break;
    if (all[0] == group.num_nodes()) return {};
  }
  const std::uint64_t has_failed = mine == outcome::failed ? 1 : 0;
  const std::vector<std::uint64_t> failed = group.all_gather({&has_failed, 1});
  const std::vector<std::string> reasons = group.all_gather_strings(failure);
  std::size_t first = 0;
  while (failed[first] == 0) ++first;
  return fmt::format("node rank {}: {}", first, reasons[first]);
}

}  // namespace spansort::transport
