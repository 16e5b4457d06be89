// SPDX-License-Identifier: Apache-2.0
// The check of a file's order, shared by `check` and `sort -c`.
#pragma once

#include <string>

#include "cli/records.hpp"

namespace cli {

/// Flags as typed.
struct check_arguments {
  std::string input;
  std::string type;
  bool is_raw = false;
  record_arguments records = {};
  bool descending = false;
  bool unique = false;
  std::string threads;
};

/// Tells of the first disorder on standard error, and of count, type, duplicates and checksum on standard output if
/// asked. Returns the exit status.
int run_check(const check_arguments& arguments, bool prints_counts);

}  // namespace cli
