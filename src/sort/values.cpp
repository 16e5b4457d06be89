// SPDX-License-Identifier: Apache-2.0
#include "sort/values.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/for_blocks.hpp"
#include "base/tasks_or_alone.hpp"

namespace spansort::sorting {
namespace {

/// Calls body(begin, end) for parts of [0, count), some of them twice where memory ends.
template <class Body>
void for_ranges(std::uint64_t count, std::uint64_t element_bytes, const Body& body) {
  const std::uint64_t grain = 2 * base::block_elements(element_bytes);
  if (count <= grain) return body(0, count);
  // A group of its own: when the caller's tasks are cancelled, this work must not be left half done.
  tbb::task_group_context own(tbb::task_group_context::isolated);
  base::in_tasks_or_alone(
      [&] {
        tbb::parallel_for(
            tbb::blocked_range<std::uint64_t>(0, count, grain),
            [&](const tbb::blocked_range<std::uint64_t>& range) { body(range.begin(), range.end()); }, own);
      },
      [&] { body(0, count); });
}

char* at(void* base, std::uint64_t offset) { return static_cast<char*>(base) + offset; }
const char* at(const void* base, std::uint64_t offset) { return static_cast<const char*>(base) + offset; }

}  // namespace

unsigned travelling_width(std::uint64_t value_bytes) noexcept {
  if (value_bytes <= 4) return 4;
  return value_bytes <= 8 ? 8 : 16;
}

void write_indices(void* indices, std::uint64_t index_bytes, std::uint64_t count, std::uint64_t first) {
  const auto write = [&]<class Index>(Index) {
    for_ranges(count, sizeof(Index), [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const auto index = static_cast<Index>(first + i);
        std::memcpy(at(indices, i * sizeof(Index)), &index, sizeof(Index));  // any alignment
      }
    });
  };
  if (index_bytes == sizeof(std::uint32_t)) return write(std::uint32_t{});
  write(std::uint64_t{});
}

void repack(void* destination, std::uint64_t destination_bytes, const void* source, std::uint64_t source_bytes,
            std::uint64_t count) {
  const std::uint64_t bytes = std::min(destination_bytes, source_bytes);
  for_ranges(count, bytes, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::memcpy(at(destination, i * destination_bytes), at(source, i * source_bytes), bytes);
    }
  });
}

void gather(void* destination, const void* source, const std::uint64_t* indices, std::uint64_t count,
            std::uint64_t element_bytes) {
  for_ranges(count, element_bytes, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::memcpy(at(destination, i * element_bytes), at(source, indices[i] * element_bytes), element_bytes);
    }
  });
}

}  // namespace spansort::sorting
