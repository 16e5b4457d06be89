// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi/pairs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <spansort/generate.hpp>

namespace bench {
namespace {

/// A key and its place in the input: stable order is the order of these.
struct place {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
  friend auto operator<=>(const place&, const place&) = default;
};

std::uint64_t first_of(unsigned node_rank, unsigned num_nodes, std::uint64_t num_keys) {
  return num_keys / num_nodes * node_rank + num_keys % num_nodes * node_rank / num_nodes;
}

}  // namespace

pairs make_part(const node_ranks& nodes, const std::string& distribution, std::uint64_t num_keys, std::uint64_t seed) {
  const std::uint64_t begin = first_of(nodes.self(), nodes.count(), num_keys);
  const std::uint64_t end = first_of(nodes.self() + 1, nodes.count(), num_keys);
  pairs part{std::vector<std::uint64_t>(end - begin), std::vector<std::uint64_t>(end - begin)};
  std::iota(part.values.begin(), part.values.end(), begin);
  if (distribution == "sequential") {
    part.keys = part.values;
    return part;
  }
  // Every part has numbers of its own.
  spansort::generate(spansort::as_key_span(std::span(part.keys)), spansort::parse_distribution(distribution),
                     seed * 4096 + nodes.self());
  if (distribution == "sorted") {
    // A node rank's keys lie in its part of all values, so that the whole is sorted too.
    const std::uint64_t share = std::numeric_limits<std::uint64_t>::max() / nodes.count();
    for (std::uint64_t& key : part.keys) key = share * nodes.self() + key / nodes.count();
  }
  return part;
}

spansort::multiset_checksum checksum_of(const node_ranks& nodes, const pairs& part) {
  return nodes.sum(spansort::checksum_pairs(spansort::as_const_key_span(std::span<const std::uint64_t>(part.keys)),
                                            part.values.data(), sizeof(std::uint64_t)));
}

bool is_sorted_whole(const node_ranks& nodes, const pairs& part, const spansort::multiset_checksum& expected) {
  const std::size_t n = part.keys.size();
  const auto at = [&](std::size_t i) { return place{part.keys[i], part.values[i]}; };
  bool is_right = true;
  for (std::size_t i = 1; i < n; ++i) is_right = is_right && at(i - 1) < at(i);
  std::array<std::uint64_t, 5> ends{n};
  if (n != 0) ends = {n, at(0).key, at(0).value, at(n - 1).key, at(n - 1).value};
  std::optional<place> last;
  for (const std::array<std::uint64_t, 5>& its : nodes.gather(ends)) {
    if (its[0] == 0) continue;
    is_right = is_right && (!last || *last < place{its[1], its[2]});
    last = place{its[3], its[4]};
  }
  const bool has_the_pairs = checksum_of(nodes, part) == expected;  // collective, so not behind a condition
  return nodes.all(is_right && has_the_pairs);
}

std::uint64_t count_moved(const node_ranks& nodes, const pairs& sorted, std::uint64_t num_keys) {
  const std::uint64_t begin = first_of(nodes.self(), nodes.count(), num_keys);
  const std::uint64_t end = first_of(nodes.self() + 1, nodes.count(), num_keys);
  const auto is_from_elsewhere = [&](std::uint64_t position) { return position < begin || position >= end; };
  std::uint64_t moved = 0;
  const auto here = static_cast<std::uint64_t>(std::ranges::count_if(sorted.values, is_from_elsewhere));
  for (const std::array<std::uint64_t, 5>& its : nodes.gather(std::array<std::uint64_t, 5>{here})) moved += its[0];
  return moved;
}

}  // namespace bench
