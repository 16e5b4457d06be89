// SPDX-License-Identifier: Apache-2.0
// This header reads numbers of the command line strictly: no sign, no blank, no rest, no overflow. Errors name the
// flag.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

/// Reads digits and nothing else: a seed, a number of threads. Throws spansort::invalid_argument.
[[nodiscard]] std::uint64_t parse_whole_number(std::string_view flag, std::string_view text);

/// Reads a number of keys or records: 1000000, 1e6, 10M, 1.5G. K M G T P are powers of 1000 here, Ki Mi ... of 1024.
/// Throws spansort::invalid_argument, also for what is not whole.
[[nodiscard]] std::uint64_t parse_count(std::string_view flag, std::string_view text);

/// Reads a number of bytes above 0: 500MB, 1.5G, 4GiB, 1e9, or % of `memory_bytes`. K M G T P are powers of 1024, as
/// GNU sort's, and so are KiB MiB ...; KB MB ... are powers of 1000. Part of a byte is dropped. Throws
/// spansort::invalid_argument.
[[nodiscard]] std::uint64_t parse_size(std::string_view flag, std::string_view text, std::uint64_t memory_bytes);

/// "7.8 GiB".
[[nodiscard]] std::string bytes_text(std::uint64_t num_bytes);

/// "12,345,678".
[[nodiscard]] std::string count_text(std::uint64_t count);

/// "0.012 s", "12.3 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string seconds_text(double seconds);

/// A rate in three digits, with the power of 1000 that a unit is to follow: "83.3 M", "1.25 G", "512 ".
[[nodiscard]] std::string si_text(double value);

}  // namespace cli
