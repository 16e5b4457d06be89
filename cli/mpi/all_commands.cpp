// SPDX-License-Identifier: Apache-2.0
// The verbs of spansort-mpi in the order in which help lists them.
#include "cli/mpi/cluster_flags.hpp"
#include "cli/program.hpp"

namespace cli {

void add_all_cluster_commands(CLI::App& app, cluster_action& action) {
  add_cluster_sort_command(app, action);
  add_cluster_argsort_command(app, action);
  add_cluster_summary_command(app, action);
  // The last: it completes the verbs that are there.
  add_program_texts(app);
}

}  // namespace cli
