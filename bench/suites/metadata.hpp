// SPDX-License-Identifier: Apache-2.0
// Metadata are what a file of results says of the machine and the run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/suites/settings.hpp"

namespace bench {

[[nodiscard]] nlohmann::ordered_json metadata(const std::string& suite, const settings& s, const std::string& command);

}  // namespace bench
