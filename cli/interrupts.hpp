// SPDX-License-Identifier: Apache-2.0
// Removes a temporary file when a signal ends the command. Most file systems let the output have no name until it is
// complete; this is for the others, and for the moment between naming and renaming.
#pragma once

#include "spansort/files.hpp"

namespace cli {

/// Has INT, TERM, HUP, QUIT, PIPE and XCPU first remove the file last announced, then do what they always do. Signals
/// that were ignored stay ignored.
[[nodiscard]] spansort::temporary_file_callback remove_temporary_on_signals();

/// Removes the file last announced. For a thread that is about to end the process.
void remove_temporary_now() noexcept;

}  // namespace cli
