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
  std::string progress = "auto";
};

/// The answer of a check beside its exit status.
enum class check_words {
  none,
  disorder,  ///< the first disorder, on standard error
  counts,    ///< and count, type, duplicates and checksum on standard output
};

/// Checks the file, with a progress bar unless there are to be no words. Returns the exit status.
int run_check(const check_arguments& arguments, check_words words);

}  // namespace cli
