// SPDX-License-Identifier: Apache-2.0
// Other programs of the command's folder, by which it is replaced.
#pragma once

#include <string>

namespace cli {

/// Why a program could not be started.
struct start_failure {
  std::string program;  ///< its path
  int code = 0;         ///< errno
};

/// Replaces this process by program `name` of the same folder. Returns only where that cannot be.
[[nodiscard]] start_failure replace_by_sibling(const std::string& name, char** argv);

}  // namespace cli
