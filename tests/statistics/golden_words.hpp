// SPDX-License-Identifier: Apache-2.0
// Reference results made by scripts/statistics_golden.py: lines of words, doubles as 16 hex digits.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace spansort::statistics::test {

using words = std::vector<std::string>;

/// The words of every line but comments.
[[nodiscard]] inline std::vector<words> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::vector<words> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream text(line);
    words& found = lines.emplace_back();
    for (std::string word; text >> word;) found.push_back(word);
  }
  return lines;
}

[[nodiscard]] inline double to_double(const std::string& hex) {
  std::uint64_t bits = 0;
  const auto [end, code] = std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
  if (code != std::errc{} || end != hex.data() + 16) throw std::runtime_error("expected 16 hex digits, found " + hex);
  return std::bit_cast<double>(bits);
}

/// The words from `first` on.
[[nodiscard]] inline std::vector<double> to_doubles(const words& line, std::size_t first) {
  std::vector<double> values;
  for (std::size_t i = first; i < line.size(); ++i) values.push_back(to_double(line[i]));
  return values;
}

}  // namespace spansort::statistics::test
