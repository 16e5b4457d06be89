// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/peer_access.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "device/cuda/handles.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/kernels/peer_pattern.hpp"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {
namespace {

constexpr std::array probe_sizes = peer_probe_tuning.sizes.sizes_bytes;

std::mutex probes_mutex;
/// The GPUs, and whether a test corrupts the probe: what such a probe finds is for nobody else.
using probe_key = std::tuple<int, int, bool>;
std::map<probe_key, peer_link> probes;

/// One GPU's memory and stream for a probe.
class prober {
 public:
  explicit prober(int ordinal) : ordinal_(ordinal) {
    const device_guard guard(ordinal_);
    stream_ = make_stream();
    memory_ = allocate_device_memory(probe_sizes.back());
    differences_ = allocate_device_memory(sizeof(unsigned long long));
  }

  [[nodiscard]] std::uint64_t* words() const noexcept { return static_cast<std::uint64_t*>(memory_.get()); }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }

  // All of these block until the GPU is done, so that no order between GPUs is taken for granted.

  void fill(std::uint64_t* words, std::uint64_t bytes, std::uint64_t seed) const {
    const device_guard guard(ordinal_);
    launch_fill_pattern(stream_.get(), words, bytes / sizeof(std::uint64_t), seed);
    SPANSORT_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  void copy(void* to, const void* from, std::uint64_t bytes) const {
    const device_guard guard(ordinal_);
    SPANSORT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()));
    SPANSORT_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  [[nodiscard]] bool holds(const std::uint64_t* words, std::uint64_t bytes, std::uint64_t seed) const {
    const device_guard guard(ordinal_);
    unsigned long long differences = 0;
    SPANSORT_CUDA(cudaMemsetAsync(differences_.get(), 0, sizeof differences, stream_.get()));
    launch_compare_pattern(stream_.get(), words, bytes / sizeof(std::uint64_t), seed,
                           static_cast<unsigned long long*>(differences_.get()));
    SPANSORT_CUDA(
        cudaMemcpyAsync(&differences, differences_.get(), sizeof differences, cudaMemcpyDeviceToHost, stream_.get()));
    SPANSORT_CUDA(cudaStreamSynchronize(stream_.get()));
    return differences == 0;
  }
  void flip_a_bit() const {
    const device_guard guard(ordinal_);
    std::uint64_t word = 0;
    copy(&word, words(), sizeof word);
    word ^= 1;
    copy(words(), &word, sizeof word);
  }
  [[nodiscard]] double time_copy_ms(void* to, const void* from, std::uint64_t bytes) const {
    const device_guard guard(ordinal_);
    const event_handle begin = make_cuda_event(cudaEventDefault);
    const event_handle end = make_cuda_event(cudaEventDefault);
    constexpr int repeats = peer_probe_tuning.sizes.timed_repeats;
    SPANSORT_CUDA(cudaEventRecord(begin.get(), stream_.get()));
    for (int i = 0; i < repeats; ++i) {
      SPANSORT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()));
    }
    SPANSORT_CUDA(cudaEventRecord(end.get(), stream_.get()));
    SPANSORT_CUDA(cudaStreamSynchronize(stream_.get()));
    float elapsed_ms = 0;
    SPANSORT_CUDA(cudaEventElapsedTime(&elapsed_ms, begin.get(), end.get()));
    return static_cast<double>(elapsed_ms) / repeats;
  }

 private:
  int ordinal_;
  stream_handle stream_;
  device_memory memory_;
  device_memory differences_;
};

/// Makes the memory of `to` usable on `from`, or returns why it is not.
std::string enable_access(int from, int to) {
  if (from == to) return "";
  int can = 0;
  SPANSORT_CUDA(cudaDeviceCanAccessPeer(&can, from, to));
  if (can == 0) return "the driver offers no peer access";
  const device_guard guard(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
    return "";
  }
  if (status == cudaSuccess) return "";
  static_cast<void>(cudaGetLastError());
  return std::string("peer access cannot be enabled: ") + cudaGetErrorString(status);
}

std::string try_out(const prober& from, const prober& to, bool corrupts) {
  std::uint64_t seed = 1;
  for (const std::uint64_t bytes : probe_sizes) {
    from.fill(to.words(), bytes, ++seed);
    if (corrupts) to.flip_a_bit();
    if (!to.holds(to.words(), bytes, seed)) return "kernels write wrong data";
    to.fill(to.words(), bytes, ++seed);
    if (!from.holds(to.words(), bytes, seed)) return "kernels read wrong data";
    from.copy(from.words(), to.words(), bytes);
    if (!from.holds(from.words(), bytes, seed)) return "copies read wrong data";
    from.fill(from.words(), bytes, ++seed);
    from.copy(to.words(), from.words(), bytes);
    if (!to.holds(to.words(), bytes, seed)) return "copies write wrong data";
  }
  return "";
}

peer_link probe(int from, int to, bool corrupts) {
  peer_link link;
  link.why_not = enable_access(from, to);
  if (!link.why_not.empty()) return link;
  const prober here(from);
  const prober there(to);
  link.why_not = try_out(here, there, corrupts);
  link.works = link.why_not.empty();
  if (link.works) {
    const double ms = here.time_copy_ms(there.words(), here.words(), probe_sizes.back());
    link.gigabytes_per_s = static_cast<double>(probe_sizes.back()) / 1e6 / ms;
  }
  return link;
}

}  // namespace

peer_link probe_peer(int from, int to) {
  const std::shared_ptr<injected_faults> faults = current_faults();
  const bool corrupts = faults != nullptr && faults->corrupts_peer_probes();
  const std::lock_guard lock(probes_mutex);
  const probe_key key{from, to, corrupts};
  const auto known = probes.find(key);
  if (known != probes.end()) return known->second;
  const peer_link link = from == to && !corrupts ? peer_link{true, {}, 0} : probe(from, to, corrupts);
  return probes.emplace(key, link).first->second;
}

}  // namespace spansort::device::cuda
