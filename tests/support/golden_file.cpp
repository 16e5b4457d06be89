// SPDX-License-Identifier: Apache-2.0
#include "support/golden_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace spansort::test {
namespace {

/// tests/golden in `folder` or in one above it; empty where there is none.
std::filesystem::path golden_folder_above(std::filesystem::path folder) {
  for (;; folder = folder.parent_path()) {
    if (std::filesystem::is_directory(folder / "tests" / "golden")) return folder / "tests" / "golden";
    if (folder == folder.parent_path()) return {};
  }
}

std::filesystem::path find_golden_folder() {
  if (const char* const named = std::getenv("SPANSORT_TEST_GOLDEN"); named != nullptr) return named;
  std::filesystem::path folder = golden_folder_above(std::filesystem::current_path());
  if (folder.empty()) folder = golden_folder_above(std::filesystem::read_symlink("/proc/self/exe").parent_path());
  if (folder.empty()) throw std::runtime_error("tests/golden was not found; SPANSORT_TEST_GOLDEN names the folder");
  return folder;
}

/// "line 7: expected ..., found ...", or "" where both are equal.
std::string first_difference(const std::string& expected, const std::string& found) {
  std::istringstream expected_lines(expected);
  std::istringstream found_lines(found);
  for (int number = 1;; ++number) {
    std::string expected_line = "no more lines";
    std::string found_line = "no more lines";
    const bool has_expected = static_cast<bool>(std::getline(expected_lines, expected_line));
    const bool has_found = static_cast<bool>(std::getline(found_lines, found_line));
    if (!has_expected && !has_found) return expected == found ? "" : "the end of the last line";
    if (has_expected != has_found || expected_line != found_line) {
      return "line " + std::to_string(number) + ":\n  expected " + expected_line + "\n  found    " + found_line;
    }
  }
}

}  // namespace

std::filesystem::path golden_path(const std::string& name) {
  static const std::filesystem::path folder = find_golden_folder();
  return folder / name;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = golden_path(name);
  const char* const update = std::getenv("SPANSORT_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    std::ofstream file(path, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.flush()) << "cannot write " << path;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "cannot read " << path << "; SPANSORT_UPDATE_GOLDEN=1 writes it";
  const std::string expected{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(text == expected) << path << " differs in " << first_difference(expected, text)
                                << "\nIf that is meant, SPANSORT_UPDATE_GOLDEN=1 writes it anew";
}

}  // namespace spansort::test
