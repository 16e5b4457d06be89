// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace spansort::base {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return std::move(text).str();
}

std::optional<std::uint64_t> number_at(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return value;
}

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

// Every ancestor's limit counts.
std::uint64_t available_in_group(const std::string& mount, std::string group, const group_files& names) {
  std::uint64_t available = unknown;
  while (true) {
    const std::string folder = mount + group + "/";
    const std::uint64_t limit = number_in(folder + names.limit);
    if (limit != unknown) {
      const std::uint64_t cache = cache_bytes(text_of(folder + "memory.stat"), names.cache_field);
      const std::uint64_t usage = saturating_subtract(number_in(folder + names.usage), cache);
      available = std::min(available, saturating_subtract(limit, usage));
    }
    if (group.empty()) return available;
    const std::size_t slash = group.rfind('/');
    group.resize(slash == std::string::npos ? 0 : slash);
  }
}

// Lines of /proc/self/cgroup read "4:memory:/a/b" (version 1) and "0::/a/b" (version 2).
std::uint64_t available_in_control_groups() {
  std::istringstream lines(text_of("/proc/self/cgroup"));
  std::uint64_t available = unknown;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t controllers = line.find(':');
    const std::size_t path = controllers == std::string::npos ? controllers : line.find(':', controllers + 1);
    if (path == std::string::npos) continue;
    std::string names(1, ',');
    names.append(line, controllers + 1, path - controllers - 1).push_back(',');
    std::string group = line.substr(path + 1);
    if (group == "/") group.clear();
    if (names.find(",memory,") != std::string::npos) {
      available = std::min(available, available_in_group("/sys/fs/cgroup/memory", group, version_1));
    } else if (names == ",,") {
      available = std::min(available, available_in_group("/sys/fs/cgroup", group, version_2));
    }
  }
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
