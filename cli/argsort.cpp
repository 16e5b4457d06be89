// SPDX-License-Identifier: Apache-2.0
// spansort argsort: the stable order of a file's keys or records, as indices.
#include <memory>

#include "cli/common.hpp"
#include "cli/program.hpp"

namespace cli {

void add_argsort_command(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("argsort", "Write the stable order of a file's keys or records as indices");
  const auto arguments = std::make_shared<sort_arguments>();
  add_sort_flags(*command, *arguments);
  add_record_flags(*command, arguments->records);
  add_part_flags(*command, *arguments);
  command
      ->add_option("--index", arguments->index,
                   "Type of the indices: i64, u64, i32 or u32; the narrow ones where they reach")
      ->type_name("T")
      ->capture_default_str();
  command->footer(verb_footer({"spansort argsort x.npy -o order.npy     in NumPy: x[np.load('order.npy')] is sorted",
                               "spansort argsort trades.npy -o order.npy --key sym,price:r --index u32"},
                              {0, 2, 3, 4, 5, 6, 7, 8}));
  command->callback([arguments, &action] {
    action = [arguments] {
      return run_file_operation(*arguments, or_plan(*arguments, spansort::argsort_file, spansort::plan_argsort_file));
    };
  });
}

}  // namespace cli
