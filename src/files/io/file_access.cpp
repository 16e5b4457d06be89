// SPDX-License-Identifier: Apache-2.0
#include "files/io/file_access.hpp"

#include <fmt/format.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "files/io/file_descriptor.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr const char* acl_name = "system.posix_acl_access";
constexpr const char* default_acl_name = "system.posix_acl_default";

[[noreturn]] void throw_cannot(const char* action, std::string_view what, const std::string& name, int code) {
  throw io_error(fmt::format("cannot {} {} of {}: {}", action, what, name, error_text(code)), code);
}

bool is_absent(int code) { return code == ENODATA || code == EOPNOTSUPP || code == ENOSYS; }

/// Calls `read(buffer, size)` with as much room as it says it needs. Nothing when that fails, for the reason in errno.
template <typename Read>
std::optional<std::string> read_whole(Read&& read) {
  std::string text;
  while (true) {
    const ssize_t needed = read(nullptr, 0);
    if (needed < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(needed));
    if (needed == 0) return text;
    const ssize_t got = read(text.data(), text.size());
    // It has grown meanwhile.
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(got));
    return text;
  }
}

std::optional<std::string> attribute_of(const std::string& path, const char* name) {
  return read_whole([&](char* to, std::size_t size) { return ::lgetxattr(path.c_str(), name, to, size); });
}

// The others belong to the old content (capabilities, signatures) or to the file system.
bool is_kept(std::string_view name) {
  return name.starts_with("user.") || name == "security.selinux" || name == "security.SMACK64" ||
         name == "system.nfs4_acl";
}

std::vector<file_attribute> attributes_of(const std::string& path, const std::string& file) {
  const std::optional<std::string> names =
      read_whole([&](char* to, std::size_t size) { return ::llistxattr(path.c_str(), to, size); });
  if (!names && is_absent(errno)) return {};
  if (!names) throw_cannot("read", "the attributes", file, errno);
  std::vector<file_attribute> attributes;
  for (std::size_t at = 0; at < names->size();) {
    const std::string name = names->c_str() + at;
    at += name.size() + 1;
    if (!is_kept(name)) continue;
    std::optional<std::string> value = attribute_of(path, name.c_str());
    if (!value && errno == ENODATA) continue;
    if (!value) throw_cannot("read", name, file, errno);
    attributes.push_back({name, std::move(*value)});
  }
  return attributes;
}

// ---- access control lists of POSIX: a header and entries, in little-endian as this machine is

std::vector<posix_acl_xattr_entry> entries_of(const std::string& acl) {
  std::vector<posix_acl_xattr_entry> entries;
  if (acl.size() < sizeof(posix_acl_xattr_header) + sizeof(posix_acl_xattr_entry)) return entries;
  entries.resize((acl.size() - sizeof(posix_acl_xattr_header)) / sizeof(posix_acl_xattr_entry));
  std::memcpy(entries.data(), acl.data() + sizeof(posix_acl_xattr_header), entries.size() * sizeof entries[0]);
  return entries;
}

void set_entries(std::string& acl, const std::vector<posix_acl_xattr_entry>& entries) {
  if (entries.empty()) return;  // there may be no header either
  std::memcpy(acl.data() + sizeof(posix_acl_xattr_header), entries.data(), entries.size() * sizeof entries[0]);
}

constexpr unsigned all_rights = 7;

unsigned rights_of(const std::vector<posix_acl_xattr_entry>& entries, unsigned tag, unsigned otherwise) {
  for (const posix_acl_xattr_entry& each : entries) {
    if (each.e_tag == tag) return each.e_perm;
  }
  return otherwise;
}

/// Returns permission bits in the places of user, group and others.
unsigned bits(unsigned user, unsigned group, unsigned others) { return user << 6 | group << 3 | others; }

// Read, not set and restored: umask() would change it for all threads meanwhile.
unsigned current_umask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Umask:")) continue;
    unsigned mask = 0;
    const char* const begin = line.data() + std::min(line.find_first_of("01234567"), line.size());
    if (std::from_chars(begin, line.data() + line.size(), mask, 8).ec == std::errc{}) return mask;
  }
  return 077;
}

bool has_group(unsigned group) {
  if (group == ::getegid()) return true;
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  const int got = ::getgroups(static_cast<int>(groups.size()), groups.data());
  return std::find(groups.begin(), groups.begin() + std::max(got, 0), group) != groups.begin() + std::max(got, 0);
}

/// Returns whether the file has the group that is wanted: members of a group can give it, the superuser any, and the
/// owner, too.
bool give_ownership(int fd, const file_access& wanted, const std::string& name) {
  if (::fchown(fd, wanted.user, wanted.group) == 0) return true;
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_cannot("read", "the group", name, errno);
  return status.st_gid == wanted.group || ::fchown(fd, static_cast<uid_t>(-1), wanted.group) == 0;
}

/// Attributes that the new file has of itself already, labels above all, need no permission to set.
void give_attribute(int fd, const file_attribute& wanted, const std::string& name) {
  const std::optional<std::string> there =
      read_whole([&](char* to, std::size_t size) { return ::fgetxattr(fd, wanted.name.c_str(), to, size); });
  if (there && *there == wanted.value) return;
  if (::fsetxattr(fd, wanted.name.c_str(), wanted.value.data(), wanted.value.size(), 0) == 0) return;
  throw_cannot("keep", wanted.name, name, errno);
}

}  // namespace

std::optional<file_access> access_of(const std::string& path, const std::string& name) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_cannot("read", "the permissions", name, errno);
  }
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  file_access access{.mode = status.st_mode & 0777u,
                     .user = status.st_uid,
                     .group = status.st_gid,
                     .acl = {},
                     .attributes = attributes_of(path, name)};
  std::optional<std::string> acl = attribute_of(path, acl_name);
  if (!acl && !is_absent(errno)) throw_cannot("read", "the access control list", name, errno);
  if (acl) access.acl = std::move(*acl);
  return access;
}

file_access narrowed_for_another_group(file_access access) {
  if (access.acl.empty()) {
    const unsigned both = access.mode >> 3 & access.mode & all_rights;
    access.mode = bits(access.mode >> 6 & all_rights, both, both);
    return access;
  }
  // Who is in the new group and in one that is named may have been refused by that: it gets no more than either.
  std::vector<posix_acl_xattr_entry> entries = entries_of(access.acl);
  const unsigned mask = rights_of(entries, ACL_MASK, all_rights);
  const unsigned others = rights_of(entries, ACL_OTHER, 0) & rights_of(entries, ACL_GROUP_OBJ, 0) & mask;
  unsigned group = others;
  for (const posix_acl_xattr_entry& each : entries) {
    if (each.e_tag == ACL_GROUP) group &= each.e_perm;
  }
  for (posix_acl_xattr_entry& each : entries) {
    if (each.e_tag == ACL_GROUP_OBJ) each.e_perm = static_cast<__le16>(group);
    if (each.e_tag == ACL_OTHER) each.e_perm = static_cast<__le16>(others);
  }
  set_entries(access.acl, entries);
  return access;
}

void give_access(int fd, const file_access& wanted, const std::string& name) {
  const file_access access = give_ownership(fd, wanted, name) ? wanted : narrowed_for_another_group(wanted);
  for (const file_attribute& each : access.attributes) give_attribute(fd, each, name);
  if (!access.acl.empty()) {
    // This sets the permission bits, too.
    if (::fsetxattr(fd, acl_name, access.acl.data(), access.acl.size(), 0) == 0) return;
    throw_cannot("keep", "the access control list", name, errno);
  }
  // The folder may have given it a list.
  if (::fremovexattr(fd, acl_name) != 0 && !is_absent(errno)) {
    throw_cannot("keep", "the access control list", name, errno);
  }
  if (::fchmod(fd, access.mode) != 0) throw_cannot("set", "the permissions", name, errno);
}

unsigned new_file_mode(const std::string& directory) {
  constexpr unsigned asked = 0666;
  const std::optional<std::string> acl = attribute_of(directory, default_acl_name);
  if (!acl || acl->empty()) return asked & ~current_umask();
  const std::vector<posix_acl_xattr_entry> entries = entries_of(*acl);
  const unsigned group = rights_of(entries, ACL_GROUP_OBJ, 0);
  return asked & bits(rights_of(entries, ACL_USER_OBJ, 0), rights_of(entries, ACL_MASK, group),
                      rights_of(entries, ACL_OTHER, 0));
}

kept_ownership kept_of(const file_access& wanted) {
  if (::geteuid() == 0) return {};
  return {.user = wanted.user == ::geteuid(), .group = has_group(wanted.group)};
}

}  // namespace spansort::files
