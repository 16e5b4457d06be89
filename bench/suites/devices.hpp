// SPDX-License-Identifier: Apache-2.0
// These functions say what a suite makes of the device lists that it is given.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// "cpu", and "gpu:0,1,..." where there are GPUs; for lists of the caller's the same with "gpu" and "auto" resolved.
/// Throws spansort::error for lists that cannot be.
[[nodiscard]] std::vector<std::string> resolve_devices(const std::vector<std::string>& lists);

/// The first device of each list, without repeats: "cpu" for host devices, "gpu:2" for "gpu:2,3".
[[nodiscard]] std::vector<std::string> first_devices(const std::vector<std::string>& lists);

/// The lists cut to 1, 2, 4, 8 ... devices, and whole.
[[nodiscard]] std::vector<std::string> prefixes(const std::vector<std::string>& lists);

[[nodiscard]] bool is_gpu(const std::string& list);
/// Returns the number of the first GPU of a list.
[[nodiscard]] int first_gpu(const std::string& list);

}  // namespace bench
