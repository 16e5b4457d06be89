// SPDX-License-Identifier: Apache-2.0
// Keys of all node ranks, in any order, as order statistics look at them. Every node rank asks the same questions in
// the same order, and all get the same answers.
#pragma once

#include "statistics/chunked_keys.hpp"
#include "transport/communicator.hpp"

namespace spansort::mpi {

class cluster_keys final : public statistics::chunked_keys {
 public:
  /// `own`: this node rank's keys. Collective.
  cluster_keys(statistics::key_storage own, transport::communicator& group, bool descending = false);

  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return num_keys_; }
  [[nodiscard]] std::vector<std::uint64_t> bits_at(const std::vector<std::uint64_t>& ranks) const override;
  [[nodiscard]] std::vector<std::uint64_t> count_before(
      const std::vector<statistics::key_bound>& bounds) const override;
  /// Sums of the node ranks, added in their order: floats may be rounded otherwise than in one process.
  [[nodiscard]] double mean() const override;

 protected:
  /// All node ranks get the keys of all.
  void collect(const statistics::key_bound& from, const statistics::key_bound& to, std::uint64_t most,
               std::vector<std::byte>& keys) const override;

 private:
  transport::communicator& group_;
  std::uint64_t num_keys_;
};

}  // namespace spansort::mpi
