// SPDX-License-Identifier: Apache-2.0
// Samples of keys that lie on devices, and work queued on all of them.
#pragma once

#include <algorithm>
#include <span>

#include "statistics/key_extent.hpp"
#include "statistics/select.hpp"
#include "statistics/select_plan.hpp"

namespace spansort::statistics {

[[nodiscard]] inline std::uint64_t num_keys_of(std::span<const key_chunk> chunks) noexcept {
  std::uint64_t num_keys = 0;
  for (const key_chunk& c : chunks) num_keys += c.num_keys;
  return num_keys;
}

/// Work on the queues of chunks. Memory that it uses is declared before: it is waited for, whatever happens.
class queued_work {
 public:
  explicit queued_work(std::span<const key_chunk> chunks) : chunks_(chunks) {}
  ~queued_work();
  queued_work(const queued_work&) = delete;
  queued_work& operator=(const queued_work&) = delete;

  /// Waits for all queues, then throws what the first of them has to throw.
  void finish();

 private:
  std::span<const key_chunk> chunks_;
};

/// Keys of a sample; up to this many are taken all. GPUs read so fast that a large sample
/// costs more on its way to the host than it saves.
inline constexpr std::uint64_t keys_of_sample = std::uint64_t{1} << 16;
inline constexpr std::uint64_t keys_of_gpu_sample = std::uint64_t{1} << 14;

/// Runs of a sample of `num_keys`, which are more than most_keys.
[[nodiscard]] constexpr std::uint64_t num_sample_runs(std::uint64_t num_keys, std::uint64_t most_keys,
                                                      std::uint64_t run_keys) noexcept {
  return std::min(most_keys, num_keys / 4) / run_keys;
}

/// Encoded keys, taken at places that depend on the number of keys alone. A cache line at a time: its other keys cost
/// nothing more. Where `extent` says that there are keys of other processes, this process's share of the sample.
[[nodiscard]] key_sample take_sample(const keys::key_codec& codec, std::span<const key_chunk> chunks,
                                     const key_extent& extent, std::uint64_t most_keys = keys_of_sample);

}  // namespace spansort::statistics
