// SPDX-License-Identifier: Apache-2.0
#include "base/threads.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "spansort/errors.hpp"

namespace spansort::base {
namespace {

/// oneTBB counts the processors at its first use. Where memory ends in that, all later calls wait for it without end
/// (2021.8), so it is used while the program is loaded, when memory is there.
[[maybe_unused]] const int processors_of_tbb = []() noexcept {
  try {
    return tbb::info::default_concurrency();
  } catch (const std::exception&) {
    return 0;
  }
}();

unsigned num_schedulable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return static_cast<unsigned>(CPU_COUNT(&allowed));
  return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Version 2 writes both numbers into one file, "150000 100000", or "max 100000"; version 1 a quota of -1 for none.
std::optional<std::uint64_t> quota_of(const file_reader& read, const std::string& folder, int version) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (version == 2) {
    const std::string text = read(folder + "cpu.max");
    const std::size_t blank = text.find(' ');
    if (blank == std::string::npos) return std::nullopt;
    quota = number_at(text);
    period = number_at(std::string_view(text).substr(blank));
  } else {
    quota = number_at(read(folder + "cpu.cfs_quota_us"));
    period = number_at(read(folder + "cpu.cfs_period_us"));
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return *quota / *period + (*quota % *period == 0 ? 0 : 1);
}

}  // namespace

unsigned processors_within_quota(unsigned num_schedulable, const file_reader& read) {
  std::uint64_t least = num_schedulable;
  visit_control_groups(read, "cpu", [&](const std::string& folder, int version) {
    least = std::min(least, quota_of(read, folder, version).value_or(least));
  });
  return static_cast<unsigned>(std::max<std::uint64_t>(1, least));
}

unsigned num_processors() {
  static const unsigned quota = processors_within_quota(std::numeric_limits<unsigned>::max(), text_of);
  return std::min(num_schedulable_processors(), quota);
}

unsigned resolve_threads(unsigned threads) {
  if (threads <= most_threads) return threads == 0 ? num_processors() : std::min(threads, num_processors());
  throw invalid_argument(
      fmt::format("threads: {} are too many; expected 0, for all processors, to {}", threads, most_threads));
}

}  // namespace spansort::base
