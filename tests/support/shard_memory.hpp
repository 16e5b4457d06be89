// SPDX-License-Identifier: Apache-2.0
// Memory for shards of resident sorts: on the devices under test, or host memory for host devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spansort::test {

/// One array in the memory of a device named as in a device list: "cpu", "gpu:1".
class shard_memory {
 public:
  shard_memory(const std::string& device, std::uint64_t size_bytes);
  ~shard_memory();
  shard_memory(shard_memory&& other) noexcept;
  shard_memory& operator=(shard_memory&&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  void write(std::span<const std::byte> contents);
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t size_bytes) const;

 private:
  int gpu_ = -1;  ///< -1: host memory
  void* data_ = nullptr;
};

/// "gpu:0,1" -> {"gpu:0", "gpu:1"}; "host:3" -> three times "cpu".
[[nodiscard]] std::vector<std::string> devices_of_list(const std::string& list);

}  // namespace spansort::test
