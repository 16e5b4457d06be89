// SPDX-License-Identifier: Apache-2.0
// The suites that spansort-bench runs itself, and the list of all that takes part.
#pragma once

#include <string>

#include "bench/suites/settings.hpp"

namespace bench {

/// Runs the figures of a suite and writes their JSON. Returns the exit status: 8 where a result was wrong.
[[nodiscard]] int run_suite(const std::string& suite, settings s, const std::string& command);

/// Prints every algorithm with the devices that it runs on here.
void print_algorithms();

/// Compares two JSON files case by case. Returns the exit status. Throws spansort::error for files that are none.
[[nodiscard]] int compare_files(const std::string& before, const std::string& after);

}  // namespace bench
