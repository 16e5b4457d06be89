// SPDX-License-Identifier: Apache-2.0
// These tests are about who may read and write an output that replaces a file, where the system refuses to say or to
// set it, and without the superuser's rights: errors have their number and name the output, and the old output stays.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "files/failing_calls_test.hpp"
#include "files/io/atomic_file.hpp"
#include "files/io/file_access.hpp"
#include "files/io/file_descriptor.hpp"
#include "files/io/output_target.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

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

TEST_F(FailingCalls, AnAttributeOfTheOutputIsReplaced) {
  if (!set_attribute(y_)) GTEST_SKIP() << "the file system has no attributes of users";
  file_access wanted = *access_of(y_, y_);
  for (file_attribute& each : wanted.attributes) {
    if (each.name == "user.origin") each.value = "station 8";
  }
  give_access(open_file(y_.c_str(), O_WRONLY).get(), wanted, "y");
  const file_access given = *access_of(y_, y_);
  ASSERT_EQ(given.attributes.size(), wanted.attributes.size());
  const auto origin = std::ranges::find(given.attributes, "user.origin", &file_attribute::name);
  ASSERT_NE(origin, given.attributes.end());
  EXPECT_EQ(origin->value, "station 8");
}

TEST_F(FailingCalls, AttributesOfTheSystemAndFilesThatAreNoneAreNotKept) {
  EXPECT_FALSE(access_of("/dev/null", "x"));
  EXPECT_FALSE(access_of(folder_.path("missing"), "x"));
  const std::size_t num_before = access_of(y_, y_)->attributes.size();
  if (::setxattr(y_.c_str(), "trusted.origin", "station 7", 9, 0) != 0) return;  // only the superuser can
  EXPECT_EQ(access_of(y_, y_)->attributes.size(), num_before);
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
  if (::geteuid() != 0) return;  // only the superuser gives any group
  const failing_call_scope refuse(file_call::fchown, EPERM);
  give_access(file.get(), wanted, "y");
  EXPECT_EQ(mode(), 0662u) << "the group alone can be given";
  EXPECT_EQ(access_of(y_, y_)->group, wanted.group);
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
    groups_.resize(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
    groups_.resize(
        static_cast<std::size_t>(std::max(0, ::getgroups(static_cast<int>(groups_.size()), groups_.data()))));
    is_other_ = ::geteuid() == 0 && ::setgroups(1, &member_of) == 0 && ::setegid(nobody) == 0 && ::seteuid(nobody) == 0;
  }
  ~as_nobody() {
    if (::seteuid(::getuid()) != 0 || ::setegid(::getgid()) != 0 ||
        (::geteuid() == 0 && ::setgroups(groups_.size(), groups_.data()) != 0)) {
      ADD_FAILURE() << "the tests' own rights are lost";
    }
  }
  as_nobody(const as_nobody&) = delete;
  as_nobody& operator=(const as_nobody&) = delete;
  [[nodiscard]] explicit operator bool() const noexcept { return is_other_; }

  static constexpr unsigned nobody = 65534;
  static constexpr gid_t member_of = 4321;

 private:
  std::vector<gid_t> groups_;
  bool is_other_ = false;
};

class WithoutRights : public FailingCalls {
 protected:
  void SetUp() override {
    const as_nobody other;
    // A superuser of a name space may not become everybody, and others may not enter any folder for temporary files.
    if (!other) GTEST_SKIP() << "this process cannot become somebody else's";
    const std::string above = std::filesystem::path(folder()).parent_path();
    if (::faccessat(AT_FDCWD, above.c_str(), X_OK, AT_EACCESS) != 0) GTEST_SKIP() << "nobody can enter " << above;
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
  ASSERT_EQ(::chown(folder().c_str(), as_nobody::nobody, as_nobody::nobody), 0);
  const as_nobody owner;
  ASSERT_TRUE(owner);
  EXPECT_TRUE(find_output(y_).replaced) << "the folder's owner may replace it";
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

}  // namespace
}  // namespace spansort::files
