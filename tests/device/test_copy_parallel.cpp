// SPDX-License-Identifier: Apache-2.0
// Copies of sizes around the blocks that threads take, from and to any alignment: the bytes are the same, and those
// around them are left alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "device/copy_parallel.hpp"
#include "device/streaming.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::device {
namespace {

using test::guarded_array;

constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;

/// Every eighth of a line, and odd places at both ends of one.
std::vector<std::uint64_t> misalignments(std::uint64_t size_bytes) {
  if (test::is_small_scale() && size_bytes >= block_bytes - 1) return {0, 1, 24};
  return {0, 1, 8, 15, 16, 24, 33, 63};
}

std::vector<std::byte> random_bytes(std::uint64_t size_bytes) {
  std::mt19937_64 random(test::seed_for(size_bytes));
  std::vector<std::byte> bytes(size_bytes);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

void copy_past_caches_when_large(void* to, const void* from, std::uint64_t size_bytes) {
  copy_parallel(to, from, size_bytes);
}
void copy_into_caches(void* to, const void* from, std::uint64_t size_bytes) {
  copy_parallel(to, from, size_bytes, past_caches::never);
}

/// Calls copy(to, from, size) for all alignments of both.
template <class Copy>
void expect_copies(std::uint64_t size_bytes, const Copy& copy) {
  const std::vector<std::byte> contents = random_bytes(size_bytes);
  for (const std::uint64_t from_misalignment : misalignments(size_bytes)) {
    const guarded_array from(contents, from_misalignment);
    for (const std::uint64_t to_misalignment : misalignments(size_bytes)) {
      guarded_array to(size_bytes, to_misalignment);
      copy(to.data(), from.bytes().data(), size_bytes);
      const bool is_same = std::ranges::equal(to.bytes(), contents);
      EXPECT_TRUE(is_same) << size_bytes << " bytes, " << from_misalignment << " to " << to_misalignment;
      EXPECT_EQ(to.corruption(), "") << size_bytes << " bytes, " << from_misalignment << " to " << to_misalignment;
    }
  }
}

TEST(copy_parallel_test, SmallSizesOfAnyAlignment) {
  for (const std::uint64_t size : {0, 1, 3, 15, 16, 17, 63, 64, 65, 127, 129, 4095, 4097}) {
    expect_copies(size, copy_past_caches_when_large);
    expect_copies(size, copy_into_caches);
  }
}

TEST(copy_parallel_test, SeveralBlocksOfAnyAlignment) {
  for (const std::uint64_t size : {block_bytes - 1, block_bytes, block_bytes + 1, 2 * block_bytes + 77}) {
    expect_copies(size, copy_past_caches_when_large);
    expect_copies(size, copy_into_caches);
  }
}

TEST(copy_parallel_test, SizesThatAreWrittenPastTheCaches) {
  for (const std::uint64_t size : {4 * block_bytes - 1, 4 * block_bytes, 5 * block_bytes + 13}) {
    expect_copies(size, copy_past_caches_when_large);
    expect_copies(size, copy_into_caches);
  }
}

TEST(copy_parallel_test, StreamingOfAnySizeAndAlignment) {
  for (std::uint64_t size = 0; size < 260; ++size) {
    expect_copies(size, [](void* to, const void* from, std::uint64_t size_bytes) {
      write_sequence(to, from, size_bytes, true);
      finish_streaming();
    });
  }
}

TEST(copy_parallel_test, NothingFromNowhere) { copy_parallel(nullptr, nullptr, 0); }

}  // namespace
}  // namespace spansort::device
