// SPDX-License-Identifier: Apache-2.0
// This header says how much memory there is: what the kernel can still give, cut to the limits of the control groups
// and of the process.
#pragma once

#include <cstdint>
#include <string_view>

namespace spansort::base {

/// Bytes this process can still take without swapping or being killed. All ones when the system does not tell.
[[nodiscard]] std::uint64_t available_memory_bytes();

/// Bytes of this process that are in memory now; 0 when the system does not tell.
[[nodiscard]] std::uint64_t resident_memory_bytes();

/// The number after "`key`:" in a text of "key: 123 kB" lines, in bytes; `otherwise` when it is not there.
[[nodiscard]] std::uint64_t field_bytes(std::string_view text, std::string_view key, std::uint64_t otherwise);

}  // namespace spansort::base
