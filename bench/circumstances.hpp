// SPDX-License-Identifier: Apache-2.0
// Circumstances are what every file of results says of when it was measured.
#pragma once

#include <array>
#include <cstdlib>
#include <ctime>
#include <string>

namespace bench {

/// "2026-11-22", in UTC.
[[nodiscard]] inline std::string date_today() {
  std::array<char, 32> date{};
  const std::time_t now = std::time(nullptr);
  std::strftime(date.data(), date.size(), "%Y-%m-%d", std::gmtime(&now));
  return date.data();
}

/// Returns how many processes wanted to run, over the last minute; -1 where the system does not say.
[[nodiscard]] inline double load_average() {
  std::array<double, 1> last_minute{};
  return ::getloadavg(last_minute.data(), 1) == 1 ? last_minute[0] : -1;
}

}  // namespace bench
