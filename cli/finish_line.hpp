// SPDX-License-Identifier: Apache-2.0
// This header makes the line with which a sort ends on a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spansort/files.hpp"
#include "spansort/report.hpp"

namespace cli {

/// A file with its size, as far as it has one.
struct known_file {
  std::string path;
  std::optional<std::uint64_t> size_bytes = {};
};

/// Returns the file of that name as it is now.
[[nodiscard]] known_file find_file(const std::string& path);

/// The account of a file operation that has ended.
struct finished_operation {
  std::vector<known_file> inputs = {};  ///< as they were before it
  known_file output = {};
  spansort::file_result result = {};
  spansort::sort_report report = {};
};

/// Returns "sorted 1,000,000 u32 keys in 0.012 s, 83.3 M keys/s, 333 MB/s; single on host:0, 2 threads; verified".
[[nodiscard]] std::string finish_line(const finished_operation& done);

}  // namespace cli
