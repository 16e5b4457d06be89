// SPDX-License-Identifier: Apache-2.0
// Suite `segments`: many segments of one array on one GPU, of equal lengths and of lengths by zipf's law, next to both
// of CUB's segmented sorts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "bench/gpu/segment_race.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/cuda_error.hpp"
#include "spansort/errors.hpp"

namespace bench {
namespace {

using offset_list = std::vector<std::uint32_t>;

offset_list equal_lengths(std::uint64_t num_keys, std::uint64_t length) {
  offset_list offsets(num_keys / length + 1);
  for (std::uint64_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<std::uint32_t>(i * length);
  return offsets;
}

/// Lengths in proportion to 1, 1/2, 1/3 ..., shuffled; what rounding leaves goes to the longest.
offset_list zipf_lengths(std::uint64_t num_keys, std::uint64_t num_segments, std::uint64_t seed) {
  double sum = 0;
  for (std::uint64_t i = 1; i <= num_segments; ++i) sum += 1 / static_cast<double>(i);
  std::vector<std::uint32_t> lengths(num_segments);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < num_segments; ++i) {
    lengths[i] = static_cast<std::uint32_t>(static_cast<double>(num_keys) / sum / static_cast<double>(i + 1));
    total += lengths[i];
  }
  lengths[0] += static_cast<std::uint32_t>(num_keys - total);
  std::ranges::shuffle(lengths, std::mt19937_64(seed));
  offset_list offsets(num_segments + 1);
  for (std::uint64_t i = 0; i < num_segments; ++i) offsets[i + 1] = offsets[i] + lengths[i];
  return offsets;
}

struct segment_case {
  std::string type;
  std::string lengths;  ///< "equal", "rows" or "zipf"
  unsigned log2_size = 0;
  std::uint64_t num_segments = 0;  ///< 0: as many of `length` as fit
  std::uint64_t length = 0;
};

outcome measure(const settings& s, const segment_case& c) {
  const spansort::device::cuda::device_guard guard(s.devices.front());
  const std::uint64_t num_keys = std::uint64_t{1} << c.log2_size;
  if (num_keys >> 32 != 0) throw spansort::invalid_argument("offsets of the suite have 32 bits");
  const std::uint64_t length = c.num_segments == 0 ? c.length : num_keys / c.num_segments;
  segment_race_request request{
      .type = c.type,
      .input = {.seed = s.seed, .finite_floats = c.type == "f32"},
      .offsets = c.lengths == "zipf" ? zipf_lengths(num_keys, c.num_segments, s.seed) : equal_lengths(num_keys, length),
      .are_rows = c.lengths == "rows",
      .repeats = s.repeats};
  const segment_race_result found = race_segments(request);
  const double ours_ms = median(found.ours_ms);
  const double sort_ms = median(found.cub_sort_ms);
  const double radix_sort_ms = median(found.cub_radix_sort_ms);
  const double ratio = std::min(sort_ms, radix_sort_ms) / ours_ms;
  const std::uint64_t num_sorted = request.offsets.back();
  outcome result;
  result.verified = found.num_differing_words == 0;
  result.fields = {{"type", c.type},
                   {"distribution", "uniform"},
                   {"lengths", c.lengths},
                   {"num_segments", request.offsets.size() - 1},
                   {"num_keys", num_sorted},
                   {"seed", s.seed},
                   {"median_ms", ours_ms},
                   {"cub_segmented_sort_median_ms", sort_ms},
                   {"cub_segmented_radix_sort_median_ms", radix_sort_ms},
                   {"ratio_to_better_cub", ratio},
                   {"giga_keys_per_s", giga_per_s(static_cast<double>(num_sorted), ours_ms)},
                   {"workspace_bytes", found.workspace_bytes},
                   {"num_differing_words", found.num_differing_words},
                   {"runs_ms", found.ours_ms},
                   {"cub_segmented_sort_runs_ms", found.cub_sort_ms},
                   {"cub_segmented_radix_sort_runs_ms", found.cub_radix_sort_ms}};
  result.line = fmt::format("{:8.3f} ms  CUB sort {:8.3f} ms, radix sort {:8.3f} ms  ratio to the better {:.2f}",
                            ours_ms, sort_ms, radix_sort_ms, ratio);
  return result;
}

}  // namespace

void add_segment_cases(const settings& s, case_list& cases) {
  const auto add = [&](const segment_case& c) {
    if (c.num_segments >> c.log2_size != 0) return;
    const std::string segments = c.num_segments == 0 ? fmt::format("of {}", c.length)
                                                     : fmt::format("{:.0e}", static_cast<double>(c.num_segments));
    cases.push_back({"segments", fmt::format("{} {} {}, n = 2^{}", c.type, c.lengths, segments, c.log2_size),
                     [s, c] { return measure(s, c); }});
  };
  for (const char* const type : {"u32", "u32(u32)", "u64(u64)", "u64", "f32"}) {
    for (const unsigned log2_size : {s.log2_size, s.log2_size - 4}) {
      for (const std::uint64_t length : {17U, 1U << 16}) add({type, "equal", log2_size, 0, length});
      for (std::uint64_t segments = 100; segments <= 10'000'000; segments *= 10) {
        for (const char* const lengths : {"equal", "zipf"}) add({type, lengths, log2_size, segments, 0});
      }
    }
    for (const std::uint64_t length : {4U, 64U, 1U << 10, 1U << 13}) add({type, "rows", s.log2_size, 0, length});
  }
}

}  // namespace bench
