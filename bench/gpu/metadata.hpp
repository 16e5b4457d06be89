// SPDX-License-Identifier: Apache-2.0
// This header says what a result needs to say about its making.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/gpu/settings.hpp"

namespace bench {

/// `command`: as it was typed. `shrunk`: why there are fewer keys than asked for, "" where there are not.
[[nodiscard]] nlohmann::ordered_json metadata(const settings& s, const std::string& command, const std::string& shrunk);

}  // namespace bench
