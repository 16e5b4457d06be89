// SPDX-License-Identifier: Apache-2.0
// This header says how wide the indices are that elements carry with them while they are sorted, whatever is written of
// them.
#pragma once

#include <cstdint>

namespace spansort::files {

inline constexpr std::uint64_t index_bytes = sizeof(std::uint64_t);

}  // namespace spansort::files
