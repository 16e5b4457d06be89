// SPDX-License-Identifier: Apache-2.0
#include "device/copy_parallel.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

#include "base/math.hpp"
#include "base/tasks_or_alone.hpp"
#include "device/streaming.hpp"

namespace spansort::device {
namespace {

/// What a thread takes at least.
constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;
/// Copies from this size on are written past the caches: several would not find room in them. The bound itself is not
/// measured; at 8 MiB, into ordinary memory, streaming reached 54 GB/s and plain stores 36 (8 threads of an H100's
/// host).
constexpr std::uint64_t streamed_bytes = std::uint64_t{1} << 20;

}  // namespace

void copy_parallel(void* to, const void* from, std::uint64_t size_bytes, past_caches write) {
  if (size_bytes == 0) return;
  const bool stream = write == past_caches::when_large && size_bytes >= streamed_bytes;
  const auto copy_blocks = [=](const tbb::blocked_range<std::uint64_t>& blocks) {
    const std::uint64_t begin = blocks.begin() * block_bytes;
    const std::uint64_t end = std::min(size_bytes, blocks.end() * block_bytes);
    write_sequence(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin, stream);
    if (stream) finish_streaming();
  };
  const tbb::blocked_range<std::uint64_t> all(0, base::ceil_div(size_bytes, block_bytes));
  if (all.size() == 1) return copy_blocks(all);
  // A group of its own: when the caller's tasks are cancelled, this work must not be left half done.
  tbb::task_group_context own(tbb::task_group_context::isolated);
  base::in_tasks_or_alone([&] { tbb::parallel_for(all, copy_blocks, own); }, [&] { copy_blocks(all); });
}

}  // namespace spansort::device
