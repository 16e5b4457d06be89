// SPDX-License-Identifier: Apache-2.0
#include "cli/sibling_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace cli {

start_failure replace_by_sibling(const std::string& name, char** argv) {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const std::string program = self.parent_path() / name;
  if (!failure) ::execv(program.c_str(), argv);
  return {program, failure ? failure.value() : errno};
}

}  // namespace cli
