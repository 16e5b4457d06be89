// SPDX-License-Identifier: Apache-2.0
// The subcommands: each adds itself to the parser and, when it is the one given, sets what is to be run.
#pragma once

#include <CLI/App.hpp>
#include <CLI/CLI.hpp>

#include <functional>

namespace cli {

/// Returns the exit status.
using command_action = std::function<int()>;

void add_sort_command(CLI::App& app, command_action& action);
void add_argsort_command(CLI::App& app, command_action& action);
void add_take_command(CLI::App& app, command_action& action);
void add_check_command(CLI::App& app, command_action& action);
void add_gen_command(CLI::App& app, command_action& action);
void add_devices_command(CLI::App& app, command_action& action);
void add_plan_command(CLI::App& app, command_action& action);
void add_summary_command(CLI::App& app, command_action& action);

/// Adds all of them, and what the program says of itself. The reference of the command is made from the same tree.
void add_all_commands(CLI::App& app, command_action& action);

}  // namespace cli
