// SPDX-License-Identifier: Apache-2.0
// Flags that the subcommands over MPI have beside those of one machine, and the sessions that follow from them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/mpi/agreement.hpp"
#include "cli/mpi/world.hpp"
#include "spansort/mpi.hpp"

namespace cli {

/// Flags as typed.
struct cluster_arguments {
  std::string exchange = "auto";
  std::string heartbeat_timeout = "20";
  std::string test_fault;  ///< stop, fail or wait:PHASE:RANK
};

/// What one subcommand is to do, with its arguments checked.
struct cluster_request {
  std::vector<agreed_setting> settings;
  std::function<outcome(const mpi_world& world)> run;  ///< collective; the same outcome for all
};

/// Set by the subcommand that is given. Throws invalid_argument.
using cluster_action = std::function<cluster_request()>;

void add_cluster_sort_command(CLI::App& app, cluster_action& action);
void add_cluster_argsort_command(CLI::App& app, cluster_action& action);
void add_cluster_summary_command(CLI::App& app, cluster_action& action);

/// Adds all of them, and what the program says of itself. The reference of the command is made from the same tree.
void add_all_cluster_commands(CLI::App& app, cluster_action& action);

void add_cluster_flags(CLI::App& command, cluster_arguments& arguments);

/// Takes over --heartbeat-timeout and --test-fault. Throws invalid_argument.
void apply_cluster_flags(const cluster_arguments& arguments, spansort::mpi::options& options);

/// "yes" or "no".
[[nodiscard]] std::string yes_or_no(bool value);

/// Opens a session over all and calls f, then last(), which may be empty, while no other node rank can fail any more.
/// Agrees on how that ended. Does not return where a node rank has failed in a way that the others cannot share: the
/// process ends then.
[[nodiscard]] outcome run_in_session(const mpi_world& world, spansort::mpi::options options,
                                     const std::function<void(spansort::mpi::session&)>& f,
                                     const std::function<void()>& last = {});

}  // namespace cli
