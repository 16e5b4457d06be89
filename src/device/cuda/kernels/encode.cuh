// SPDX-License-Identifier: Apache-2.0
// Keys into their encodings and back, for sorts that know no codec. One read and one write of the keys; no shared
// memory; any number of blocks of encode_threads.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {

inline constexpr unsigned encode_threads = rearrange_policy_of(compiled_family).sizes.threads;

template <class K, class Order>
__global__ void encode_kernel(Order order, K* keys, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * encode_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * encode_threads + threadIdx.x; i < count; i += step)
    keys[i] = order.take(keys[i]);
}
template <class K, class Order>
__global__ void decode_kernel(Order order, K* keys, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * encode_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * encode_threads + threadIdx.x; i < count; i += step)
    keys[i] = order.give(keys[i]);
}

}  // namespace spansort::device::cuda
