// SPDX-License-Identifier: Apache-2.0
// The verbs of spansort in the order in which help lists them.
#include "cli/commands.hpp"
#include "cli/program.hpp"

namespace cli {

void add_all_commands(CLI::App& app, command_action& action) {
  add_sort_command(app, action);
  add_argsort_command(app, action);
  add_take_command(app, action);
  add_check_command(app, action);
  add_gen_command(app, action);
  add_devices_command(app, action);
  add_summary_command(app, action);
  add_plan_command(app, action);
  add_help_command(app);
  // The last: it completes the verbs that are there.
  add_program_texts(app);
}

}  // namespace cli
