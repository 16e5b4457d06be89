// SPDX-License-Identifier: Apache-2.0
#include "mpi/cluster_keys.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "spansort/sort.hpp"
#include "statistics/key_extent.hpp"
#include "statistics/mean.hpp"

namespace spansort::mpi {

cluster_keys::cluster_keys(statistics::key_storage own, transport::communicator& group, bool descending)
    : statistics::chunked_keys(std::move(own), descending),
      group_(group),
      num_keys_(statistics::extent_of(storage().num_keys, group).num_total) {}

std::vector<std::uint64_t> cluster_keys::bits_at(const std::vector<std::uint64_t>& ranks) const {
  group_.set_phase("select");
  return statistics::select_keys(codec(), storage().chunks, ranks, nullptr, group_);
}

std::vector<std::uint64_t> cluster_keys::count_before(const std::vector<statistics::key_bound>& bounds) const {
  group_.set_phase("count");
  return group_.all_reduce_sum(statistics::chunked_keys::count_before(bounds));
}

void cluster_keys::collect(const statistics::key_bound& from, const statistics::key_bound& to, std::uint64_t most,
                           std::vector<std::byte>& keys) const {
  group_.set_phase("collect");
  std::vector<std::byte> own;
  statistics::chunked_keys::collect(from, to, most, own);
  // In whole words, padded at the end, behind the number of bytes.
  std::vector<std::uint64_t> words(1 + (own.size() + 7) / 8);
  words[0] = own.size();
  if (!own.empty()) std::memcpy(words.data() + 1, own.data(), own.size());
  const std::size_t begin = keys.size();
  for (const std::vector<std::uint64_t>& its : group_.all_gather_varying(words)) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(its.data() + 1);
    keys.insert(keys.end(), bytes, bytes + its[0]);
  }
  sorter({.devices = "cpu"})
      .sort({codec().type, keys.data() + begin, (keys.size() - begin) / key_bytes()},
            keys::direction_of(codec().descending));
}

double cluster_keys::mean() const {
  group_.set_phase("mean");
  const statistics::number_total mine = statistics::total_of(storage().type, storage().chunks);
  constexpr std::size_t num_words = 5;
  const std::array<std::uint64_t, num_words> words{std::bit_cast<std::uint64_t>(mine.high), mine.low,
                                                   std::bit_cast<std::uint64_t>(mine.of_floats),
                                                   std::bit_cast<std::uint64_t>(mine.lost), mine.num_numbers};
  const std::vector<std::uint64_t> all = group_.all_gather(words);
  std::vector<statistics::number_total> totals;
  for (std::size_t i = 0; i < all.size(); i += num_words) {
    totals.push_back({std::bit_cast<std::int64_t>(all[i]), all[i + 1], std::bit_cast<double>(all[i + 2]),
                      std::bit_cast<double>(all[i + 3]), all[i + 4]});
  }
  return statistics::mean_of(storage().type, totals);
}

}  // namespace spansort::mpi
