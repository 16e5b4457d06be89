// SPDX-License-Identifier: Apache-2.0
// This header says who may read and write a file, so that a new file in its place can be given the same: owner, group,
// permission bits, access control lists, security labels and the user's own attributes. What cannot be kept is
// narrowed, never widened: nobody may read the new file who could not read the old one, but for its new owner, who
// wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spansort::files {

struct file_attribute {
  std::string name;
  std::string value;
};

struct file_access {
  unsigned mode = 0;  ///< permission bits alone
  unsigned user = 0;
  unsigned group = 0;
  std::string acl;                         ///< of POSIX, as the kernel has it; empty: the bits say all
  std::vector<file_attribute> attributes;  ///< the user's, labels, and the lists of NFSv4
};

/// Returns nothing where there is no regular file of this path, whose last name is not followed. Throws io_error for
/// what cannot be read, naming `name`.
[[nodiscard]] std::optional<file_access> access_of(const std::string& path, const std::string& name);

/// Gives an open file that belongs to this process what `wanted` says. Other users can open it by the end of the call
/// alone. Throws io_error naming `name`.
void give_access(int fd, const file_access& wanted, const std::string& name);

/// Returns the bits that a new file of `directory` is made with, for one that was made without any for others.
[[nodiscard]] unsigned new_file_mode(const std::string& directory);

/// Returns which of user and group this process cannot give to a file: they become its own.
struct kept_ownership {
  bool user = true;
  bool group = true;
};
[[nodiscard]] kept_ownership kept_of(const file_access& wanted);

/// Returns `access` for a file that gets another group: what the old group and others both may, for either.
[[nodiscard]] file_access narrowed_for_another_group(file_access access);

}  // namespace spansort::files
