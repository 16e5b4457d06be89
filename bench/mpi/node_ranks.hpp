// SPDX-License-Identifier: Apache-2.0
// These functions are what the benchmark itself says and asks over MPI, between the sorts: barriers, sums, texts of all
// node ranks.
#pragma once

#include <array>
#include <cstdint>
#include <spansort/check.hpp>
#include <string>
#include <vector>

namespace bench {

/// The node ranks of MPI_COMM_WORLD. Failures of MPI itself end the program: that is MPI's own default.
class node_ranks {
 public:
  node_ranks();

  [[nodiscard]] unsigned self() const noexcept { return self_; }
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  void barrier() const;
  [[nodiscard]] double max(double mine) const;
  /// Returns whether `mine` is true on every node rank.
  [[nodiscard]] bool all(bool mine) const;
  [[nodiscard]] spansort::multiset_checksum sum(const spansort::multiset_checksum& mine) const;
  /// Five numbers of every node rank, by rank; on all.
  [[nodiscard]] std::vector<std::array<std::uint64_t, 5>> gather(const std::array<std::uint64_t, 5>& mine) const;
  /// Returns all texts by rank on node rank 0, and none elsewhere.
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine) const;

 private:
  unsigned self_ = 0;
  unsigned count_ = 1;
};

}  // namespace bench
