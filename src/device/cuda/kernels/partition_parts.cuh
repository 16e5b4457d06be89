// SPDX-License-Identifier: Apache-2.0
// Partitions share these: a warp's vote on digits, and stores to device memory.
#pragma once

namespace spansort::device::cuda {

/// Stores to an address that the compiler cannot see to be no shared memory. Being told, it may load ahead of the
/// store.
template <class T>
__device__ __forceinline__ void store_global(T* to, const T& what) {
  __builtin_assume(__isGlobal(to));
  *to = what;
}

/// Returns the lanes of a full warp that have the same digit of `Bits` bits, by a vote on each bit, which is faster
/// than the warp's own match instruction. It is written in PTX because the compiler makes 56 instructions of the same
/// in C++ and 25 of this, for it moves seven bits to predicates at once.
template <unsigned Bits>
__device__ __forceinline__ unsigned lanes_with_digit(unsigned digit) {
  unsigned peers = 0xffffffffU;
#pragma unroll
  for (unsigned bit = 0; bit < Bits; ++bit) {
    unsigned same_bit = 0;
    asm volatile(
        "{\n"
        "  .reg .pred is_set;\n"
        "  .reg .b32 masked;\n"
        "  and.b32 masked, %1, %2;\n"
        "  setp.ne.u32 is_set, masked, 0;\n"
        "  vote.sync.ballot.b32 %0, is_set, 0xffffffff;\n"
        "  @!is_set not.b32 %0, %0;\n"
        "}"
        : "=r"(same_bit)
        : "r"(digit), "r"(1U << bit));
    peers &= same_bit;
  }
  return peers;
}

}  // namespace spansort::device::cuda
