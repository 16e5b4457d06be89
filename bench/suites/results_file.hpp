// SPDX-License-Identifier: Apache-2.0
// The JSON that a suite writes, read again: to compare two runs, and to run what an earlier one lacks.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench/suites/schedule.hpp"

namespace bench {

/// Returns what a file holds. Throws io_error, bad_input for folders, and the parser's exceptions.
[[nodiscard]] nlohmann::ordered_json read_json(const std::string& path);
/// Returns what an exception of the parser says, for users.
[[nodiscard]] std::string message_of(const nlohmann::ordered_json::exception& failure);

/// Returns the text of a file of very many cases, each in a line, without what all of them have in common.
[[nodiscard]] std::string dense_text(nlohmann::ordered_json document);

/// Returns the cases of a file. Throws io_error, and bad_input for what no suite has written.
[[nodiscard]] nlohmann::ordered_json read_cases(const std::string& path);

/// "rmg-fig5 u32 uniform 1024": what a case is known by in all files.
[[nodiscard]] std::string case_name(const nlohmann::ordered_json& one);
[[nodiscard]] std::string case_name(const figure& of, const case_spec& spec);

/// "rmg gpu:0,1 host": what a contender is known by within a case. Those of the grid have names alone.
[[nodiscard]] std::string contender_name(const nlohmann::ordered_json& result);
/// Returns a contender's times in milliseconds; there are none where it was refused.
[[nodiscard]] std::vector<double> runs_of(const nlohmann::ordered_json& result);

/// The names of the cases of which files have results.
[[nodiscard]] std::set<std::string> names_of_measured(const std::vector<std::string>& paths);

}  // namespace bench
