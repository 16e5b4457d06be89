// SPDX-License-Identifier: Apache-2.0
#include "sort/new_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>

#include "base/call_watch.hpp"
#include "keys/codec.hpp"

namespace spansort::sorting {
namespace {

/// Workspace below this is cleared in some tens of milliseconds.
constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20;

/// Returns whether the sort may get by without a partition. It finds that out by reading all keys, and this is a guess.
bool may_end_early(const algorithms::problem& problem) {
  constexpr std::uint64_t num_samples = 1024;
  constexpr std::ptrdiff_t few_values = 16;
  constexpr int few_bits = 16;
  if (problem.num_keys < num_samples) return true;
  std::array<std::uint64_t, num_samples> sample{};
  std::uint64_t differing = 0;
  const std::uint64_t stride = problem.num_keys / num_samples;
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    // A multiplicative hash moves the sample off the beat of regular inputs.
    const std::uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15U >> 32;
    sample[i] = keys::encode_at(problem.shape.codec, problem.data().keys, i * stride + (hash * stride >> 32));
    differing |= sample[i] ^ sample[0];
  }
  if (std::ranges::is_sorted(sample) || std::ranges::is_sorted(sample, std::greater{})) return true;
  if (problem.shape.value_bytes == 0 && std::bit_width(differing) <= few_bits) return true;
  std::ranges::sort(sample);
  return std::ranges::unique(sample).begin() - sample.begin() <= few_values;
}

}  // namespace

void touch_new_memory(const std::vector<algorithms::rank>& ranks, const algorithms::problem& problem,
                      const progress_callback& on_progress) {
  constexpr std::uint64_t page_bytes = 4096;
  constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;  // the system may clear as much at a time
  std::vector<const device::buffer*> large;
  for (const algorithms::rank& r : ranks) {
    if (r.device->memory_id() != device::host_memory) continue;
    for (const device::buffer& slot : r.slots) {
      if (slot.size_bytes() >= least_bytes) large.push_back(&slot);
    }
  }
  // Records that flow are not there yet.
  if (large.empty() || problem.is_resident() || problem.flow != nullptr || may_end_early(problem)) return;
  const base::call_watch watch(on_progress);
  for (const device::buffer* const slot : large) {
    auto* const bytes = static_cast<volatile char*>(slot->data());
    const auto touch = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t at = begin * huge_page_bytes; at < end * huge_page_bytes; at += page_bytes) bytes[at] = 0;
    };
    base::for_blocks(slot->size_bytes() / huge_page_bytes, watch, touch, 1);
  }
}

}  // namespace spansort::sorting
