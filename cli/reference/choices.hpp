// SPDX-License-Identifier: Apache-2.0
// This header says what a shell may offer for the value of a flag: names that the library knows, files or folders.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

enum class program_kind : std::uint8_t { local, cluster };

enum class completion_kind : std::uint8_t { nothing, choices, files, folders };

[[nodiscard]] std::string_view name(completion_kind kind) noexcept;

struct completion {
  completion_kind kind = completion_kind::nothing;
  std::vector<std::string> choices = {};
};

/// Looks the option up by its long name, or the name of its place. Flags take no value, and nothing completes them.
[[nodiscard]] completion completion_of(const CLI::Option& option, program_kind program);

}  // namespace cli
