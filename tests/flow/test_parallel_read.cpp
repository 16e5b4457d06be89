// SPDX-License-Identifier: Apache-2.0
// Files read by several threads: every byte in its place, ends and failures where they are, prefixes without a gap.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "files/element_case.hpp"
#include "files/file_folder.hpp"
#include "files/io/input.hpp"
#include "files/io/parallel_read.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::size_t num_bytes = (std::size_t{13} << 20) + 12'345;  // seven blocks, the last of them short

class ParallelRead : public testing::Test {
 protected:
  ParallelRead() : bytes_(test::random_bytes(num_bytes, 1)), path_(folder_.write("x", bytes_)) {}

  test::file_folder folder_;
  std::vector<std::byte> bytes_;
  std::string path_;
};

TEST_F(ParallelRead, BytesAreInTheirPlacesAndPrefixesGrow) {
  const file_descriptor file = open_file(path_.c_str(), O_RDONLY);
  std::vector<std::byte> into(num_bytes - 77);
  std::uint64_t last = 0;
  const transfer_result done = read_by_threads(file.get(), into, 77, [&](std::uint64_t prefix) {
    EXPECT_GE(prefix, last);
    EXPECT_TRUE(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(prefix), bytes_.begin() + 77));
    last = prefix;
  });
  EXPECT_EQ(done.error_code, 0);
  EXPECT_EQ(done.num_bytes, into.size());
  EXPECT_EQ(last, into.size());
  EXPECT_TRUE(std::equal(into.begin(), into.end(), bytes_.begin() + 77));
}

TEST_F(ParallelRead, EndsWhereTheFileEnds) {
  const file_descriptor file = open_file(path_.c_str(), O_RDONLY);
  std::vector<std::byte> into(num_bytes + (std::size_t{9} << 20));
  const transfer_result done = read_by_threads(file.get(), into, 0);
  EXPECT_EQ(done.error_code, 0);
  EXPECT_EQ(done.num_bytes, num_bytes);
}

TEST_F(ParallelRead, TellsWhatFailed) {
  const file_descriptor file = open_file(path_.c_str(), O_WRONLY);
  std::vector<std::byte> into(num_bytes);
  const transfer_result done = read_by_threads(file.get(), into, 0);
  EXPECT_EQ(done.error_code, EBADF);
  EXPECT_EQ(done.num_bytes, 0u);
}

TEST_F(ParallelRead, ThePrefixCallbackMayStopIt) {
  const file_descriptor file = open_file(path_.c_str(), O_RDONLY);
  std::vector<std::byte> into(num_bytes);
  EXPECT_THROW(
      static_cast<void>(read_by_threads(file.get(), into, 0, [](std::uint64_t) { throw cancelled("enough"); })),
      cancelled);
}

TEST_F(ParallelRead, InputsGoOnWhereItEnded) {
  input_file input(path_);
  std::vector<std::byte> small(100);
  std::vector<std::byte> large(std::size_t{10} << 20);
  std::vector<std::byte> rest(num_bytes);
  EXPECT_EQ(input.read(small), small.size());
  std::uint64_t told = 0;
  EXPECT_EQ(input.read(large,
                       [&](std::uint64_t done, std::uint64_t total) {
                         told = done;
                         EXPECT_EQ(total, num_bytes);
                       }),
            large.size());
  EXPECT_EQ(told, small.size() + large.size());
  EXPECT_EQ(input.read(rest), num_bytes - small.size() - large.size());
  input.require_unchanged();
  EXPECT_TRUE(std::equal(large.begin(), large.end(), bytes_.begin() + 100));
  EXPECT_EQ(rest.front(), bytes_[small.size() + large.size()]);
}

TEST_F(ParallelRead, AFileThatHasBecomeShorterIsNoticed) {
  input_file input(path_);
  ASSERT_EQ(::truncate(path_.c_str(), std::int64_t{9} << 20), 0);
  std::vector<std::byte> into(num_bytes);
  EXPECT_EQ(input.read(into), std::size_t{9} << 20);
  EXPECT_THROW(input.require_unchanged(), bad_input);
}

}  // namespace
}  // namespace spansort::files
