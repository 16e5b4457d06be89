// SPDX-License-Identifier: Apache-2.0
// Raw keys have no header, so that any file can be taken for them. This header refuses the files that are something
// else by their first bytes, and the names of outputs that promise another format than is written.
#pragma once

#include <string>

namespace cli {

/// A verb's knowledge of its raw files beside their names.
struct raw_policy {
  bool is_insisted = false;  ///< --raw: whatever the bytes or the name look like
  bool may_be_text = false;  ///< records of fixed width may be lines of text
};

/// Throws bad_input for what is no raw file by its first bytes: archives, compressed files, tables, text. A .npy file
/// passes, and so does what cannot be read, for the library's messages about it. "-" is looked at without being
/// consumed; this waits for its first bytes.
void require_raw_input(const std::string& path, const raw_policy& policy);

/// Throws invalid_argument for a name such as out.csv, which would hold raw keys.
void require_honest_name(const char* flag, const std::string& path, const raw_policy& policy);

}  // namespace cli
