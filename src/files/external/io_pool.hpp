// SPDX-License-Identifier: Apache-2.0
// An io_pool is a few threads that do chunks of input and output side by side, so that disks have the next request
// while the bytes of the last are checked and copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace spansort::external {

/// Memory for direct access to files. Throws out_of_memory.
class aligned_bytes {
 public:
  aligned_bytes() = default;
  explicit aligned_bytes(std::uint64_t size_bytes);
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_.get(), size_bytes_}; }

 private:
  struct releaser {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte, releaser> data_;
  std::uint64_t size_bytes_ = 0;
};

class io_pool {
 public:
  /// One buffer of `batch_bytes` for each of its threads.
  explicit io_pool(std::uint64_t batch_bytes);

  /// Does task(i, buffer) for all i below `num_tasks`, begun in that order, and blocks until all have ended. The first
  /// failure ends it and is thrown.
  void run(std::uint64_t num_tasks, const std::function<void(std::uint64_t task, std::span<std::byte> buffer)>& task);

 private:
  std::vector<aligned_bytes> buffers_;
};

}  // namespace spansort::external
