// SPDX-License-Identifier: Apache-2.0
// An input that is spread over the node ranks, and what every rank must end with: each makes the whole input from its
// seed, sorts it by the oracle, and compares its own part.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <spansort/generate.hpp>
#include <spansort/mpi.hpp>
#include <string>
#include <vector>

#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {

/// How many keys each node rank holds.
enum class spread : std::uint8_t { even, rising, one_has_all, last_has_none };

struct cluster_case {
  key_type type = key_type::u32;
  distribution keys = {};
  std::uint64_t num_keys = 0;
  spread sizes = spread::even;
  std::uint64_t value_bytes = 0;
};

inline unsigned world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<unsigned>(rank);
}

inline unsigned world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return static_cast<unsigned>(size);
}

/// The devices of a test: `usual`, unless SPANSORT_TEST_MPI_DEVICES names GPUs: "gpu:0" the same on every node rank,
/// "gpu:each" the one of the node rank's number.
inline std::string test_devices(const std::string& usual) {
  const char* const named = std::getenv("SPANSORT_TEST_MPI_DEVICES");
  if (named == nullptr) return usual;
  return std::string_view(named) == "gpu:each" ? "gpu:" + std::to_string(world_rank()) : named;
}

/// num_ranks + 1 positions in the whole.
inline std::vector<std::uint64_t> part_begins(std::uint64_t num_keys, spread sizes) {
  const unsigned p = world_size();
  std::vector<std::uint64_t> weights(p, 1);
  if (sizes == spread::rising) std::iota(weights.begin(), weights.end(), 0);
  if (sizes == spread::one_has_all) weights.assign(p, 0), weights[p / 2] = 1;
  if (sizes == spread::last_has_none) weights.back() = 0;
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::uint64_t> begins{0};
  std::uint64_t upto = 0;
  for (const std::uint64_t w : weights) begins.push_back(sum == 0 ? 0 : num_keys * (upto += w) / sum);
  return begins;
}

/// The whole input, and this rank's part of it.
class spread_input {
 public:
  explicit spread_input(const cluster_case& c, bool descending = false)
      : case_(c), begins_(part_begins(c.num_keys, c.sizes)), whole_(begins_.back() * size_bytes(c.type)) {
    generate({c.type, whole_.data(), begins_.back()}, c.keys, base_seed());
    oracle_.emplace(const_key_span{c.type, whole_.data(), begins_.back()}, descending);
    keys = part_of(whole_, size_bytes(c.type));
    values = part_of(input_values(begins_.back(), c.value_bytes), c.value_bytes);
  }

  [[nodiscard]] std::uint64_t first() const { return begins_[world_rank()]; }
  [[nodiscard]] std::uint64_t count() const { return begins_[world_rank() + 1] - first(); }
  [[nodiscard]] std::uint64_t total() const { return begins_.back(); }
  [[nodiscard]] key_span span() { return {case_.type, keys.data(), count()}; }

  /// "" when `keys` and `values` are records [first, first + count) of the sorted whole.
  [[nodiscard]] std::string diagnose(std::uint64_t first, std::uint64_t count) const {
    const std::span<const std::byte> sorted = case_.value_bytes == 0 ? oracle_->keys_alone() : oracle_->keys_of_pairs();
    const std::uint64_t key_bytes = size_bytes(case_.type);
    std::string text = diagnose_bytes("keys", sorted.subspan(first * key_bytes, count * key_bytes), keys, key_bytes);
    if (!text.empty() || case_.value_bytes == 0) return text;
    const std::vector<std::byte> expected =
        values_in_order(std::span(oracle_->order()).subspan(first, count), case_.value_bytes);
    return diagnose_bytes("values", expected, values, case_.value_bytes);
  }
  [[nodiscard]] std::string diagnose() const { return diagnose(first(), count()); }
  [[nodiscard]] const oracle& expected() const { return *oracle_; }

  std::vector<std::byte> keys;
  std::vector<std::byte> values;

 private:
  [[nodiscard]] std::vector<std::byte> part_of(const std::vector<std::byte>& all, std::uint64_t element_bytes) const {
    const auto at = [&](std::uint64_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i * element_bytes); };
    return {at(first()), at(first() + count())};
  }

  cluster_case case_;
  std::vector<std::uint64_t> begins_;
  std::vector<std::byte> whole_;
  std::optional<oracle> oracle_;
};

}  // namespace spansort::test
