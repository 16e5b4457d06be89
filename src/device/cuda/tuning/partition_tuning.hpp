// SPDX-License-Identifier: Apache-2.0
// Sizes of the partition kernel. Numbers only, each with where it comes from.
#pragma once

namespace spansort::device::cuda {

template <unsigned Threads, unsigned Items, unsigned Blocks, unsigned LookBack = 4>
struct partition_sizes {
  static constexpr unsigned threads = Threads;     ///< of a block
  static constexpr unsigned items = Items;         ///< records that a thread takes
  static constexpr unsigned blocks = Blocks;       ///< on one multiprocessor at once, at least: bounds the registers
  static constexpr unsigned look_back = LookBack;  ///< tiles looked at together
};

/// By the bytes of key and value. From sweeps of one pass over 2^28 uniform records on an H100 (CUDA 13.0): threads 256 to
/// 1,024, items 9 to 32, blocks 1 to 4, look-back 1 to 8. What was not swept follows the nearest that was.
template <unsigned KeyBytes, unsigned ValueBytes>
struct partition_tuning : partition_sizes<512, 12, 2> {};  // u64: 1.97 ms; u64(u64): 3.88 ms; u32(u64): 3.11 ms
template <unsigned KeyBytes>
struct partition_tuning<KeyBytes, 0> : partition_sizes<512, 22, 2> {};  // u32: 1.37 ms
template <>
struct partition_tuning<8, 0> : partition_sizes<512, 12, 2> {};
template <unsigned KeyBytes>
struct partition_tuning<KeyBytes, 4> : partition_sizes<384, 20, 2> {};  // u32(u32): 2.19 ms
template <>
struct partition_tuning<8, 4> : partition_sizes<512, 12, 2> {};
template <unsigned KeyBytes>
struct partition_tuning<KeyBytes, 16> : partition_sizes<384, 8, 2> {};
template <>
struct partition_tuning<8, 16> : partition_sizes<384, 8, 2> {};

}  // namespace spansort::device::cuda
