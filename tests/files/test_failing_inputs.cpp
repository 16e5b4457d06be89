// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail while inputs are opened and read, and what a descriptor does: every error has its
// number and says which file it is about; what can be done without is.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "files/failing_calls_test.hpp"
#include "files/io/file_descriptor.hpp"
#include "files/io/input.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

// ---- the input

TEST_F(FailingCalls, InputsThatCannotBeLookedAt) {
  {
    const failing_call_scope fail(file_call::fstat, EIO);
    expect_io_error([&] { const input_file file(y_); }, EIO, {"cannot read " + y_});
  }
  expect_io_error([&] { const input_file file(folder_.path("missing")); }, ENOENT,
                  {"cannot open " + folder_.path("missing")});
  std::byte all[3];
  for (const bool is_whole : {true, false}) {
    input_file file(y_);
    EXPECT_EQ(file.read(all), 3u);
    const failing_call_scope fail(file_call::fstat, EIO);
    const auto look = [&] { is_whole ? file.require_unchanged() : file.require_same_status(); };
    expect_io_error(look, EIO, {"cannot read " + y_});
    look();
  }
  input_file file(y_);
  const failing_call_scope fail(file_call::lseek, EIO);
  expect_io_error([&] { file.seek(1); }, EIO, {"cannot read " + y_});
  file.seek(1);
  EXPECT_EQ(file.read(all), 2u);
  EXPECT_EQ(static_cast<char>(all[0]), 'l');
}

TEST_F(FailingCalls, AFileSystemThatSaysNothingOfItselfHasTrueSizes) {
  const failing_call_scope fail(file_call::fstatfs, EIO);
  EXPECT_EQ(input_file(y_).size_bytes(), 3u);
  EXPECT_TRUE(failing_call_scope::has_failed());
  EXPECT_FALSE(input_file("/proc/self/status").size_bytes());
}

TEST_F(FailingCalls, LargeInputsThatCannotBeRead) {
  const std::string large(std::size_t{9} << 20, 'x');
  const std::string path = write("large", large);
  std::vector<std::byte> into(large.size());
  for (const unsigned nth : {1U, 2U}) {
    input_file file(path);
    const failing_call_scope fail(file_call::lseek, EIO, nth);
    expect_io_error([&] { static_cast<void>(file.read(into)); }, EIO, {"cannot read " + path});
  }
}

TEST_F(FailingCalls, LargeInputsAreReadByOneThreadWhereThereAreNoOthers) {
  std::string large(std::size_t{9} << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  std::string into(large.size(), ' ');
  input_file file(write("large", large));
  const failing_call_scope fail(file_call::pthread_create, EAGAIN, 1, true);
  EXPECT_EQ(file.read(std::as_writable_bytes(std::span(into))), large.size());
  EXPECT_TRUE(failing_call_scope::has_failed());
  EXPECT_TRUE(into == large);
}

TEST_F(FailingCalls, InputsThatChangeOrAreNone) {
  EXPECT_THROW(input_file{std::filesystem::path(y_).parent_path()}, bad_input);
  EXPECT_FALSE(input_file(write("empty", "")).size_bytes());
  const input_file file(y_);
  file.require_same_status();
  std::filesystem::resize_file(y_, 2);
  EXPECT_THROW(file.require_same_status(), bad_input);
}

TEST_F(FailingCalls, ATerminalEnds) {
  const file_descriptor master(::posix_openpt(O_RDWR | O_NOCTTY));
  if (!master.is_open() || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) {
    GTEST_SKIP() << "there are no terminals";
  }
  EXPECT_FALSE(input_file(::ptsname(master.get())).size_bytes());
}

TEST_F(FailingCalls, InputsThatNeverEnd) {
  for (const char* path : {"/dev/zero", "/dev/full"}) EXPECT_THROW(input_file{path}, bad_input);
  EXPECT_FALSE(input_file("/dev/null").size_bytes());
}

TEST_F(FailingCalls, AnInputWithoutANameIsStandardInput) {
  const file_descriptor file = open_file(y_.c_str(), O_RDONLY);
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  EXPECT_EQ(name_of_input(path), path);
  std::filesystem::remove(y_);
  EXPECT_EQ(name_of_input(path), "standard input");
  EXPECT_EQ(name_of_input("/proc/self/fd/none"), "/proc/self/fd/none");
  EXPECT_EQ(name_of_input("-"), "standard input");
}

// ---- descriptors

TEST(FileDescriptor, AnyChangeOfAStatusIsOne) {
  const struct stat before = [] {
    struct stat status {};
    status.st_nlink = 1;
    status.st_mtim = status.st_ctim = {7, 7};
    return status;
  }();
  const auto is_change = [&](const auto& change) {
    struct stat now = before;
    change(now);
    return !is_unchanged(before, now);
  };
  EXPECT_FALSE(is_change([](struct stat&) {}));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_dev; }));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_ino; }));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_size; }));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_mtim.tv_sec; }));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_mtim.tv_nsec; }));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_ctim.tv_sec; }));
  EXPECT_TRUE(is_change([](struct stat& now) { ++now.st_ctim.tv_nsec; }));
  EXPECT_FALSE(is_change([](struct stat& now) {
    --now.st_nlink;
    ++now.st_ctim.tv_sec;
  })) << "it has lost a name";
}

TEST(FileDescriptor, AssignedToItselfStaysOpen) {
  file_descriptor file = open_file("/dev/null", O_RDONLY);
  file_descriptor& same = file;
  file = std::move(same);
  EXPECT_TRUE(file.is_open());
  EXPECT_EQ(file.close(), 0);
  EXPECT_EQ(file.close(), 0) << "it is gone";
}

TEST(FileDescriptor, StreamsThatAreNotReadyAreWaitedFor) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const file_descriptor from(ends[0]);
  file_descriptor to(ends[1]);
  const std::string sent(std::size_t{1} << 20, 'x');  // more than a pipe holds
  std::string received(sent.size() + 1, ' ');
  int error_code = -1;
  {
    const std::jthread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the reader finds nothing at first
      error_code = write_fully(to.get(), bytes_of(sent)).error_code;
      to.reset();
    });
    const transfer_result got = read_fully(from.get(), std::as_writable_bytes(std::span(received)));
    EXPECT_EQ(got.error_code, 0);
    EXPECT_EQ(got.num_bytes, sent.size());
  }
  EXPECT_EQ(error_code, 0);
  EXPECT_TRUE(received == sent + ' ');
}

TEST(FileDescriptor, WritesToAFullDeviceAreErrors) {
  const file_descriptor full = open_file("/dev/full", O_WRONLY);
  EXPECT_EQ(write_fully(full.get(), bytes_of("new")).error_code, ENOSPC);
  EXPECT_EQ(read_fully(-1, {}).error_code, 0) << "nothing is asked of it";
}

}  // namespace
}  // namespace spansort::files
