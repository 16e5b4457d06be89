// SPDX-License-Identifier: Apache-2.0
// The machine is taken to do this when devices are chosen. The numbers are to choose by, not to promise. Unless an
// entry says otherwise they come from sorts of u32 on an H100 and 16 threads of its host, of 2^10 to 2e9 keys; other
// machines have not been measured and take the same.
#pragma once

#include <cstdint>

namespace spansort::sorting {

struct machine_rates {
  /// Bytes of keys and values that one thread of the CPU sorts in a second, in a call that takes new memory: 16 threads
  /// of an Intel Xeon sort 4.4e9 to 7.8e9 of uniform keys and pairs (2^24 and 2^26 of them), and 2.7e9 to 3.4e9 of the
  /// AND of four words.
  double cpu_thread_bytes_per_s = 0.27e9;
  /// Bytes of ordinary host memory that go to the GPU, are sorted and come back in a second: 11e9 at 64 MiB, 22e9 at 8
  /// GB.
  double gpu_trip_bytes_per_s = 15e9;
  /// A trip costs this however short it is: 0.12 ms for 2^10 u32 on an H200, and 0.36, 0.69 and 3.8 ms for 2^18, 2^20
  /// and 2^24 of them in ordinary memory.
  double gpu_overhead_s = 0.3e-3;
  /// The first use of a GPU costs a process this: between 0.2 and 0.4 s.
  double gpu_start_s = 0.3;
  /// A sorter's first use of a GPU costs this where the process has used GPUs before: between 4 and 36 ms on an H200.
  double gpu_open_s = 0.015;
  /// Bytes of a file that several threads read out of the page cache in a second: 9e9 by two threads of an AMD EPYC
  /// (Zen 5). A disk is slower, and hides more of a GPU's start.
  double file_bytes_per_s = 9e9;
  /// An input of this size or more is sorted faster by all GPUs than by one.
  std::uint64_t several_gpus_bytes = std::uint64_t{1} << 30;
  /// The share of a GPU's free memory that a sort may fill with input: it needs twice its input, slack and scratch.
  /// Computed, not measured.
  double fillable_share = 0.45;
  /// A GPU with less free memory cannot sort larger inputs in parts either: it needs scratch, and slots that are worth
  /// a trip. Computed, not measured.
  std::uint64_t least_gpu_bytes = std::uint64_t{256} << 20;
};
inline constexpr machine_rates rates{};

}  // namespace spansort::sorting
