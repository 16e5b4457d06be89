// SPDX-License-Identifier: Apache-2.0
// A node rank's part of the input, and the proof that what a sort made of all parts is right.
#pragma once

#include <cstdint>
#include <spansort/check.hpp>
#include <string>
#include <vector>

#include "bench/mpi/node_ranks.hpp"

namespace bench {

/// 64-bit keys, each with its position in the whole input as its value: lost pairs and instability both show.
struct pairs {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> values;
};

/// This node rank's part of `num_keys` pairs: parts are equal, plus or minus one. `distribution` as in sort_case.
[[nodiscard]] pairs make_part(const node_ranks& nodes, const std::string& distribution, std::uint64_t num_keys,
                              std::uint64_t seed);

/// Collective: of the pairs of all node ranks.
[[nodiscard]] spansort::multiset_checksum checksum_of(const node_ranks& nodes, const pairs& part);

/// Collective: whether all parts together, by node rank, are in stable order and hold the pairs of `expected`.
[[nodiscard]] bool is_sorted_whole(const node_ranks& nodes, const pairs& part,
                                   const spansort::multiset_checksum& expected);

/// Collective: how many of the sorted pairs of all node ranks began on another one. No sort can send fewer.
[[nodiscard]] std::uint64_t count_moved(const node_ranks& nodes, const pairs& sorted, std::uint64_t num_keys);

}  // namespace bench
