// SPDX-License-Identifier: Apache-2.0
#include "sort/segments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/for_blocks.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

/// Facts about all segments, to which each block of them adds its own.
struct found_segments {
  std::mutex mutex;
  std::uint64_t first_wrong = std::numeric_limits<std::uint64_t>::max();
  std::vector<large_segment> large;

  void add(std::uint64_t wrong, const std::vector<large_segment>& of_block) {
    const std::lock_guard lock(mutex);
    first_wrong = std::min(first_wrong, wrong);
    large.insert(large.end(), of_block.begin(), of_block.end());
  }
};

void look_at_block(const device::segment_bounds& bounds, device::segment_range range, std::uint64_t most_small,
                   found_segments& found) {
  std::uint64_t wrong = std::numeric_limits<std::uint64_t>::max();
  std::vector<large_segment> large;
  std::uint64_t begin = bounds.at(range.first);
  for (std::uint64_t segment = range.first; segment < range.last; ++segment) {
    const std::uint64_t end = bounds.at(segment + 1);
    if (end < begin) {
      wrong = segment;
      break;
    }
    if (end - begin > most_small) large.push_back({begin, end - begin});
    begin = end;
  }
  if (wrong != std::numeric_limits<std::uint64_t>::max() || !large.empty()) found.add(wrong, large);
}

}  // namespace

device::segment_bounds bounds_of_offsets(const_key_span offsets) {
  using enum key_type;
  if (offsets.type != u32 && offsets.type != i32 && offsets.type != u64 && offsets.type != i64) {
    throw invalid_argument("offsets of type u32, i32, u64 or i64 are expected");
  }
  check_keys(offsets);
  if (offsets.num_keys == 0) throw invalid_argument("offsets: one more than segments are expected, found none");
  const std::uint64_t num_segments = offsets.num_keys - 1;
  // A negative offset is read as a large one, which check_segments() refuses.
  if (size_bytes(offsets.type) == 4) return {static_cast<const std::uint32_t*>(offsets.data), num_segments};
  return {static_cast<const std::uint64_t*>(offsets.data), num_segments};
}

device::segment_bounds bounds_of_rows(std::uint64_t row_length, std::uint64_t num_keys) {
  if (num_keys == 0) return device::segment_bounds::of_rows(row_length, 0);
  if (row_length == 0 || num_keys % row_length != 0) {
    throw invalid_argument(fmt::format("{} keys are not rows of {}", num_keys, row_length));
  }
  return device::segment_bounds::of_rows(row_length, num_keys / row_length);
}

std::uint64_t most_offset(key_type type, std::uint64_t num_keys) {
  constexpr std::uint64_t most_signed = std::numeric_limits<std::int32_t>::max();
  return type == key_type::i32 ? std::min(num_keys, most_signed) : num_keys;
}

std::vector<large_segment> check_segments(const device::segment_bounds& bounds, std::uint64_t num_keys,
                                          std::uint64_t most_small) {
  found_segments found;
  base::for_blocks(bounds.num_segments(), [&](std::uint64_t begin, std::uint64_t end) {
    look_at_block(bounds, {begin, end}, most_small, found);
  });
  if (found.first_wrong < bounds.num_segments()) {
    throw invalid_argument(fmt::format("offsets decrease at segment {}: from {} to {}", found.first_wrong,
                                       bounds.at(found.first_wrong), bounds.at(found.first_wrong + 1)));
  }
  if (const std::uint64_t end = bounds.at(bounds.num_segments()); end > num_keys) {
    throw invalid_argument(fmt::format("offsets end at {}, but there are {} keys", end, num_keys));
  }
  std::ranges::sort(found.large, {}, &large_segment::begin);
  return std::move(found.large);
}

}  // namespace spansort::sorting
