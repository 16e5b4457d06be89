// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "files/io/output_target.hpp"
#include "spansort/files.hpp"

namespace spansort {

std::string replacement_note(const std::string& output) {
  const files::output_target target = files::find_output(output);
  if (!target.replaced) return "";
  const files::kept_ownership kept = files::kept_of(*target.replaced);
  std::string note;
  if (!kept.user) {
    note = fmt::format("it belongs to user {} now and will belong to user {}", target.replaced->user, ::geteuid());
  }
  if (!kept.group) {
    note += fmt::format(
        "{}its group {} cannot be kept: group {} and others get the permissions that group {} and others both had",
        note.empty() ? "" : "; ", target.replaced->group, ::getegid(), target.replaced->group);
  }
  return note.empty() ? note : fmt::format("{}: {}", target.name, note);
}

}  // namespace spansort
