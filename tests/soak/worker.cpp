// SPDX-License-Identifier: Apache-2.0
#include "soak/worker.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

namespace spansort::soak {
namespace {

void tell_outcomes(const case_result& result) {
  std::fputs("end", stdout);
  for (std::size_t i = 0; i < result.num_jobs; ++i) {
    const outcome& each = result.outcomes[i];
    std::printf(" %.*s%s:%d", static_cast<int>(each.operation.size()), each.operation.data(),
                each.is_on_gpus ? "@gpu" : "", static_cast<int>(each.end));
  }
  std::fputs("\n", stdout);
}

void tell_failure(std::uint64_t number, std::string what) {
  std::ranges::replace(what, '\n', ' ');
  std::printf("failed %llu %s\n", static_cast<unsigned long long>(number), what.c_str());
}

void tell_held(const resources& r) {
  for (const std::int64_t each : {r.allocations, r.descriptors, r.threads, r.resident_bytes}) {
    std::printf(" %lld", static_cast<long long>(each));
  }
}

}  // namespace

int run_worker(const settings& s, const worker_share& share) {
  // Freed memory goes back to the system: otherwise it would lie, in pieces, in an arena of each thread there has been,
  // and look like memory that is held.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const auto is_beginning = [&](std::uint64_t number, std::uint64_t num_done) {
    if (num_done <= num_first_cases) return true;
    return seconds() < share.seconds / 4 && number - share.first < (share.end - share.first) / 4;
  };
  std::optional<resources> held;
  std::uint64_t num_done = 0;
  for (std::uint64_t number = share.first; number < share.end && seconds() < share.seconds; number += share.step) {
    std::printf("begin %llu\n", static_cast<unsigned long long>(number));
    std::fflush(stdout);
    const case_result result = run_watched_case(s, number);
    if (!result.failure.empty()) tell_failure(number, result.failure);
    tell_outcomes(result);
    std::fflush(stdout);
    if (!held && !is_beginning(number, ++num_done)) held = held_after_trim();
  }
  std::fputs("held", stdout);
  tell_held(held.value_or(held_after_trim()));
  tell_held(held_after_trim());
  std::fputs("\n", stdout);
  std::fflush(stdout);
  return 0;
}

}  // namespace spansort::soak
