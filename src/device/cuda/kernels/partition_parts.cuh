// SPDX-License-Identifier: Apache-2.0
// Partitions share these: a warp's vote on digits, stores to device memory, and copies to shared memory behind which a
// thread goes on.
#pragma once

#include <cstdint>

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

/// These are the digits of a thread's items, of `Bits` bits, four or two in a register, for orders by which it takes
/// long to find them.
template <unsigned Items, unsigned Bits>
class kept_digits {
 public:
  __device__ __forceinline__ void keep(unsigned item, unsigned digit) {
    if (item % each == 0) {
      words_[item / each] = digit;
    } else {
      words_[item / each] |= digit << (item % each * room);
    }
  }
  /// Makes the compiler forget what the digits were made of, for otherwise it keeps or spills that. Called when all are
  /// kept.
  __device__ __forceinline__ void seal() {
#pragma unroll
    for (std::uint32_t& word : words_) asm volatile("" : "+r"(word));
  }
  [[nodiscard]] __device__ __forceinline__ unsigned operator[](unsigned item) const {
    return words_[item / each] >> (item % each * room) & ((1U << room) - 1);
  }

 private:
  static constexpr unsigned room = Bits <= 8 ? 8 : 16;
  static constexpr unsigned each = 32 / room;
  static_assert(Bits <= room);
  std::uint32_t words_[(Items + each - 1) / each];
};

/// Begins a copy of 4, 8 or 16 bytes from device memory to shared memory, both aligned to their number.
/// wait_for_copies() waits for it. GPUs older than 8.0 wait here.
template <class T>
__device__ __forceinline__ void begin_copy(T* to, const T* from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
#if __CUDA_ARCH__ >= 800
  const auto shared_to = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (sizeof(T) == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_to), "l"(from), "n"(sizeof(T)) : "memory");
  }
#else
  *to = *from;
#endif
}

/// Waits for the copies that this thread has begun. What other threads have copied is there after a barrier.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// The bytes that one such copy moves at most.
struct alignas(16) copied_chunk {
  std::uint32_t words[4];
};

}  // namespace spansort::device::cuda
