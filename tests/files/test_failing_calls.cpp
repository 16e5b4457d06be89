// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail: every error has its number and says which file it is about, the old output stays, and
// nothing is left behind; what can be done without is.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "files/failing_calls_test.hpp"
#include "files/io/atomic_file.hpp"
#include "files/io/file_descriptor.hpp"
#include "files/io/file_part.hpp"
#include "files/io/output_target.hpp"
#include "files/io/write_behind.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

// ---- the file that appears as a whole

TEST_F(FailingCalls, NamesThatAreTakenAreFollowedByOthers) {
  std::vector<std::string> names;
  const auto remember = [&](const std::string& name) { names.push_back(name); };
  {
    atomic_file file(find_output(y_), 3, remember);
    file.write(bytes_of("new"));
    const failing_call_scope taken(file_call::linkat, EEXIST, 1, true);
    expect_io_error([&] { file.commit(); }, EEXIST, {"cannot write " + y_, "File exists"});
  }
  expect_old();
  EXPECT_GT(names.size(), 100u);
  EXPECT_EQ(names.back(), "");
  names.clear();
  atomic_file file(find_output(y_), 3, remember);
  file.write(bytes_of("new"));
  const failing_call_scope taken(file_call::linkat, EEXIST);
  file.commit();
  EXPECT_EQ(content("y"), "new");
  ASSERT_EQ(names.size(), 3u);
  EXPECT_NE(names[0], names[1]);
  EXPECT_EQ(names[2], "");
}

TEST_F(FailingCalls, NamesFromTheStartThatAreTakenAreFollowedByOthers) {
  std::vector<std::string> names;
  const auto open = [&] {
    const atomic_file file(
        find_output(y_), 3, [&](const std::string& name) { names.push_back(name); },
        atomic_file::naming::from_the_start);
    EXPECT_EQ(file.temporary_path(), names.back());
  };
  for (const int code : {EEXIST, EINTR}) {
    names.clear();
    const failing_call_scope fail(file_call::openat, code);
    open();
    ASSERT_EQ(names.size(), 3u);
    EXPECT_NE(names[0], names[1]);
  }
  for (const int code : {EEXIST, ENOSPC}) {
    names.clear();
    const failing_call_scope fail(file_call::openat, code, 1, true);
    expect_io_error(open, code, {"cannot write " + y_});
    EXPECT_EQ(names.size(), code == EEXIST ? 101u : 2u);
    EXPECT_EQ(names.back(), "");
  }
  expect_old();
}

TEST_F(FailingCalls, WithoutProcAFileHasANameFromTheStart) {
  const failing_call_scope fail(file_call::access, ENOENT, 1, true);
  atomic_file file(find_output(y_), 3);
  EXPECT_NE(file.temporary_path(), "");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(content("y"), "new");
  EXPECT_EQ(folder_.num_files(), 1u);
}

TEST_F(FailingCalls, FilesThatCannotBeClosedOrRenamedLeaveTheOldOne) {
  for (const file_call which : {file_call::close, file_call::renameat}) {
    atomic_file file(find_output(y_), 3);
    file.write(bytes_of("new"));
    const failing_call_scope fail(which, EIO);
    expect_io_error([&] { file.commit(); }, EIO,
                    {(which == file_call::close ? "cannot write " : "cannot replace ") + y_});
    EXPECT_EQ(content("y"), "old");
  }
  expect_old();
  atomic_file file(find_output(y_), 3);
  file.write(bytes_of("new"));
  const failing_call_scope interrupted(file_call::close, EINTR);
  file.commit();
  EXPECT_EQ(content("y"), "new") << "the file is closed all the same";
}

TEST_F(FailingCalls, OfTwoFilesTheSecondMayStayOld) {
  const std::string z = write("z", "old");
  atomic_file first(find_output(y_), 3);
  atomic_file second(find_output(z), 3);
  first.write(bytes_of("new"));
  second.write(bytes_of("new"));
  const failing_call_scope fail(file_call::renameat, EIO, 2);
  expect_io_error([&] { atomic_file::commit_together(first, second); }, EIO,
                  {"cannot replace " + z, y_ + " is new already, so that the two do not belong together"});
  EXPECT_EQ(content("y"), "new");
  EXPECT_EQ(content("z"), "old");
}

TEST_F(FailingCalls, ADiskThatFailsWhileAFileIsWrittenIsAnError) {
  const std::string large(std::size_t{9} << 20, 'x');
  {
    atomic_file file(find_output(y_), large.size());
    const failing_call_scope fail(file_call::sync_file_range, EIO);
    expect_io_error([&] { file.write(bytes_of(large)); }, EIO, {"cannot write " + y_});
  }
  expect_old();
}

TEST_F(FailingCalls, AFolderThatCannotBeSynced) {
  for (const int code : {EINVAL, EBADF, EIO}) {
    atomic_file file(find_output(write("y", "old")), 3);
    file.write(bytes_of("new"));
    const failing_call_scope fail(file_call::fsync, code, 2);
    if (code == EIO) {
      expect_io_error([&] { file.commit(); }, EIO,
                      {y_ + " is written and in place, but its directory cannot be synced"});
    } else {
      file.commit();
    }
    EXPECT_TRUE(failing_call_scope::has_failed());
    EXPECT_EQ(content("y"), "new");
  }
}

TEST_F(FailingCalls, ANewFileWithANameGetsItsPermissionsOrIsRemoved) {
  const std::string z = folder_.path("z");
  {
    atomic_file file(find_output(z), 3, {}, atomic_file::naming::from_the_start);
    file.write(bytes_of("new"));
    EXPECT_EQ(folder_.num_files(), 2u);
    const failing_call_scope fail(file_call::fchmod, EPERM);
    expect_io_error([&] { file.commit(); }, EPERM, {"cannot set permissions of " + z});
  }
  expect_old();
}

TEST_F(FailingCalls, ACallbackThatThrowsWhenTheFileIsRemovedIsNotHeard) {
  {
    const atomic_file file(
        find_output(y_), 3,
        [](const std::string& name) {
          if (name.empty()) throw std::runtime_error("unheard");
        },
        atomic_file::naming::from_the_start);
    EXPECT_EQ(folder_.num_files(), 2u);
  }
  expect_old();
}

TEST_F(FailingCalls, RoomInMemoryThatCannotBeTakenIsDoneWithout) {
  struct statfs system {};
  if (::statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "/dev/shm is no file system in memory";
  }
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written to";
  const std::string name = fmt::format("/dev/shm/spansort-refused-{}", ::getpid());
  for (const file_call which : {file_call::fstatfs, file_call::fallocate}) {
    atomic_file file(find_output(name), 64 << 20);
    const failing_call_scope fail(which, ENOSPC);
    EXPECT_FALSE(file.take_room());
    EXPECT_TRUE(failing_call_scope::has_failed());
    // Asked again it has the room, where nothing else fills a small /dev/shm meanwhile.
    const std::uint64_t needed = std::uint64_t{64} << 20;
    if (system.f_bavail * static_cast<std::uint64_t>(system.f_bsize) > 4 * needed) {
      EXPECT_TRUE(file.take_room());
    }
  }
  EXPECT_FALSE(std::filesystem::exists(name));
}

TEST_F(FailingCalls, AStreamIsNotWrittenOutOfOrder) {
  atomic_file file(find_output("/dev/null"), 3);
  file.write(bytes_of("new"));
  EXPECT_THROW(file.write_at(0, bytes_of("N")), invalid_argument);
  EXPECT_EQ(file.temporary_path(), "");
  file.commit();
}

/// While the scope lives this process opens no descriptor of this number or above.
class few_descriptors_scope {
 public:
  explicit few_descriptors_scope(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~few_descriptors_scope() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  few_descriptors_scope(const few_descriptors_scope&) = delete;
  few_descriptors_scope& operator=(const few_descriptors_scope&) = delete;

 private:
  rlimit before_{};
};

TEST_F(FailingCalls, StandardOutputNeedsADescriptor) {
  const output_target target = find_output("-");
  const few_descriptors_scope three(3);
  // The kernel calls a copy that may only have a number at the limit or above it an invalid argument.
  expect_io_error([&] { const atomic_file file(target, 3); }, EINVAL, {"cannot write standard output"});
}

// ---- the disk while it is written to

TEST_F(FailingCalls, WritesBehindTellWhatWillNotGoAway) {
  constexpr std::uint64_t window_bytes = std::uint64_t{8} << 20;
  const file_descriptor file = open_file(y_.c_str(), O_WRONLY);
  for (const int code : {EIO, ENOSPC, EDQUOT, ENOSYS, ESPIPE}) {
    const bool is_told = code == EIO || code == ENOSPC || code == EDQUOT;
    const failing_call_scope fail(file_call::sync_file_range, code);
    EXPECT_EQ(write_behind().advance(file.get(), window_bytes), is_told ? code : 0);
    EXPECT_TRUE(failing_call_scope::has_failed());
  }
  for (const int code : {EIO, EINTR, ENOSYS, EINVAL, ESPIPE, EOPNOTSUPP}) {
    write_behind behind;
    behind.drop_pages();
    // Four windows are between what the disk is told of and what is waited for.
    const failing_call_scope fail(file_call::sync_file_range, code, 6);
    EXPECT_EQ(behind.advance(file.get(), 5 * window_bytes), code == EIO || code == EINTR ? code : 0);
    EXPECT_TRUE(failing_call_scope::has_failed());
  }
  write_behind left;
  left.leave_to_system();
  const failing_call_scope fail(file_call::sync_file_range, EIO);
  EXPECT_EQ(left.advance(file.get(), 5 * window_bytes), 0);
  EXPECT_FALSE(failing_call_scope::has_failed());
}

TEST_F(FailingCalls, PartsOfAFileTellWhatTheDiskRefuses) {
  const output_target target = find_output(folder_.path("z"));
  const std::string piece(std::size_t{17} << 20, 'x');
  for (const int code : {EIO, ENOSPC, EDQUOT, ENOSYS}) {
    file_part part({y_, target, 2 * piece.size()}, 0);
    part.pass_by_page_cache(100, 4096);  // less than a page, so that the page cache is used all the same
    const failing_call_scope fail(file_call::sync_file_range, code);
    if (code == ENOSYS) {
      part.write(bytes_of(piece));
      part.finish();
      EXPECT_EQ(content("y"), piece);
    } else {
      expect_io_error([&] { part.write(bytes_of(piece)); }, code, {"cannot write " + target.name});
    }
    EXPECT_TRUE(failing_call_scope::has_failed());
  }
}

TEST_F(FailingCalls, PartsOfAFileThatCannotBeOpenedOrSynced) {
  const output_target target = find_output(folder_.path("z"));
  expect_io_error([&] { file_part({folder_.path("missing"), target, 9}, 0); }, ENOENT, {"cannot write " + target.name});
  {
    file_part part({y_, target, 3}, 0);
    part.write(bytes_of("new"));
    const failing_call_scope fail(file_call::fsync, EIO);
    expect_io_error([&] { part.finish(); }, EIO, {"cannot sync " + target.name});
  }
  file_part part({.path = y_, .target = target, .size_bytes = 3, .is_synced = false}, 0);
  part.write(bytes_of("new"));
  const failing_call_scope fail(file_call::fsync, EIO);
  part.finish();
  EXPECT_FALSE(failing_call_scope::has_failed()) << "nobody waits for the disk";
  EXPECT_EQ(content("y"), "new");
}

TEST_F(FailingCalls, PartsOfAFileInMemoryAreWrittenAsAll) {
  const std::string name = fmt::format("/dev/shm/spansort-part-{}", ::getpid());
  const file_descriptor made = open_file(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!made.is_open()) GTEST_SKIP() << "there is no /dev/shm";
  const output_target target = find_output(name);
  const std::string whole(10'000, 'x');
  file_part part({name, target, whole.size()}, 0);
  part.pass_by_page_cache(whole.size(), 8192);
  part.write(bytes_of(whole));
  const failing_call_scope fail(file_call::close, EIO);
  expect_io_error([&] { part.finish(); }, EIO, {"cannot write " + name});
  std::string found(whole.size(), ' ');
  EXPECT_EQ(read_fully_at(made.get(), std::as_writable_bytes(std::span(found)), 0).num_bytes, whole.size());
  EXPECT_EQ(found, whole);
  std::filesystem::remove(name);
}

// ---- where outputs go

TEST_F(FailingCalls, RoomThatIsNotKnownIsTaken) {
  const output_target target = find_output(y_);
  const failing_call_scope fail(file_call::statvfs, EIO, 1, true);
  require_free_space(target, ~std::uint64_t{0});
  EXPECT_EQ(write_failure_advice(target, ENOSPC, 0),
            fmt::format("; an unknown number are free in {}: free some space or choose another place for it",
                        target.directory));
}

TEST_F(FailingCalls, AdviceNamesTheBytesWhereTheyAreKnown) {
  const output_target file = find_output(y_);
  const output_target stream = find_output("/dev/null");
  EXPECT_EQ(write_failure_advice(file, EFBIG, 0), "; raise the limit on file size (ulimit -f)");
  EXPECT_EQ(write_failure_advice(file, EFBIG, 7), "; 7 bytes are needed: raise the limit on file size (ulimit -f)");
  EXPECT_EQ(write_failure_advice(file, EIO, 7), "");
  EXPECT_EQ(write_failure_advice(stream, EDQUOT, 7),
            "; 7 bytes are needed: free some space or choose another place for it");
  EXPECT_EQ(write_failure_advice(stream, ENOSPC, 0), "; free some space or choose another place for it");
  EXPECT_TRUE(write_failure_advice(file, EDQUOT, 7).starts_with("; 7 bytes are needed, "));
  require_free_space(stream, ~std::uint64_t{0});
}

TEST_F(FailingCalls, LinksAreFollowedAsFarAsTheKernelFollowsThem) {
  // The kernel counts links in the path of the folder, too.
  const std::filesystem::path folder = std::filesystem::canonical(y_).parent_path();
  std::filesystem::path last = "y";
  for (int i = 0; i < 41; ++i) {
    const std::string name = fmt::format("link{}", i);
    const std::filesystem::path target = i % 2 == 0 ? last : folder / last;  // links are relative and absolute
    ASSERT_EQ(::symlink(target.c_str(), (folder / name).c_str()), 0);
    last = name;
  }
  EXPECT_EQ(std::filesystem::path(find_output(folder / "link39").path).filename(), "y");
  expect_io_error([&] { static_cast<void>(find_output(folder / "link40")); }, ELOOP,
                  {"cannot write " + (folder / "link40").string()});
}

TEST_F(FailingCalls, WhatCannotBeAFileIsRefused) {
  expect_io_error([&] { static_cast<void>(find_output(y_ + "/z")); }, ENOTDIR, {"cannot write " + y_ + "/z"});
  expect_io_error([&] { static_cast<void>(find_output(folder_.path("z/"))); }, EISDIR, {"cannot write "});
  expect_io_error([&] { static_cast<void>(find_output(folder_.path("missing/z"))); }, ENOENT, {"cannot write "});
  const file_descriptor open = open_file(y_.c_str(), O_WRONLY);
  EXPECT_TRUE(find_output(fmt::format("/dev/fd/{}", open.get())).is_stream);
}

TEST(FindOutput, TheFolderOfANameAloneIsTheCurrentOne) {
  if (::access(".", W_OK) != 0) GTEST_SKIP() << "the current folder cannot be written to";
  EXPECT_EQ(find_output("spansort-no-file").directory, ".");
}

TEST(FindOutput, TheFolderOfANameBehindASlashIsTheRoot) {
  if (::access("/", W_OK) != 0) GTEST_SKIP() << "only the superuser may write there";
  EXPECT_EQ(find_output("/spansort-no-file").directory, "/");
}

}  // namespace
}  // namespace spansort::files
