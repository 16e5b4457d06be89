// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/device_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bench {

std::vector<std::vector<int>> prefixes(const std::vector<int>& devices) {
  std::vector<std::vector<int>> found;
  for (std::size_t length = 1; length < devices.size(); length *= 2) {
    found.emplace_back(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(length));
  }
  found.push_back(devices);
  return found;
}

std::string device_list_text(const std::vector<int>& devices) { return fmt::format("gpu:{}", fmt::join(devices, ",")); }

std::string count_text(const std::vector<int>& devices) {
  return fmt::format("{} GPU{}", devices.size(), devices.size() == 1 ? "" : "s");
}

}  // namespace bench
