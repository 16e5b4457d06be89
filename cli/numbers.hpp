// SPDX-License-Identifier: Apache-2.0
// Numbers on the command line, read strictly: no sign, no blank, no rest, no overflow. Errors name the flag.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

/// A plain whole number. Throws spansort::invalid_argument.
[[nodiscard]] std::uint64_t parse_count(std::string_view flag, std::string_view text);

/// A number of bytes above 0, or of K M G T (powers of 1024), or of % of `memory_bytes`. Throws
/// spansort::invalid_argument.
[[nodiscard]] std::uint64_t parse_size(std::string_view flag, std::string_view text, std::uint64_t memory_bytes);

/// "7.8 GiB".
[[nodiscard]] std::string bytes_text(std::uint64_t num_bytes);

}  // namespace cli
