// SPDX-License-Identifier: Apache-2.0
// The machine is taken to do this when devices are chosen. The numbers are to choose by, not to promise. Unless an
// entry says otherwise they are fitted to uniform u32, f64 and u32(u32) of 2^10 to 2^28 records in ordinary memory, on
// an H200 and 16 threads of its host (bench/results/h200x1/sorts.json, suite `small`); other machines have not been
// measured and take the same.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spansort::sorting {

struct machine_rates {
  /// Bytes of keys and values that one thread sorts in a second while they lie in its caches, and how many do.
  double cpu_alone_bytes_per_s = 1.5e9;
  std::uint64_t most_alone_bytes = std::uint64_t{1} << 20;
  /// Bytes that the first of several threads sorts in a second. Each further one slows all down by a share, for they
  /// use the same memory: 16 sort 5.5e9 in a second. Of the AND of four words they sort half as many.
  double cpu_thread_bytes_per_s = 0.9e9;
  double cpu_thread_slows = 0.1;
  /// Waking the threads and sharing the work costs this.
  double cpu_share_s = 0.25e-3;

  /// Bytes of ordinary host memory that go to the GPU, are sorted and come back in a second, when copies have begun to
  /// overlap with the work, and what the time until then costs: a rate for inputs too small for that, and no more than
  /// a limit.
  double gpu_trip_bytes_per_s = 24e9;
  double gpu_alone_bytes_per_s = 9e9;
  double most_gpu_alone_s = 1.3e-3;
  /// One thread sorts fewer bytes before a GPU would have them.
  std::uint64_t least_trip_bytes = std::uint64_t{1} << 16;
  /// A trip costs this however short it is.
  double gpu_overhead_s = 60e-6;
  /// The first use of a GPU costs a process this: between 0.2 and 0.4 s.
  double gpu_start_s = 0.3;
  /// A sorter's first use of a GPU costs this where the process has used GPUs before, and as much more a byte of input,
  /// up to a limit, for memory and buffers: 1.4 ms for 2^10 u32, 18 for 2^24, 50 for 2^26.
  double gpu_open_s = 1.3e-3;
  double gpu_open_s_per_byte = 0.12e-9;
  double most_gpu_memory_s = 40e-3;

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

/// The time in which `threads` of the CPU sort so many bytes of keys and values.
[[nodiscard]] constexpr double cpu_sort_s(std::uint64_t input_bytes, unsigned threads) noexcept {
  const auto bytes = static_cast<double>(input_bytes);
  const double together =
      rates.cpu_thread_bytes_per_s * threads / (1 + rates.cpu_thread_slows * static_cast<double>(threads - 1));
  const double shared_s = (threads > 1 ? rates.cpu_share_s : 0) + bytes / together;
  if (input_bytes > rates.most_alone_bytes) return shared_s;
  return std::min(shared_s, bytes / rates.cpu_alone_bytes_per_s);
}

/// The time in which they go to a GPU that is open, are sorted there and come back.
[[nodiscard]] constexpr double gpu_trip_s(std::uint64_t input_bytes) noexcept {
  const auto bytes = static_cast<double>(input_bytes);
  return rates.gpu_overhead_s + bytes / rates.gpu_trip_bytes_per_s +
         std::min(bytes / rates.gpu_alone_bytes_per_s, rates.most_gpu_alone_s);
}

/// The time in which a sorter opens a GPU for so much input.
[[nodiscard]] constexpr double gpu_open_s(std::uint64_t input_bytes) noexcept {
  return rates.gpu_open_s +
         std::min(static_cast<double>(input_bytes) * rates.gpu_open_s_per_byte, rates.most_gpu_memory_s);
}

}  // namespace spansort::sorting
