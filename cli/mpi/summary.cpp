// SPDX-License-Identifier: Apache-2.0
// spansort summary --mpi: each node rank reads its share of the file, all ask the keys together, each writes its
// outliers' part, and node rank 0 what is left.
#include "cli/summary.hpp"

#include <exception>
#include <memory>
#include <string>

#include "cli/common.hpp"
#include "cli/interrupts.hpp"
#include "cli/mpi/cluster_flags.hpp"
#include "cli/program.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

/// Flags as typed.
struct cluster_summary_arguments {
  summary_arguments summary;
  cluster_arguments cluster;
};

/// Calls f; remembers in `has_thrown` that what surfaces comes from a session, whose business it is.
template <class F>
auto watched(bool& has_thrown, F f) {
  has_thrown = true;
  auto result = f();
  has_thrown = false;
  return result;
}

/// The keys of all node ranks, of which this one has a share.
key_source keys_of_all(spansort::mpi::session& session, const spansort::key_file& share, bool& has_thrown) {
  key_source keys;
  keys.type = share.keys().type;
  keys.num_keys = share.num_keys_in_file();
  keys.summarize = [&](const spansort::summary_options& options) {
    return watched(has_thrown, [&] { return session.summarize(share.keys(), options); });
  };
  keys.quantiles = [&](std::span<const double> q, const spansort::quantile_options& options) {
    return watched(has_thrown, [&] { return session.quantiles(share.keys(), q, options); });
  };
  keys.histogram = [&](std::span<const double> edges, const spansort::count_options&) {
    return watched(has_thrown, [&] { return session.histogram(share.keys(), edges); });
  };
  return keys;
}

/// What the node ranks made together, or why there is nothing to make: the same on all of them.
struct shared_outputs {
  summary_outputs outputs;
  std::exception_ptr failure;
};

/// All is made before anything is written, as on one machine; by all node ranks, so that none fails alone.
shared_outputs summarize_together(spansort::mpi::session& session, const summary_arguments& arguments,
                                  const summary_request& request, const text_style& style) {
  const spansort::key_file share = session.read_share(arguments.input, request.type);
  shared_outputs result;
  spansort::summary box;
  bool has_session_thrown = false;
  try {
    const summary_findings found =
        find_summary(arguments, request, keys_of_all(session, share, has_session_thrown), style);
    result.outputs = make_outputs(arguments, request, found, style);
    box = found.summary.box;
  } catch (const spansort::error&) {
    if (has_session_thrown && !session.all_know_of_failure()) throw;
    result.failure = std::current_exception();
    return result;
  }
  if (!arguments.outliers.empty()) {
    session.write_outliers(arguments.outliers, share.keys(), box, remove_temporary_on_signals());
  }
  return result;
}

/// Node rank 0 prints, so all ask for what its columns need.
text_style style_of_first(const mpi_world& world) {
  text_style style = detect_text_style();
  style.num_columns = static_cast<unsigned>(std::stoul(world.gather(std::to_string(style.num_columns)).front()));
  return style;
}

outcome run_cluster_summary(const mpi_world& world, const summary_arguments& arguments, const summary_request& request,
                            const spansort::mpi::options& options) {
  const text_style style = style_of_first(world);
  shared_outputs result;
  return run_in_session(
      world, options,
      [&](spansort::mpi::session& session) { result = summarize_together(session, arguments, request, style); },
      [&] {
        if (result.failure != nullptr) std::rethrow_exception(result.failure);
        if (world.node_rank() == 0) write_outputs(arguments, result.outputs, remove_temporary_on_signals());
      });
}

void require_available(const summary_arguments& arguments) {
  if (arguments.input == "-") {
    throw spansort::invalid_argument("IN: over MPI every node rank reads its part of a file; '-' is a stream");
  }
  if (arguments.outliers == "-") {
    throw spansort::invalid_argument("--outliers: over MPI every node rank writes its part of a file; '-' is a stream");
  }
}

std::vector<agreed_setting> settings_of(const cluster_summary_arguments& arguments) {
  const summary_arguments& summary = arguments.summary;
  return {{"command", "summary"},
          {"IN", summary.input},
          {"--type", summary.type},
          {"--method", summary.method},
          {"--nan", summary.nans},
          {"--whis", summary.whiskers},
          {"--quantiles", summary.quantiles},
          {"--json", summary.json},
          {"--plot", summary.plot},
          {"--outliers", summary.outliers},
          {"--scale", summary.scale},
          {"--caption", summary.caption},
          {"--heartbeat-timeout", arguments.cluster.heartbeat_timeout}};
}

cluster_request make_request(const std::shared_ptr<cluster_summary_arguments>& arguments) {
  const summary_arguments& summary = arguments->summary;
  require_available(summary);
  const summary_request request = check_summary_flags(summary);
  require_raw_input(summary.input, {.is_insisted = summary.is_raw});
  spansort::mpi::options options{.devices = summary.devices, .threads = request.options.threads};
  apply_cluster_flags(arguments->cluster, options);
  return {settings_of(*arguments), [arguments, request, options](const mpi_world& world) {
            return run_cluster_summary(world, arguments->summary, request, options);
          }};
}

}  // namespace

void add_cluster_summary_command(CLI::App& app, cluster_action& action) {
  CLI::App* const command = app.add_subcommand(
      "summary", "Quantiles, box plot and outliers of a file's keys over all node ranks, without sorting them");
  const auto arguments = std::make_shared<cluster_summary_arguments>();
  add_summary_flags(*command, arguments->summary);
  add_cluster_flags(*command, arguments->cluster);
  command->get_option("--no-mpi")->group("");
  command->get_option("--outliers")
      ->description("Write all outliers, in input order, into a file that all node ranks see: .npy or raw by its name");
  command->footer(verb_footer({"mpirun -n 4 spansort summary --mpi x.npy"}, {0, 2, 3, 4, 5, 6, 7}));
  command->callback([=, &action] { action = [=] { return make_request(arguments); }; });
}

}  // namespace cli
