// SPDX-License-Identifier: Apache-2.0
#include "base/control_groups.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace spansort::base {

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

// Lines of /proc/self/cgroup read "4:cpu,cpuacct:/a/b" (version 1) and "0::/a/b" (version 2). In a container they may
// name a group of the host that is not there; the mounted folder itself is then the container's, and it comes last.
void visit_control_groups(const file_reader& read, const std::string& controller,
                          const std::function<void(const std::string& folder, int version)>& visit) {
  std::istringstream lines(read("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t controllers = line.find(':');
    const std::size_t path = controllers == std::string::npos ? controllers : line.find(':', controllers + 1);
    if (path == std::string::npos) continue;
    const std::string names = "," + line.substr(controllers + 1, path - controllers - 1) + ",";
    const int version = names == ",," ? 2 : 1;
    if (version == 1 && names.find("," + controller + ",") == std::string::npos) continue;
    const std::string mount = version == 2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    std::string group = line.substr(path + 1);
    while (group.ends_with('/')) group.pop_back();
    while (true) {
      visit(mount + group + "/", version);
      if (group.empty()) break;
      const std::size_t slash = group.rfind('/');
      group.resize(slash == std::string::npos ? 0 : slash);
    }
  }
}

}  // namespace spansort::base
