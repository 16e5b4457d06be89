// SPDX-License-Identifier: Apache-2.0
// This header says whether a file may stay in the page cache after it has been read or written, or would push out what
// is of more use.
#pragma once

#include <cstdint>

namespace spansort::files {

/// Returns whether a file that is read or written once may go to the page cache: it takes at most half of the memory
/// that is available.
[[nodiscard]] bool fits_page_cache(std::uint64_t num_bytes);

}  // namespace spansort::files
