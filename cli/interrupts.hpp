// SPDX-License-Identifier: Apache-2.0
// This header says what a signal that ends the command leaves behind: no temporary file, and no line of progress. Most
// file systems let the output have no name until it is complete; the removal is for the others, and for the moment
// between naming and renaming.
#pragma once

#include <string>

#include "spansort/files.hpp"

namespace cli {

/// Has INT, TERM, HUP, QUIT, PIPE and XCPU first remove the files last announced and the line of progress, then do what
/// they always do, on the calling thread, whichever thread the system gives them to: this one holds them while outputs
/// get their names. Signals that were ignored stay ignored.
void clean_up_on_signals();
/// Does so, too, and returns the callback that announces an output.
[[nodiscard]] spansort::temporary_file_callback remove_temporary_on_signals();
/// Returns the callback for a second output, beside remove_temporary_on_signals().
[[nodiscard]] spansort::temporary_file_callback also_remove_temporary();

/// Removes the file last announced. For a thread that is about to end the process.
void remove_temporary_now() noexcept;

/// Draws a line on standard error in the place of the one before, with one call, and has the signals above clear it.
void draw_progress_line(const std::string& line) noexcept;

/// Clears the line, where there is one.
void clear_progress_line() noexcept;

}  // namespace cli
