// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/packed_ring.hpp"

#include <algorithm>

#include "device/cuda/kernels/pack_keys.hpp"

namespace spansort::device::cuda {
namespace {

constexpr std::uint64_t keys_of_a_part(unsigned width_bytes) noexcept {
  return packed_ring_tuning.sizes.buffer_bytes / width_bytes / packed_block_keys * packed_block_keys;
}

/// A slot has room for a part of keys of either width.
constexpr std::uint64_t slot_bytes =
    std::max(packed_memory::size_bytes(4, keys_of_a_part(4)), packed_memory::size_bytes(8, keys_of_a_part(8)));

}  // namespace

bool packed_ring::prepare(unsigned threads) {
  threads_ = threads;
  return is_ready();
}

bool packed_ring::is_ready() {
  if (memory_ != nullptr || is_refused_) return memory_ != nullptr;
  for (slot& s : slots_) {
    if (s.filled == nullptr) s.filled = make_cuda_event(cudaEventDisableTiming);
  }
  memory_ = try_allocate_pinned_memory(policy.num_buffers * slot_bytes);
  is_refused_ = memory_ == nullptr;
  return !is_refused_;
}

void packed_ring::copy_out(const launch_site& site, const keys::key_codec& codec, void* to_host,
                           const void* from_device, std::uint64_t num_keys) {
  const std::uint64_t width = codec.width_bytes();
  const std::uint64_t most = keys_of_a_part(codec.width_bytes());
  for (std::uint64_t begin = 0; begin < num_keys; begin += most) {
    if (num_filled_ == policy.num_buffers) empty_oldest();
    const std::uint64_t i = next_ % policy.num_buffers;
    slot& s = slots_[i];
    s.codec = codec;
    s.num_keys = std::min(most, num_keys - begin);
    s.to_host = static_cast<char*>(to_host) + begin * width;
    s.memory = packed_memory::in(static_cast<char*>(memory_.get()) + i * slot_bytes, s.num_keys);
    with_packed_width(codec, [&]<class K>() {
      launch_pack_keys<K>(site, codec.of<K>(), static_cast<const K*>(from_device) + begin, s.num_keys, s.memory);
    });
    SPANSORT_CUDA(cudaEventRecord(s.filled.get(), site.stream));
    ++next_;
    ++num_filled_;
  }
}

void packed_ring::empty_oldest() {
  const slot& s = slots_[(next_ - num_filled_) % policy.num_buffers];
  SPANSORT_CUDA(cudaEventSynchronize(s.filled.get()));
  unpack_keys(s.codec, s.memory, s.num_keys, s.to_host, threads_);
  --num_filled_;
}

void packed_ring::finish() {
  while (num_filled_ != 0) empty_oldest();
}

}  // namespace spansort::device::cuda
