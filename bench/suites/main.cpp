// SPDX-License-Identifier: Apache-2.0
// spansort-bench, by which `spansort bench` is replaced. Suite gpu is a program of its own, by which this one is
// replaced in turn.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <spansort/errors.hpp>
#include <spansort/version.hpp>

#include "bench/suites/suite.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* footer = R"(Of every contender a result is verified; what one refuses is recorded with its reason.
Suite gpu: the rest of the command line goes to spansort_bench_gpu.

Exit status: 0 done; 2 usage; 4 a file cannot be read or written; 8 a result was wrong.

Example: spansort bench papers --devices cpu --devices gpu:0,1 --max-log2-size 28 --seconds 300 --json papers.json
         spansort bench papers --devices cpu --devices gpu:0,1 --missing-from papers.json --json papers-more.json
         spansort bench compare before.json after.json)";

/// Replaces this process by a program of the same folder, or of the bundle's folder bench. Returns where there is none.
int replace_by(const std::string& program, char** argv) {
  std::error_code failure;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failure).parent_path();
  for (const fs::path& path : {folder / program, folder / ".." / "bench" / program}) {
    ::execv(path.c_str(), argv);
  }
  fmt::print(stderr, "spansort bench: this suite is not installed: there is no {}\n", (folder / program).string());
  return 2;
}

CLI::App* add_suite(CLI::App& app, const std::string& name, const std::string& text, settings& s) {
  CLI::App* const suite = app.add_subcommand(name, text);
  suite->footer(footer);
  suite->add_option("--only,--cases,--suites", s.figures, "only figures whose names have one of these words")
      ->delimiter(',');
  suite
      ->add_option("--missing-from", s.measured_files, "only cases of which these files of earlier runs have no result")
      ->delimiter(',');
  suite->add_flag("--dry-run", s.is_dry_run, "name the cases in the order in which they would run, and run none");
  suite->add_option("--max-log2-size", s.max_log2_size, "of the inputs, in keys: 30")->check(CLI::Range(1U, 35U));
  suite->add_option("--seconds", s.seconds, "begin no further case after this long; a few of every figure come first")
      ->check(CLI::PositiveNumber);
  suite
      ->add_option("--contender-seconds", s.contender_seconds,
                   "no further repeat of a contender after this long, and no sort that takes it longer: 2")
      ->check(CLI::PositiveNumber);
  suite->add_option("--repeats", s.repeats, "timed runs of each contender: 5")->check(CLI::PositiveNumber);
  suite->add_option("--seed", s.seed, "of the inputs");
  suite->add_option("--commit", s.commit, "what was measured, for the JSON");
  suite->add_option("--notes", s.notes, "on the machine's state, for the JSON");
  suite->add_option("--peers", s.peers_files,
                    "programs of others to run beside: a JSON file, see CONTRIBUTING.md; may be given again");
  suite->add_option("--json", s.json_file, "write all runs here, again and again");
  return suite;
}

void add_figures(CLI::App& app, const std::string& name, const std::string& text, settings& s) {
  add_suite(app, name, text, s)
      ->add_option("--devices", s.devices,
                   "cpu, host:4, gpu:0, gpu:0,1; may be given again; default: cpu, and all GPUs");
}

void add_grid(CLI::App& app, settings& s) {
  CLI::App* const suite = add_suite(
      app, "cpu", "the CPU sort beside all others: types, operations, sizes from 16 keys on, distributions", s);
  suite->add_option("--types", s.types, "u32 u64 i32 i64 f32 f64 u8 u16 f16, u32(u32) u64(u64), argsort(u32) ...")
      ->delimiter(',');
  suite
      ->add_option("--distributions", s.distributions,
                   "as spansort gen knows them, and bits:16 values:16 runs:2 sorted-tail")
      ->delimiter(',');
  suite->add_option("--log2-sizes", s.log2_sizes, "4, 6 ... 26, 27")->delimiter(',')->check(CLI::Range(1U, 35U));
  suite->add_option("--contenders", s.contenders, "only those whose names have one of these words")->delimiter(',');
  suite->add_option("--threads", s.threads, "processors for all that take part: all that there are");
}

std::string command_of(int argc, char** argv) {
  std::string command = "spansort bench";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  return command;
}

int run(int argc, char** argv) {
  CLI::App app("Measures sorts side by side.", "spansort bench");
  app.footer(footer);
  app.set_version_flag("--version", "spansort-bench " SPANSORT_VERSION);
  app.require_subcommand(0, 1);
  bool lists = false;
  app.add_flag("--list", lists, "name every algorithm, with the devices that it runs on here");
  settings s;
  add_figures(app, "papers", "redraw the papers' figures and tables", s);
  add_figures(app, "multi-gpu", "rmg, p2p_merge and het_merge over 1, 2, 4 ... devices, host to host", s);
  add_grid(app, s);
  app.add_subcommand("gpu", "the GPU sort beside CUB and bare copies (spansort_bench_gpu)");
  CLI::App* const compare =
      app.add_subcommand("compare", "say of each case of two files: faster, slower, same, unclear");
  std::string before, after;
  compare->add_option("BEFORE", before, "JSON of papers, multi-gpu or cpu")->required();
  compare->add_option("AFTER", after, "the same cases, measured later")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    return app.exit(failure) == 0 ? 0 : 2;
  }
  if (lists) return print_algorithms(), 0;
  if (compare->parsed()) return compare_files(before, after);
  for (const char* const suite : {"papers", "multi-gpu", "cpu"}) {
    if (app.got_subcommand(suite)) return run_suite(suite, s, command_of(argc, argv));
  }
  fmt::print("{}", app.help());
  return 2;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  // Threads of OpenMP that spin when their work is done would take processors from whoever has the next turn. The
  // variable is read when the program starts.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr && ::setenv("OMP_WAIT_POLICY", "passive", 1) == 0) {
    ::execv("/proc/self/exe", argv);
  }
  const std::string suite = argc > 1 ? argv[1] : "";
  if (suite == "gpu") return bench::replace_by("spansort_bench_gpu", argv + 1);
  try {
    return bench::run(argc, argv);
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort bench: {}\n", e.what());
    return e.exit_status();
  }
}
