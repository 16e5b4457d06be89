// SPDX-License-Identifier: Apache-2.0
// Sizes of the partition kernel. Numbers only, each with where it comes from.
#pragma once

#include <algorithm>

namespace spansort::device::cuda {

template <unsigned Threads, unsigned Items, unsigned Blocks, bool HasLittleSharedMemory = false, unsigned LookBack = 4>
struct partition_sizes {
  static constexpr bool has_little_shared_memory = HasLittleSharedMemory;
  static constexpr unsigned threads = Threads;     ///< of a block
  static constexpr unsigned items = Items;         ///< records that a thread takes
  static constexpr unsigned blocks = Blocks;       ///< on one multiprocessor at once, at least: bounds the registers
  static constexpr unsigned look_back = LookBack;  ///< tiles looked at together
};

/// By the bytes of key and value. From sweeps of one pass over uniform records on an H100 (CUDA 13.0): threads 256 to
/// 1,024, items 8 to 44, blocks 1 to 5, look-back 2 to 8. Sizes that make the compiler spill lose. Behind each, a pass over
/// 2^27 records, over 2^28 of u64 alone.
template <unsigned KeyBytes, unsigned ValueBytes, bool HasLittleSharedMemory>
struct partition_tuning : partition_sizes<512, 12, 2> {};  // u32(u64): 1.61 ms; u64(u64): 2.02 ms; u64(u32): 1.55 ms
template <unsigned KeyBytes>
struct partition_tuning<KeyBytes, 0, false> : partition_sizes<512, 30, 2> {};  // u8: 0.44 ms; u16: 0.47 ms
template <>
struct partition_tuning<4, 0, false> : partition_sizes<512, 34, 2> {};  // u32: 0.52 ms
template <>
struct partition_tuning<8, 0, false> : partition_sizes<512, 18, 2> {};  // u64: 1.76 ms
template <unsigned KeyBytes>
struct partition_tuning<KeyBytes, 4, false> : partition_sizes<512, 16, 2> {};  // u32(u32): 1.10 ms; u16(u32): 0.90 ms
template <>
struct partition_tuning<8, 4, false> : partition_sizes<512, 12, 2> {};
template <unsigned KeyBytes>
struct partition_tuning<KeyBytes, 16, false> : partition_sizes<256, 16, 2> {};  // u32(16 bytes): 2.36 ms
template <>
struct partition_tuning<8, 16, false> : partition_sizes<512, 8, 2> {};  // u64(16 bytes): 2.70 ms

/// For compute capability 7.5, with 64 KiB of shared memory in a multiprocessor: computed, not measured.
template <unsigned KeyBytes, unsigned ValueBytes>
struct partition_tuning<KeyBytes, ValueBytes, true>
    : partition_sizes<384, 32768 / 384 / std::max({KeyBytes, ValueBytes, 4U}), 1, true> {};

}  // namespace spansort::device::cuda
