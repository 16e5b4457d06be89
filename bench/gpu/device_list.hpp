// SPDX-License-Identifier: Apache-2.0
// Lists of GPUs, as ordinals.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// The first 1, 2, 4 ... GPUs of the list, and all of them.
[[nodiscard]] std::vector<std::vector<int>> prefixes(const std::vector<int>& devices);

/// Returns what sort_options calls them: "gpu:0,1".
[[nodiscard]] std::string device_list_text(const std::vector<int>& devices);

/// "1 GPU", "4 GPUs".
[[nodiscard]] std::string count_text(const std::vector<int>& devices);

}  // namespace bench
