// SPDX-License-Identifier: Apache-2.0
#include "support/shard_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <utility>
#ifdef SPANSORT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace spansort::test {
namespace {

#ifdef SPANSORT_HAS_CUDA
void require(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
#endif

void copy(void* to, const void* from, std::uint64_t size_bytes, [[maybe_unused]] int gpu) {
  if (size_bytes == 0) return;
#ifdef SPANSORT_HAS_CUDA
  if (gpu >= 0) return require(cudaMemcpy(to, from, size_bytes, cudaMemcpyDefault));
#endif
  std::memcpy(to, from, size_bytes);
}

}  // namespace

shard_memory::shard_memory(const std::string& device, std::uint64_t size_bytes) {
  if (size_bytes == 0) return;
  if (device.starts_with("gpu:")) {
#ifdef SPANSORT_HAS_CUDA
    gpu_ = std::stoi(device.substr(4));
    require(cudaSetDevice(gpu_));
    require(cudaMalloc(&data_, size_bytes));
    require(cudaSetDevice(0));
    return;
#endif
  }
  data_ = std::malloc(size_bytes);
  if (data_ == nullptr) throw std::bad_alloc();
}

shard_memory::~shard_memory() {
#ifdef SPANSORT_HAS_CUDA
  if (gpu_ >= 0) {
    static_cast<void>(cudaFree(data_));
    return;
  }
#endif
  std::free(data_);
}

shard_memory::shard_memory(shard_memory&& other) noexcept
    : gpu_(std::exchange(other.gpu_, -1)), data_(std::exchange(other.data_, nullptr)) {}

void shard_memory::write(std::span<const std::byte> contents) { copy(data_, contents.data(), contents.size(), gpu_); }

std::vector<std::byte> shard_memory::read(std::uint64_t size_bytes) const {
  std::vector<std::byte> contents(size_bytes);
  copy(contents.data(), data_, size_bytes, gpu_);
  return contents;
}

std::vector<std::string> devices_of_list(const std::string& list) {
  const std::size_t colon = list.find(':');
  if (!list.starts_with("gpu:")) {
    return std::vector<std::string>(colon == std::string::npos ? 1 : std::stoul(list.substr(colon + 1)), "cpu");
  }
  std::vector<std::string> devices;
  std::istringstream ordinals(list.substr(colon + 1));
  for (std::string ordinal; std::getline(ordinals, ordinal, ',');) devices.push_back("gpu:" + ordinal);
  return devices;
}

}  // namespace spansort::test
