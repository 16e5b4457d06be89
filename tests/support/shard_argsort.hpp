// SPDX-License-Identifier: Apache-2.0
// One argsort of keys that lie on devices, against the oracle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spansort/resident.hpp"
#include "support/oracle.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {

/// The oracle's input on the devices of a list, cut into shards, and arrays for its indices.
class argsort_of_shards {
 public:
  argsort_of_shards(const std::string& devices, const oracle& expected, const std::vector<std::uint64_t>& sizes,
                    std::uint64_t index_bytes);

  // A test may spoil these before the call.
  std::vector<shard> shards;
  std::vector<void*> indices;
  std::uint64_t index_bytes;

  void run(resident_sorter& sorter) const;
  /// Returns "" where the keys are as they were.
  [[nodiscard]] std::string diagnose_keys() const;
  /// Returns "" where the keys are as they were, the indices are the oracle's and nothing behind them has been written.
  [[nodiscard]] std::string diagnose() const;

 private:
  const oracle& expected_;
  std::vector<shard_memory> keys_;
  std::vector<shard_memory> indices_;
};

/// Runs one, and returns "" or what is wrong with its result.
[[nodiscard]] std::string diagnose_argsort_of_shards(resident_sorter& sorter, const std::string& devices,
                                                     const oracle& expected, const std::vector<std::uint64_t>& sizes,
                                                     std::uint64_t index_bytes);

}  // namespace spansort::test
