// SPDX-License-Identifier: Apache-2.0
// How much memory there is, asked before a file's keys are read: what the kernel can still give, cut to the limits of
// the control groups and of the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spansort::files {

/// Bytes this process can still take without swapping or being killed. All ones when the system does not tell.
[[nodiscard]] std::uint64_t available_memory_bytes();

/// The number after "`key`:" in a text of "key: 123 kB" lines, in bytes; `otherwise` when it is not there.
[[nodiscard]] std::uint64_t field_bytes(std::string_view text, std::string_view key, std::uint64_t otherwise);

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
