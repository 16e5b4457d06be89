// SPDX-License-Identifier: Apache-2.0
// This program prints the verbs and flags of spansort and spansort-mpi as JSON, from the parsers themselves. The man
// pages, the completions of shells and the reference on the site are made of it when the project is built.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/reference/choices.hpp"
#include "spansort/version.hpp"
#ifdef SPANSORT_HAS_MPI
#include "cli/mpi/cluster_flags.hpp"
#endif

namespace cli {
namespace {

using json = nlohmann::ordered_json;

/// A value whose default is "" has none.
json describe(const CLI::Option& option, program_kind program) {
  const bool takes_value = option.get_expected_max() != 0;
  const completion values = completion_of(option, program);
  return {{"positional", option.get_positional() ? option.get_name(true) : std::string()},
          {"short", option.get_snames()},
          {"long", option.get_lnames()},
          {"value", takes_value ? option.get_type_name() : std::string()},
          {"takes_value", takes_value},
          {"required", option.get_required()},
          {"repeats", option.get_expected_max() > 1},
          {"default", takes_value ? option.get_default_str() : std::string()},
          {"text", option.get_description()},
          {"completes", name(values.kind)},
          {"choices", values.choices}};
}

json describe_options(const CLI::App& app, program_kind program) {
  json options = json::array();
  for (const CLI::Option* option : app.get_options({})) {
    if (!option->get_group().empty()) options.push_back(describe(*option, program));
  }
  return options;
}

/// The footer is told of a verb only where it is the verb's own.
json describe(const CLI::App& app, program_kind program, const std::string& inherited_footer) {
  json verbs = json::array();
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    verbs.push_back(describe(*verb, program, app.get_footer()));
  }
  return {{"name", app.get_name()},
          {"text", app.get_description()},
          {"footer", app.get_footer() == inherited_footer ? std::string() : app.get_footer()},
          {"options", describe_options(app, program)},
          {"verbs", verbs}};
}

json describe_programs() {
  json programs = json::object();
  CLI::App local("Sorts keys in files over the devices of this machine.", "spansort");
  command_action action;
  add_all_commands(local, action);
  programs["spansort"] = describe(local, program_kind::local, "");
#ifdef SPANSORT_HAS_MPI
  CLI::App cluster("Sorts keys in files over the processes that mpirun starts.", "spansort-mpi");
  cluster_action collective;
  add_all_cluster_commands(cluster, collective);
  programs["spansort-mpi"] = describe(cluster, program_kind::cluster, "");
#endif
  return {{"version", SPANSORT_VERSION}, {"programs", programs}};
}

}  // namespace
}  // namespace cli

int main() {
  fmt::print("{}\n", cli::describe_programs().dump(1));
  return std::fflush(stdout) == 0 ? 0 : 1;
}
