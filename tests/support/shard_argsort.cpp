// SPDX-License-Identifier: Apache-2.0
#include "support/shard_argsort.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "keys/codec.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t red_zone_bytes = 64;
constexpr std::byte red{0x5a};

}  // namespace

argsort_of_shards::argsort_of_shards(const std::string& devices, const oracle& expected,
                                     const std::vector<std::uint64_t>& sizes, std::uint64_t bytes_of_index)
    : index_bytes(bytes_of_index), expected_(expected) {
  const std::vector<std::string> names = devices_of_list(devices);
  const std::uint64_t width = size_bytes(expected.type());
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    keys_.emplace_back(names[i], sizes[i] * width);
    keys_[i].write(expected.input().subspan(begin * width, sizes[i] * width));
    indices_.emplace_back(names[i], sizes[i] * index_bytes + red_zone_bytes);
    indices_[i].write(std::vector<std::byte>(sizes[i] * index_bytes + red_zone_bytes, red));
    shards.push_back({.keys = keys_[i].data(), .num_keys = sizes[i]});
    indices.push_back(indices_[i].data());
    begin += sizes[i];
  }
}

void argsort_of_shards::run(resident_sorter& sorter) const {
  sorter.argsort({expected_.type(), std::span<const shard>(shards)}, indices, index_bytes,
                 keys::direction_of(expected_.descending()));
}

std::string argsort_of_shards::diagnose_keys() const {
  const std::uint64_t width = size_bytes(expected_.type());
  std::vector<std::byte> keys;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::vector<std::byte> part = keys_[i].read(shards[i].num_keys * width);
    keys.insert(keys.end(), part.begin(), part.end());
  }
  return diagnose_bytes("keys", expected_.input(), keys, width);
}

std::string argsort_of_shards::diagnose() const {
  std::vector<std::byte> found;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::uint64_t part_bytes = shards[i].num_keys * index_bytes;
    const std::vector<std::byte> part = indices_[i].read(part_bytes + red_zone_bytes);
    const std::span<const std::byte> all(part);
    const std::span<const std::byte> written = all.first(part_bytes);
    found.insert(found.end(), written.begin(), written.end());
    if (!std::ranges::all_of(all.subspan(part_bytes), [](std::byte b) { return b == red; })) {
      return "what lies behind the indices of shard " + std::to_string(i) + " has been written";
    }
  }
  std::vector<std::byte> order(expected_.num_keys() * index_bytes);
  for (std::uint64_t i = 0; i < expected_.num_keys(); ++i) {
    std::memcpy(order.data() + i * index_bytes, &expected_.order()[i], index_bytes);
  }
  const std::string of_indices = diagnose_bytes("indices", order, found, index_bytes);
  return of_indices.empty() ? diagnose_keys() : of_indices;
}

std::string diagnose_argsort_of_shards(resident_sorter& sorter, const std::string& devices, const oracle& expected,
                                       const std::vector<std::uint64_t>& sizes, std::uint64_t index_bytes) {
  const argsort_of_shards job(devices, expected, sizes, index_bytes);
  job.run(sorter);
  return job.diagnose();
}

}  // namespace spansort::test
