// SPDX-License-Identifier: Apache-2.0
// The communicator of a process that works alone.
#pragma once

#include "transport/communicator.hpp"

namespace spansort::transport {

/// Every operation returns at once, what this process gave or, of the processes before it, zeros. Has no state.
class single_process final : public communicator {
 public:
  [[nodiscard]] unsigned node_rank() const noexcept override { return 0; }
  [[nodiscard]] unsigned num_nodes() const noexcept override { return 1; }
  void check() const override {}
  void set_phase(std::string_view) override {}
  [[nodiscard]] std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> all_gather_varying(
      std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::uint64_t> all_reduce_sum(std::span<const std::uint64_t> mine) override;
  [[nodiscard]] std::vector<std::uint64_t> exclusive_scan_sum(std::span<const std::uint64_t> mine) override;
  void broadcast(std::span<std::uint64_t> values, unsigned from) override;
  [[nodiscard]] std::vector<std::uint64_t> all_to_all(std::span<const std::uint64_t> mine) override;
  void barrier() override {}
};

/// One that any thread may use, for calls that are not told of other processes.
[[nodiscard]] communicator& alone();

}  // namespace spansort::transport
