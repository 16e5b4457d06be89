// SPDX-License-Identifier: Apache-2.0
// Text for messages: bytes of a hostile file made harmless for a terminal, and counts as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spansort::files {

/// Returns the bytes in single quotes, at most 40 characters, everything but printable ASCII as \xNN.
[[nodiscard]] std::string quoted(std::string_view bytes);

/// "1234", and "2^61" for large powers of two.
[[nodiscard]] std::string count_text(std::uint64_t count);

}  // namespace spansort::files
