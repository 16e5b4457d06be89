// SPDX-License-Identifier: Apache-2.0
// This header says whether a file's keys fit in memory, asked before they are read.
#pragma once

#include <cstdint>
#include <string>

namespace spansort::files {

/// What holding and processing `num_keys` keys takes.
struct memory_need {
  std::uint64_t key_bytes = 0;        ///< of one key, held for the file
  std::uint64_t workspace_bytes = 0;  ///< beside it, for each key
  std::uint64_t limit_bytes = 0;      ///< ceiling set by the caller (-S), 0: none
  std::uint64_t held_bytes = 0;       ///< of the keys' memory, taken already
};

/// Throws out_of_memory, naming bytes needed and available, unless `num_keys` keys fit.
void require_memory(const std::string& file, std::uint64_t num_keys, const memory_need& need);

}  // namespace spansort::files
