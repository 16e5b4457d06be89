// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail: every error has its number and says which file it is about, the old output stays, and
// nothing is left behind; what can be done without is.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "files/failing_calls.hpp"
#include "files/file_folder.hpp"
#include "files/io/atomic_file.hpp"
#include "files/io/file_access.hpp"
#include "files/io/file_descriptor.hpp"
#include "files/io/file_part.hpp"
#include "files/io/input.hpp"
#include "files/io/output_target.hpp"
#include "files/io/write_behind.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

using test::failing_call_scope;
using test::file_call;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Expects of a call that it throws io_error with this number, whose text has all the words.
template <class Call>
void expect_io_error(const Call& call, int code, std::initializer_list<std::string> words) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown where " << *words.begin() << " was expected";
  } catch (const io_error& failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(failure.what()).find(word), std::string::npos) << failure.what() << ": no " << word;
    }
  }
}

class FailingCalls : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, std::string_view content) const {
    return folder_.write(name, bytes_of(content));
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    const std::vector<std::byte> bytes = folder_.read(name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Skips the rest of the test where the file system has no attributes of users.
  [[nodiscard]] bool set_attribute(const std::string& path) const {
    return ::setxattr(path.c_str(), "user.origin", "station 7", 9, 0) == 0;
  }
  void expect_old() const {
    EXPECT_EQ(content("y"), "old");
    EXPECT_EQ(folder_.num_files(), 1u);
  }

  test::file_folder folder_;
  std::string y_ = write("y", "old");
};

// ---- who may read and write what is replaced

TEST_F(FailingCalls, AccessThatCannotBeReadIsAnErrorBeforeTheWork) {
  const auto find = [&] { static_cast<void>(find_output(y_)); };
  {
    const failing_call_scope fail(file_call::lstat, EIO);
    expect_io_error(find, EIO, {"cannot read the permissions of " + y_});
  }
  {
    const failing_call_scope fail(file_call::llistxattr, EIO);
    expect_io_error(find, EIO, {"cannot read the attributes of " + y_});
  }
  {
    const failing_call_scope fail(file_call::lgetxattr, EACCES);
    expect_io_error(find, EACCES, {"cannot read the access control list of " + y_});
  }
}

TEST_F(FailingCalls, FileSystemsWithoutAttributesHaveNone) {
  for (const int code : {ENODATA, EOPNOTSUPP, ENOSYS}) {
    for (const file_call which : {file_call::llistxattr, file_call::lgetxattr}) {
      const failing_call_scope fail(which, code, 1, true);
      const output_target target = find_output(y_);
      ASSERT_TRUE(target.replaced);
      EXPECT_EQ(target.replaced->acl, "");
      EXPECT_TRUE(failing_call_scope::has_failed());
    }
  }
}

TEST_F(FailingCalls, AttributesThatComeAndGoWhileTheyAreRead) {
  if (!set_attribute(y_)) GTEST_SKIP() << "the file system has no attributes of users";
  const auto origins = [&] {
    std::vector<std::string> values;
    const file_access access = *access_of(y_, y_);
    for (const file_attribute& each : access.attributes) {
      if (each.name == "user.origin") values.push_back(each.value);
    }
    return values;
  };
  const std::vector<std::string> whole{"station 7"};
  ASSERT_EQ(origins(), whole);
  {
    const failing_call_scope fail(file_call::lgetxattr, ENODATA);
    EXPECT_EQ(origins(), std::vector<std::string>{}) << "it has been removed";
  }
  for (const file_call which : {file_call::llistxattr, file_call::lgetxattr}) {
    const failing_call_scope grown(which, ERANGE, 2);
    EXPECT_EQ(origins(), whole) << "read once more";
    EXPECT_TRUE(failing_call_scope::has_failed());
  }
  {
    const failing_call_scope fail(file_call::llistxattr, EIO, 2);
    expect_io_error(origins, EIO, {"cannot read the attributes of " + y_});
  }
  for (const unsigned nth : {1U, 2U}) {
    const failing_call_scope fail(file_call::lgetxattr, EIO, nth);
    expect_io_error(origins, EIO, {"cannot read user.origin of " + y_});
  }
}

TEST_F(FailingCalls, AccessThatCannotBeGivenLeavesTheOldFile) {
  const struct {
    file_call which;
    const char* words;
  } cases[] = {{file_call::fchmod, "cannot set the permissions of "},
               {file_call::fremovexattr, "cannot keep the access control list of "},
               {file_call::lstat, "cannot read the permissions of "}};
  for (const auto& each : cases) {
    atomic_file file(find_output(y_), 3);
    file.write(bytes_of("new"));
    const failing_call_scope fail(each.which, EIO);
    expect_io_error([&] { file.commit(); }, EIO, {each.words + y_});
    expect_old();
  }
}

TEST_F(FailingCalls, ListsThatAFileSystemDoesNotKnowNeedNotBeRemoved) {
  for (const int code : {ENODATA, EOPNOTSUPP, ENOSYS}) {
    const failing_call_scope fail(file_call::fremovexattr, code);
    atomic_file file(find_output(write("y", "old")), 3);
    file.write(bytes_of("new"));
    file.commit();
    EXPECT_TRUE(failing_call_scope::has_failed());
    EXPECT_EQ(content("y"), "new");
  }
}

TEST_F(FailingCalls, AttributesAreGivenWhereTheyAreNotThereYet) {
  if (!set_attribute(y_)) GTEST_SKIP() << "the file system has no attributes of users";
  const file_access wanted = *access_of(y_, y_);
  {
    atomic_file file(find_output(y_), 3);
    file.write(bytes_of("new"));
    const failing_call_scope fail(file_call::fsetxattr, EPERM);
    expect_io_error([&] { file.commit(); }, EPERM, {"cannot keep user.origin of " + y_});
    expect_old();
  }
  const file_descriptor same = open_file(y_.c_str(), O_WRONLY);
  const failing_call_scope fail(file_call::fsetxattr, EPERM, 1, true);
  give_access(same.get(), wanted, "y");
  EXPECT_FALSE(failing_call_scope::has_failed()) << "what is there already needs no permission";
}

/// Returns an access control list as the kernel has it, of (tag, rights).
std::string list_of(std::initializer_list<std::pair<unsigned, unsigned>> entries) {
  const posix_acl_xattr_header header{.a_version = POSIX_ACL_XATTR_VERSION};
  std::string list(reinterpret_cast<const char*>(&header), sizeof header);
  for (const auto& [tag, rights] : entries) {
    const posix_acl_xattr_entry entry{.e_tag = static_cast<__le16>(tag),
                                      .e_perm = static_cast<__le16>(rights),
                                      .e_id = static_cast<__le32>(ACL_UNDEFINED_ID)};
    list.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return list;
}

TEST_F(FailingCalls, AListThatCannotBeGivenIsAnError) {
  const file_descriptor file = open_file(y_.c_str(), O_WRONLY);
  file_access wanted = *access_of(y_, y_);
  wanted.acl = list_of({{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 4}, {ACL_OTHER, 0}});
  const failing_call_scope fail(file_call::fsetxattr, EOPNOTSUPP);
  expect_io_error([&] { give_access(file.get(), wanted, "the output"); }, EOPNOTSUPP,
                  {"cannot keep the access control list of the output"});
}

TEST_F(FailingCalls, AnotherGroupGetsWhatOthersMay) {
  const file_descriptor file = open_file(y_.c_str(), O_WRONLY);
  file_access wanted = *access_of(y_, y_);
  wanted.mode = 0662;
  const auto mode = [&] { return access_of(y_, y_)->mode; };
  {
    const failing_call_scope fail(file_call::fchown, EPERM, 1, true);
    give_access(file.get(), wanted, "y");
    EXPECT_EQ(mode(), 0662u) << "it has the group already";
    ++wanted.group;
    give_access(file.get(), wanted, "y");
    EXPECT_EQ(mode(), 0622u);
  }
  const failing_call_scope refuse(file_call::fchown, EPERM);
  const file_access before = *access_of(y_, y_);
  wanted.group = before.group;
  give_access(file.get(), wanted, "y");
  EXPECT_EQ(mode(), 0662u) << "the group alone can be given";
}

TEST(NarrowedAccess, OfBitsIsWhatGroupAndOthersBothMay) {
  for (const auto& [mode, narrowed] : {std::pair{0666U, 0666U}, {0662U, 0622U}, {0606U, 0600U}, {0751U, 0711U}}) {
    EXPECT_EQ(narrowed_for_another_group({.mode = mode, .user = 1, .group = 2, .acl = {}, .attributes = {}}).mode,
              narrowed);
  }
}

TEST(NarrowedAccess, OfListsLeavesNamedUsersAndGroupsTheirs) {
  const auto narrowed = [](const std::string& list) {
    return narrowed_for_another_group({.mode = 0660, .user = 1, .group = 2, .acl = list, .attributes = {}}).acl;
  };
  EXPECT_EQ(narrowed(list_of({{ACL_USER_OBJ, 6}, {ACL_USER, 6}, {ACL_GROUP_OBJ, 6}, {ACL_MASK, 6}, {ACL_OTHER, 4}})),
            list_of({{ACL_USER_OBJ, 6}, {ACL_USER, 6}, {ACL_GROUP_OBJ, 4}, {ACL_MASK, 6}, {ACL_OTHER, 4}}));
  EXPECT_EQ(narrowed(list_of({{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 6}, {ACL_GROUP, 2}, {ACL_MASK, 4}, {ACL_OTHER, 6}})),
            list_of({{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 0}, {ACL_GROUP, 2}, {ACL_MASK, 4}, {ACL_OTHER, 4}}));
  EXPECT_EQ(narrowed(list_of({{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 5}, {ACL_OTHER, 7}})),
            list_of({{ACL_USER_OBJ, 6}, {ACL_GROUP_OBJ, 5}, {ACL_OTHER, 5}}))
      << "there is no mask";
}

TEST(NarrowedAccess, OfAListWithoutEntriesHasNone) {
  for (const std::string& list : {std::string("\x02\0", 2), list_of({})}) {
    EXPECT_EQ(narrowed_for_another_group({.mode = 0660, .user = 1, .group = 2, .acl = list, .attributes = {}}).acl,
              list);
  }
}

// ---- without the superuser's rights

/// The process is somebody else's while this lives; only the superuser's can be.
class as_nobody {
 public:
  as_nobody() {
    is_other_ = ::geteuid() == 0 && ::setgroups(1, &member_of) == 0 && ::setegid(nobody) == 0 && ::seteuid(nobody) == 0;
  }
  ~as_nobody() {
    if (::seteuid(::getuid()) != 0 || ::setegid(::getgid()) != 0 || ::setgroups(0, nullptr) != 0) {
      ADD_FAILURE() << "the tests' own rights are lost";
    }
  }
  as_nobody(const as_nobody&) = delete;
  as_nobody& operator=(const as_nobody&) = delete;
  [[nodiscard]] explicit operator bool() const noexcept { return is_other_; }

  static constexpr unsigned nobody = 65534;
  static constexpr gid_t member_of = 4321;

 private:
  bool is_other_ = false;
};

class WithoutRights : public FailingCalls {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only the superuser can become somebody else";
  }
  [[nodiscard]] std::string folder() const { return std::filesystem::path(y_).parent_path(); }
};

TEST_F(WithoutRights, OwnersAndGroupsThatCanBeKept) {
  const auto kept = [](unsigned user, unsigned group) {
    return kept_of({.mode = 0, .user = user, .group = group, .acl = {}, .attributes = {}});
  };
  EXPECT_TRUE(kept(1, 1).user) << "by the superuser";
  EXPECT_TRUE(kept(1, 1).group);
  const as_nobody other;
  ASSERT_TRUE(other);
  EXPECT_TRUE(kept(other.nobody, 1).user);
  EXPECT_FALSE(kept(1, 1).user);
  EXPECT_TRUE(kept(1, other.nobody).group);
  EXPECT_TRUE(kept(1, other.member_of).group);
  EXPECT_FALSE(kept(1, 1).group);
}

TEST_F(WithoutRights, FilesAndFoldersThatMayNotBeWritten) {
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(y_.c_str(), 0644), 0);
  const as_nobody other;
  ASSERT_TRUE(other);
  expect_io_error([&] { static_cast<void>(find_output(y_)); }, EACCES, {"cannot write " + y_ + ": Permission denied"});
  expect_io_error([&] { static_cast<void>(find_output(folder_.path("z"))); }, EACCES,
                  {"directory " + folder(), "its new content is made there"});
}

TEST_F(WithoutRights, AFolderThatCannotBeListedCanBeWrittenTo) {
  ASSERT_EQ(::chmod(folder().c_str(), 0733), 0);
  ASSERT_EQ(::chmod(y_.c_str(), 0666), 0);
  for (const auto when : {atomic_file::naming::at_the_end, atomic_file::naming::from_the_start}) {
    const as_nobody other;
    ASSERT_TRUE(other);
    atomic_file file(find_output(y_), 3, {}, when);
    file.write(bytes_of("new"));
    file.commit();
  }
  EXPECT_EQ(content("y"), "new");
  EXPECT_EQ(folder_.num_files(), 1u);
}

TEST_F(WithoutRights, WhatOthersOwnInAStickyFolderIsRefused) {
  ASSERT_EQ(::chmod(folder().c_str(), 01777), 0);
  ASSERT_EQ(::chmod(y_.c_str(), 0666), 0);
  const std::string link = folder_.path("link");
  ASSERT_EQ(::symlink("z", link.c_str()), 0);
  const std::string own = write("own", "old");
  ASSERT_EQ(::chown(own.c_str(), as_nobody::nobody, as_nobody::nobody), 0);
  {
    const as_nobody other;
    ASSERT_TRUE(other);
    expect_io_error([&] { static_cast<void>(find_output(y_)); }, EPERM, {"belongs to another user", "sticky bit"});
    expect_io_error([&] { static_cast<void>(find_output(link)); }, EPERM, {"belongs to another user", "sticky bit"});
    EXPECT_TRUE(find_output(own).replaced);
  }
  expect_io_error([&] { static_cast<void>(find_output(own)); }, EPERM, {"belongs to another user"});
  ASSERT_EQ(::chmod(folder().c_str(), 01755), 0);
  EXPECT_TRUE(find_output(own).replaced) << "nobody else could have put it there";
}

TEST_F(WithoutRights, AGroupThatCannotBeReadIsAnError) {
  const std::string own = write("own", "old");
  ASSERT_EQ(::chown(own.c_str(), as_nobody::nobody, as_nobody::nobody), 0);
  const file_descriptor file = open_file(own.c_str(), O_WRONLY);
  file_access wanted = *access_of(own, own);
  wanted.user = 1;
  const as_nobody other;
  ASSERT_TRUE(other);
  const failing_call_scope fail(file_call::fstat, EIO);
  expect_io_error([&] { give_access(file.get(), wanted, "the output"); }, EIO, {"cannot read the group of the output"});
}

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
  const std::string name = fmt::format("/dev/shm/spansort-refused-{}", ::getpid());
  for (const file_call which : {file_call::fstatfs, file_call::fallocate}) {
    atomic_file file(find_output(name), 64 << 20);
    const failing_call_scope fail(which, ENOSPC);
    EXPECT_FALSE(file.take_room());
    EXPECT_TRUE(failing_call_scope::has_failed());
    EXPECT_TRUE(file.take_room()) << "asked again";
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

TEST_F(FailingCalls, StandardOutputNeedsADescriptor) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  const output_target target = find_output("-");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  // A descriptor above the limit is an invalid argument of the call, one at it too many files.
  try {
    const atomic_file file(target, 3);
    ADD_FAILURE() << "a descriptor above the limit";
  } catch (const io_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("cannot write standard output"), std::string::npos) << failure.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
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
  std::string last = "y";
  for (int i = 0; i < 41; ++i) {
    const std::string name = fmt::format("link{}", i);
    // Of both kinds, relative and absolute.
    ASSERT_EQ(::symlink((i % 2 == 0 ? last : folder_.path(last)).c_str(), folder_.path(name).c_str()), 0);
    last = name;
  }
  EXPECT_EQ(std::filesystem::path(find_output(folder_.path("link39")).path).filename(), "y");
  expect_io_error([&] { static_cast<void>(find_output(folder_.path("link40"))); }, ELOOP,
                  {"cannot write " + folder_.path("link40")});
}

TEST_F(FailingCalls, WhatCannotBeAFileIsRefused) {
  expect_io_error([&] { static_cast<void>(find_output(y_ + "/z")); }, ENOTDIR, {"cannot write " + y_ + "/z"});
  expect_io_error([&] { static_cast<void>(find_output(folder_.path("z/"))); }, EISDIR, {"cannot write "});
  expect_io_error([&] { static_cast<void>(find_output(folder_.path("missing/z"))); }, ENOENT, {"cannot write "});
  const file_descriptor open = open_file(y_.c_str(), O_WRONLY);
  EXPECT_TRUE(find_output(fmt::format("/dev/fd/{}", open.get())).is_stream);
  EXPECT_EQ(find_output("spansort-no-file").directory, ".");
}

TEST(FileDescriptor, AssignedToItselfStaysOpen) {
  file_descriptor file = open_file("/dev/null", O_RDONLY);
  file_descriptor& same = file;
  file = std::move(same);
  EXPECT_TRUE(file.is_open());
  EXPECT_EQ(file.close(), 0);
  EXPECT_EQ(file.close(), 0) << "it is gone";
}

TEST(FileDescriptor, WritesThatMoveNothingAreErrors) {
  const file_descriptor full = open_file("/dev/full", O_WRONLY);
  EXPECT_EQ(write_fully(full.get(), bytes_of("new")).error_code, ENOSPC);
  EXPECT_EQ(read_fully(-1, {}).error_code, 0) << "nothing is asked of it";
}

}  // namespace
}  // namespace spansort::files
