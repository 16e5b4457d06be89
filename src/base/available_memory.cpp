// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/control_groups.hpp"

namespace spansort::base {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

// "max", or a file that is not there, means no limit.
std::uint64_t number_in(const std::string& path) { return number_at(text_of(path)).value_or(unknown); }

std::uint64_t saturating_subtract(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

// Files of a control group that hold its limit, its use, and the page cache in it that the kernel would give up first.
struct group_files {
  const char* limit;
  const char* usage;
  std::string_view cache_field;
};
constexpr group_files version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};
constexpr group_files version_2{"memory.max", "memory.current", "inactive_file "};

std::uint64_t cache_bytes(const std::string& stat, std::string_view field) {
  for (std::size_t at = 0; (at = stat.find(field, at)) != std::string::npos; at += field.size()) {
    if (at == 0 || stat[at - 1] == '\n') {
      return number_at(std::string_view(stat).substr(at + field.size())).value_or(0);
    }
  }
  return 0;
}

std::uint64_t available_in_group(const std::string& folder, const group_files& names) {
  const std::uint64_t limit = number_in(folder + names.limit);
  if (limit == unknown) return unknown;
  const std::uint64_t cache = cache_bytes(text_of(folder + "memory.stat"), names.cache_field);
  return saturating_subtract(limit, saturating_subtract(number_in(folder + names.usage), cache));
}

std::uint64_t available_in_control_groups() {
  std::uint64_t available = unknown;
  visit_control_groups(text_of, "memory", [&](const std::string& folder, int version) {
    available = std::min(available, available_in_group(folder, version == 1 ? version_1 : version_2));
  });
  return available;
}

std::uint64_t available_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unknown;
  const std::uint64_t pages = number_at(text_of("/proc/self/statm")).value_or(0);
  return saturating_subtract(limit.rlim_cur, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

std::uint64_t field_bytes(std::string_view text, std::string_view key, std::uint64_t otherwise) {
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string_view::npos; at += key.size()) {
    const std::size_t colon = at + key.size();
    if ((at != 0 && text[at - 1] != '\n') || colon >= text.size() || text[colon] != ':') continue;
    const std::optional<std::uint64_t> kibibytes = number_at(text.substr(colon + 1));
    return kibibytes && *kibibytes < (unknown >> 10) ? *kibibytes << 10 : otherwise;
  }
  return otherwise;
}

// The second number of /proc/self/statm, in pages.
std::uint64_t resident_memory_bytes() {
  const std::string text = text_of("/proc/self/statm");
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return 0;
  return number_at(std::string_view(text).substr(space)).value_or(0) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t available_memory_bytes() {
  const std::uint64_t machine = field_bytes(text_of("/proc/meminfo"), "MemAvailable", unknown);
  return std::min({machine, available_in_control_groups(), available_address_space()});
}

}  // namespace spansort::base
