// SPDX-License-Identifier: Apache-2.0
// Parts of one file, written past the page cache or by it: every byte is where it belongs, wherever parts begin and
// however the bytes lie in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "files/file_folder.hpp"
#include "files/io/file_part.hpp"
#include "files/io/output_target.hpp"

namespace spansort::files {
namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Writes bytes in pieces, of which each begins so far behind a page of memory as it does in the file, plus `shift`.
void write_in_pieces(file_part& part, std::uint64_t offset, std::span<const std::byte> bytes, std::size_t piece,
                     std::size_t shift) {
  constexpr std::size_t page = 4096;
  std::vector<std::byte> memory(std::min(piece, bytes.size()) + 3 * page);
  while (!bytes.empty()) {
    const std::size_t count = std::min(piece, bytes.size());
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    std::byte* const to = memory.data() + (page - address % page) + (offset + shift) % page;
    std::ranges::copy(bytes.first(count), to);
    part.write({to, count});
    offset += count;
    bytes = bytes.subspan(count);
  }
}

TEST(file_part, EveryByteIsAtItsPlace) {
  const test::file_folder folder;
  const std::vector<std::byte> whole = random_bytes(200'000);
  const output_target target = find_output(folder.path("y"));
  for (const std::size_t shift : {0, 8, 4095}) {
    for (const std::size_t piece : {1000, 4096, 50'000, 200'000}) {
      for (const bool is_direct : {true, false}) {
        const std::string path = folder.write("x", {});
        const std::size_t ends[] = {0, 128, 128, 5000, 8192, 8200, 123'456, whole.size()};
        for (std::size_t i = 1; i < std::size(ends); ++i) {
          const auto bytes = std::span(whole).subspan(ends[i - 1], ends[i] - ends[i - 1]);
          file_part part({path, target, whole.size(), false}, ends[i - 1]);
          if (is_direct) part.pass_by_page_cache(bytes.size(), 16'384);
          write_in_pieces(part, ends[i - 1], bytes, piece, shift);
          part.finish();
        }
        EXPECT_EQ(folder.read("x"), whole) << shift << ", " << piece << ", " << is_direct;
      }
    }
  }
}

}  // namespace
}  // namespace spansort::files
