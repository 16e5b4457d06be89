// SPDX-License-Identifier: Apache-2.0
// Flags that say what the records of a file are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "spansort/records.hpp"

namespace cli {

/// Flags as typed.
struct record_arguments {
  std::string record_bytes;
  std::vector<std::string> keys;
};

/// Adds --record and --key.
void add_record_flags(CLI::App& command, record_arguments& arguments);

/// Nothing where --record was not given. `type` is that of --type. Throws invalid_argument naming the flag.
[[nodiscard]] std::optional<spansort::record_format> parse_record_flags(const record_arguments& arguments,
                                                                        const std::string& type);

/// The fields of a structured array that --key names; none with --record, which goes with places. Throws
/// invalid_argument naming the flag.
[[nodiscard]] std::vector<spansort::field_key> parse_field_flags(const record_arguments& arguments);

}  // namespace cli
