// SPDX-License-Identifier: Apache-2.0
#include "transport/communicator.hpp"

#include <cstring>

#include "base/math.hpp"

namespace spansort::transport {

std::vector<std::uint64_t> communicator::all_gather_joined(std::span<const std::uint64_t> mine) {
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& its : all_gather_varying(mine)) all.insert(all.end(), its.begin(), its.end());
  return all;
}

std::vector<std::string> communicator::all_gather_strings(std::string_view mine) {
  // The text takes whole words, with zeros at the end, behind the number of characters.
  std::vector<std::uint64_t> words(1 + base::ceil_div(mine.size(), sizeof(std::uint64_t)));
  words[0] = mine.size();
  if (!mine.empty()) std::memcpy(words.data() + 1, mine.data(), mine.size());
  std::vector<std::string> all;
  for (const std::vector<std::uint64_t>& its : all_gather_varying(words)) {
    all.emplace_back(reinterpret_cast<const char*>(its.data() + 1), its[0]);
  }
  return all;
}

}  // namespace spansort::transport
