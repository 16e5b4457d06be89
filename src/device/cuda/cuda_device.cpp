// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <set>

#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/local_sort/even_keys.hpp"
#include "device/cuda/peer_access.hpp"
#include "device/exchange_work.hpp"
#include "spansort/errors.hpp"

namespace spansort::device::cuda {
namespace {

class cuda_device final : public device, public exchanging_device, public copying_device {
 public:
  explicit cuda_device(cuda_device_options options) : options_(std::move(options)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] unsigned num_threads() const noexcept override { return 1; }

  [[nodiscard]] device_info info() const override {
    cudaDeviceProp properties{};
    SPANSORT_CUDA(cudaGetDeviceProperties(&properties, options_.ordinal));
    device_info info;
    info.model = properties.name;
    info.memory_bytes = properties.totalGlobalMem;
    info.vector_target = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
    return info;
  }

  [[nodiscard]] std::uint64_t available_bytes() const override {
    const device_guard guard(options_.ordinal);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    SPANSORT_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
  }

  [[nodiscard]] buffer allocate_on(void* stream, std::uint64_t size_bytes) override {
    if (size_bytes == 0) return {};
    if (options_.before_allocation) options_.before_allocation(size_bytes);
    return take_memory(size_bytes, stream);
  }

  [[nodiscard]] std::unique_ptr<queue> make_queue() override {
    return std::make_unique<cuda_queue>(options_.ordinal, scratch_, options_.local_sort);
  }
  [[nodiscard]] std::unique_ptr<queue> make_exchange_queue() override {
    return std::make_unique<cuda_queue>(options_.ordinal, scratch_, options_.local_sort, queue_use::exchange);
  }
  [[nodiscard]] std::unique_ptr<event> make_event() override { return std::make_unique<cuda_event>(options_.ordinal); }

  [[nodiscard]] bool reaches(const device& other) const override {
    const auto* const gpu = dynamic_cast<const cuda_device*>(&other);
    return gpu != nullptr && probe_peer(options_.ordinal, gpu->options_.ordinal).works;
  }
  [[nodiscard]] std::string why_unreachable(const device& other) const override {
    const auto* const gpu = dynamic_cast<const cuda_device*>(&other);
    return gpu == nullptr ? other.name() + " is no GPU" : probe_peer(options_.ordinal, gpu->options_.ordinal).why_not;
  }
  [[nodiscard]] bool owns(const void* memory) const override {
    cudaPointerAttributes attributes{};
    SPANSORT_CUDA(cudaPointerGetAttributes(&attributes, memory));
    const bool is_device_memory = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
    return is_device_memory && attributes.device == options_.ordinal;
  }
  [[nodiscard]] bool shares_host_memory() const noexcept override { return false; }
  [[nodiscard]] int memory_id() const noexcept override { return options_.ordinal; }

  [[nodiscard]] partition_advice advise(const record_shape&) const override {
    return {gpu_advice.segment_keys, max_partition_bits, max_partition_bits, gpu_advice.several_devices_keys};
  }
  [[nodiscard]] bool prefers_alternate(const record_shape&, keys::bit_range bits) const override {
    return num_local_sort_passes(bits) % 2 != 0;
  }
  [[nodiscard]] local_sort_offer offer_local_sort(std::string_view wanted, const record_shape& shape,
                                                  std::uint64_t num_keys) const override {
    if (wanted.empty()) return {.scratch_bytes = bucket_memory_bytes(options_.local_sort, shape, num_keys)};
    return offer(wanted, shape, num_keys);
  }
  [[nodiscard]] buffer allocate_staging(std::uint64_t size_bytes) override {
    const device_guard guard(options_.ordinal);
    void* memory = nullptr;
    run_checked([&] { return cudaHostAlloc(&memory, size_bytes, cudaHostAllocPortable); }, "cudaHostAlloc",
                {size_bytes, true});
    return {*this, memory, size_bytes};
  }
  [[nodiscard]] buffer allocate_host(std::uint64_t size_bytes) override {
    if (size_bytes == 0) return {};
    if (options_.before_allocation) options_.before_allocation(size_bytes);
    try {
      return allocate_staging(size_bytes);
    } catch (const out_of_memory&) {
      void* const memory = std::aligned_alloc(host_alignment_bytes, base::round_up(size_bytes, host_alignment_bytes));
      if (memory == nullptr) throw;
      ordinary_.insert(memory);
      return {*this, memory, size_bytes};
    }
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override {
    return kernel_workspace::size_bytes + local_sort_scratch_bytes(options_.local_sort);
  }
  void prepare() override {
    if (scratch_.data() != nullptr) return;
    scratch_ = take_memory(scratch_bytes());
  }
  void release() override { scratch_ = {}; }
  [[nodiscard]] bool copy_at_once(void* to, const void* from, std::uint64_t size_bytes) noexcept override {
    try {
      const device_guard guard(options_.ordinal);
      const cudaError_t status = cudaMemcpy(to, from, size_bytes, cudaMemcpyDefault);
      forget_failure(status);
      return status == cudaSuccess;
    } catch (...) {
      return false;
    }
  }

 private:
  [[nodiscard]] buffer take_memory(std::uint64_t size_bytes, void* stream = nullptr) {
    const device_guard guard(options_.ordinal);
    void* memory = nullptr;
    const auto allocate = [&] {
      if (options_.memory == nullptr) return cudaMalloc(&memory, size_bytes);
      memory = options_.memory->allocate(options_.ordinal, size_bytes, stream);
      return memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
    };
    run_checked(allocate, options_.memory == nullptr ? "cudaMalloc" : "gpu_memory_resource::allocate", {size_bytes});
    return {*this, memory, size_bytes};
  }

  void deallocate(void* data, std::uint64_t size_bytes) noexcept override {
    // Our own list is asked first, for the runtime of a lost GPU cannot tell whose memory it is.
    if (ordinary_.erase(data) != 0) return std::free(data);
    cudaPointerAttributes attributes{};
    static_cast<void>(cudaPointerGetAttributes(&attributes, data));
    if (attributes.type == cudaMemoryTypeHost) {
      forget_failure(cudaFreeHost(data));
    } else if (options_.memory != nullptr) {
      options_.memory->deallocate(options_.ordinal, data, size_bytes);
    } else {
      forget_failure(cudaFree(data));
    }
  }

  cuda_device_options options_;
  buffer scratch_;
  std::set<void*> ordinary_;  ///< host memory that could not be pinned
};

}  // namespace

int num_gpus() noexcept {
  if (loss() != nullptr) return 0;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return count;
}

bool is_started() noexcept { return has_launch_sites(); }

std::string why_none() {
  if (loss() != nullptr) return *loss();
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count == 0 ? "the driver shows none" : "";
  static_cast<void>(cudaGetLastError());
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

std::unique_ptr<device> make_cuda_device(cuda_device_options options) {
  return std::make_unique<cuda_device>(std::move(options));
}

}  // namespace spansort::device::cuda
