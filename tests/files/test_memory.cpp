// SPDX-License-Identifier: Apache-2.0
// These tests are of the memory that is there, and of files that ask for too much.
#include "files/io/memory.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/available_memory.hpp"
#include "base/byte_buffer.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

TEST(Memory, FieldsAreFoundByTheirWholeName) {
  constexpr std::string_view text = "MemTotal:  100 kB\nXMemAvailable: 1 kB\nMemAvailable:   40 kB\nBad: x kB\nLast: 7";
  EXPECT_EQ(base::field_bytes(text, "MemTotal", 1), 100u << 10);
  EXPECT_EQ(base::field_bytes(text, "MemAvailable", 1), 40u << 10);
  EXPECT_EQ(base::field_bytes(text, "Available", 1), 1u);
  EXPECT_EQ(base::field_bytes(text, "Bad", 1), 1u);
  EXPECT_EQ(base::field_bytes(text, "Last", 1), 7u << 10);
  EXPECT_EQ(base::field_bytes("", "Last", 1), 1u);
}

TEST(Memory, SomeIsAvailable) {
  EXPECT_GT(base::available_memory_bytes(), 0u);
  EXPECT_LT(base::available_memory_bytes(), std::numeric_limits<std::uint64_t>::max());
}

TEST(Memory, NeedsAreComparedWithTheLimitWithoutWrapping) {
  EXPECT_NO_THROW(require_memory("x", 100, {.key_bytes = 4, .workspace_bytes = 4, .limit_bytes = 800}));
  EXPECT_THROW(require_memory("x", 100, {.key_bytes = 4, .workspace_bytes = 4, .limit_bytes = 799}), out_of_memory);
  EXPECT_THROW(require_memory("x", std::uint64_t{1} << 61, {.key_bytes = 4, .workspace_bytes = 4}), out_of_memory);
  try {
    require_memory("x", std::uint64_t{1} << 50, {.key_bytes = 4});
    FAIL() << "four pebibytes cannot be there";
  } catch (const out_of_memory& failure) {
    EXPECT_EQ(failure.needed_bytes(), std::uint64_t{1} << 52);
    EXPECT_LT(failure.available_bytes(), failure.needed_bytes());
  }
}

TEST(ByteBuffer, GrowsAndShrinksKeepingItsBytes) {
  base::byte_buffer bytes(3);
  bytes.data()[2] = std::byte{7};
  for (const std::uint64_t size : {std::uint64_t{100}, std::uint64_t{10} << 20, std::uint64_t{3}}) {
    bytes.resize(size);
    EXPECT_EQ(bytes.size(), size);
    EXPECT_EQ(bytes.data()[2], std::byte{7});
  }
}

TEST(ByteBuffer, RefusesWhatCannotBe) {
  base::byte_buffer bytes(8);
  bytes.data()[0] = std::byte{1};
  EXPECT_THROW(bytes.resize(std::numeric_limits<std::uint64_t>::max()), out_of_memory);
  EXPECT_EQ(bytes.size(), 8u);
  EXPECT_EQ(bytes.data()[0], std::byte{1});
}

}  // namespace
}  // namespace spansort::files
