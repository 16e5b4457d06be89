// SPDX-License-Identifier: Apache-2.0
// These GPUs are made up: they are devices with memory of their own, of which the host's threads do the work. Tests say
// how many there are and what fails, and read what has been asked of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sort/gpu_enqueue.hpp"

namespace spansort::test {

/// One call that puts a sort on a stream, or runs it there.
struct stream_call {
  std::string name;  ///< of the function that got it: "sort", "argsort", "segments", "argsort of segments"
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  std::uint64_t num_segments = 0;
  workspace_size workspace = workspace_size::least;
  bool has_wishes = true;
  const void* stream = nullptr;
};

struct made_up_machine {
  int num_gpus = 1;
  bool is_started = true;                             ///< the process has used GPUs already
  std::uint64_t free_bytes = std::uint64_t{1} << 30;  ///< of each GPU
  bool cannot_be_asked = false;                       ///< GPUs do not say how much memory is free
  bool cannot_be_opened = false;
  std::uint64_t most_allocation_bytes = ~std::uint64_t{0};  ///< a GPU gives no more at a time
  bool fails_on_stream = false;                             ///< sorts that have been put on a stream fail there
  bool cannot_be_copied_at_once = false;                    ///< nothing can be copied without the GPUs' queues

  std::uint64_t num_opened = 0;       ///< devices
  std::uint64_t num_allocations = 0;  ///< of all devices
  std::vector<stream_call> calls = {};
};

/// The machine of the running test.
[[nodiscard]] made_up_machine& machine();

/// While this lives the machine is as it says; afterwards it has one GPU again, of which nothing fails.
class machine_scope {
 public:
  explicit machine_scope(const made_up_machine& made_up);
  ~machine_scope();
  machine_scope(const machine_scope&) = delete;
  machine_scope& operator=(const machine_scope&) = delete;
};

/// An array that counts as memory of a GPU while it lives.
class gpu_bytes {
 public:
  explicit gpu_bytes(std::uint64_t size_bytes);
  ~gpu_bytes();
  gpu_bytes(const gpu_bytes&) = delete;
  gpu_bytes& operator=(const gpu_bytes&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  void* data_;
  std::uint64_t size_bytes_;
};

template <class T>
class gpu_array {
 public:
  explicit gpu_array(std::span<const T> contents) : bytes_(contents.size() * sizeof(T)), size_(contents.size()) {
    for (std::size_t i = 0; i < size_; ++i) data()[i] = contents[i];
  }
  explicit gpu_array(const std::vector<T>& contents) : gpu_array(std::span<const T>(contents)) {}

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(bytes_.data()); }
  [[nodiscard]] std::vector<T> read() const { return {data(), data() + size_}; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  gpu_bytes bytes_;
  std::uint64_t size_;
};

}  // namespace spansort::test
