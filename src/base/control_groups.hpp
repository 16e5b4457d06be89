// SPDX-License-Identifier: Apache-2.0
// The control groups of this process: the folders in which the kernel says what it may use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace spansort::base {

/// Returns the text of the file at `path`, "" where there is none. Tests give one of their own.
using file_reader = std::function<std::string(const std::string& path)>;
[[nodiscard]] std::string text_of(const std::string& path);

/// Returns the number at the beginning of `text`, after blanks.
[[nodiscard]] std::optional<std::uint64_t> number_at(std::string_view text);

/// Calls visit(folder, version) for the group of this process that `controller` ("cpu", "memory") controls, and for
/// every ancestor of it: a limit of each counts. `folder` ends in a slash; `version` is that of the interface, 1 or 2.
void visit_control_groups(const file_reader& read, const std::string& controller,
                          const std::function<void(const std::string& folder, int version)>& visit);

}  // namespace spansort::base
