// SPDX-License-Identifier: Apache-2.0
// Flags that say what the records of a file are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "spansort/files.hpp"
#include "spansort/records.hpp"

namespace cli {

/// Flags as typed.
struct record_arguments {
  std::string record_bytes;
  std::vector<std::string> keys;
  std::string axis;
};

/// Adds --record, --key and --axis.
void add_record_flags(CLI::App& command, record_arguments& arguments);

/// Nothing where --record was not given. `type` is that of --type. Throws invalid_argument naming the flag.
[[nodiscard]] std::optional<spansort::record_format> parse_record_flags(const record_arguments& arguments,
                                                                        const std::string& type);

/// Returns what is sorted of an array: the fields that --key names, none with --record, which goes with places, and the
/// axis. Throws invalid_argument naming the flag.
[[nodiscard]] spansort::array_options parse_array_flags(const record_arguments& arguments);

}  // namespace cli
