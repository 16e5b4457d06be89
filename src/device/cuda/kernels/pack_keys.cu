// SPDX-License-Identifier: Apache-2.0
// Contract: one read of the keys, and one write of what is packed, by lines of 128 bytes for keys of 4 bytes and of 256
// for keys of 8; no shared memory but for the numbers of bits. It is bound by the link that it stores across, and so
// gets few blocks, which leave the multiprocessors to the sorts that go on beside it.
#include "device/cuda/kernels/pack_keys.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {
namespace {

constexpr pack_keys_policy compiled_policy = pack_keys_policy_of(compiled_family).sizes;
constexpr unsigned warps = compiled_policy.threads / 32;

__device__ __forceinline__ unsigned num_bits(std::uint32_t x) {
  return 32 - static_cast<unsigned>(__clz(static_cast<int>(x)));
}
__device__ __forceinline__ unsigned num_bits(std::uint64_t x) {
  return 64 - static_cast<unsigned>(__clzll(static_cast<long long>(x)));
}

/// A warp packs a block. Its lanes walk down the rows twice, once to see how many bits are needed; the second time they
/// find the keys in a cache.
template <class K>
class block_packer {
  using layout = packed_layout<K>;

 public:
  __device__ __forceinline__ block_packer(const encoded_order<K>& order, const K* keys, std::uint64_t num_keys)
      : order_(order), keys_(keys), last_(num_keys - 1), lane_(threadIdx.x % 32) {}

  /// Returns the number of bits that the block's differences take.
  __device__ __forceinline__ unsigned bits_of(std::uint64_t first) const {
    K any = 0;
    K above = key(first, 0);
#pragma unroll 8
    for (unsigned row = 1; row < layout::rows; ++row) {
      const K here = key(first, row);
      any |= here - above;
      above = here;
    }
    unsigned bits = num_bits(any);
    for (unsigned distance = 16; distance != 0; distance /= 2) {
      bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, distance));
    }
    return bits;
  }

  __device__ __forceinline__ void pack(std::uint64_t first, unsigned bits, K* to) const {
    K above = key(first, 0);
    to[lane_] = above;
    to += layout::lanes + lane_;
    if (bits == 0) return;
    K word = 0;
    unsigned filled = 0;
    for (unsigned row = 0; row < layout::rows; ++row) {
      const K here = key(first, row);
      const K difference = here - above;
      above = here;
      word |= difference << filled;
      filled += bits;
      if (filled < layout::group_rows) continue;
      *to = word;
      to += layout::lanes;
      filled -= layout::group_rows;
      // Bits that did not fit begin the next word. A shift by all bits of a word is not defined.
      word = filled == 0 ? K{0} : static_cast<K>(difference >> (bits - filled));
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ K key(std::uint64_t first, unsigned row) const {
    const std::uint64_t at = first + row * layout::lanes + lane_;
    return order_.take(keys_[at < last_ ? at : last_]);
  }

  const encoded_order<K>& order_;
  const K* keys_;
  std::uint64_t last_;
  unsigned lane_;
};

/// Any number of blocks, each of which strides over as many packed blocks at a time as it has warps.
template <class K>
__global__ void __launch_bounds__(compiled_policy.threads)
    pack_keys_kernel(encoded_order<K> order, const K* __restrict__ keys, std::uint64_t num_keys, packed_memory to) {
  __shared__ packed_bits bits_of_warps[warps];
  const unsigned warp = threadIdx.x / 32;
  const std::uint64_t num_blocks = (num_keys + packed_block_keys - 1) / packed_block_keys;
  const block_packer<K> packer(order, keys, num_keys);
  for (std::uint64_t begin = std::uint64_t{blockIdx.x} * warps; begin < num_blocks;
       begin += std::uint64_t{gridDim.x} * warps) {
    const std::uint64_t b = begin + warp;
    if (b < num_blocks) {
      const unsigned bits = packer.bits_of(b * packed_block_keys);
      if (threadIdx.x % 32 == 0) bits_of_warps[warp] = bits;
      packer.pack(b * packed_block_keys, bits, static_cast<K*>(to.blocks) + b * packed_layout<K>::block_words);
    }
    __syncthreads();
    if (threadIdx.x < warps && begin + threadIdx.x < num_blocks)
      to.bits[begin + threadIdx.x] = bits_of_warps[threadIdx.x];
    __syncthreads();
  }
}

}  // namespace

template <class K>
void launch_pack_keys(const launch_site& site, const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                      const packed_memory& to) {
  if (num_keys == 0) return;
  const pack_keys_policy policy = pack_keys_policy_of(site.family()).sizes;
  const std::uint64_t num_blocks = base::ceil_div(num_keys, packed_block_keys);
  const auto blocks = static_cast<unsigned>(
      std::min<std::uint64_t>(base::ceil_div<std::uint64_t>(num_blocks, policy.threads / 32), policy.blocks));
  pack_keys_kernel<K><<<blocks, policy.threads, 0, site.stream>>>(encoded_order<K>(codec), keys, num_keys, to);
  check_done(cudaGetLastError(), "pack_keys_kernel");
}

template void launch_pack_keys<std::uint32_t>(const launch_site&, const keys::codec_of<std::uint32_t>&,
                                              const std::uint32_t*, std::uint64_t, const packed_memory&);
template void launch_pack_keys<std::uint64_t>(const launch_site&, const keys::codec_of<std::uint64_t>&,
                                              const std::uint64_t*, std::uint64_t, const packed_memory&);

}  // namespace spansort::device::cuda
