// SPDX-License-Identifier: Apache-2.0
// Golden files: tests/golden/<name>, compared byte by byte. SPANSORT_UPDATE_GOLDEN=1 writes them anew: read the diff.
#pragma once

#include <filesystem>
#include <string>

namespace spansort::test {

/// The path of a golden file. The folder is found at run time, because a path that the compiler writes into the program
/// would keep compiled objects from being shared by clones: SPANSORT_TEST_GOLDEN names it; without that it
/// is looked for above the working directory and above the program.
[[nodiscard]] std::filesystem::path golden_path(const std::string& name);

/// Fails the test at the first line that differs.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace spansort::test
