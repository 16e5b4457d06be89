// SPDX-License-Identifier: Apache-2.0
// The soak makes random calls of the library and the command, at the same time and with faults, for as long as it is
// told to, and holds each against an oracle.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "soak/run_folder.hpp"
#include "soak/supervisor.hpp"
#include "soak/worker.hpp"
#include "spansort/devices.hpp"

namespace {

using namespace spansort::soak;

constexpr const char* help_text =
    R"(usage: spansort_soak [--hours H] [--minutes M] [--seconds S] [--cases N] [--seed SEED]
                     [--workers W] [--keys K] [--folder DIR]
       spansort_soak --case SEED:N [--keys K]

Draws calls of the library and of the command: operations, types, distributions, sizes, devices, algorithms, options,
limits on memory, several at a time, and faults: allocations that fail, progress callbacks that cancel or throw, files
that may not grow, commands that are killed, and where there are GPUs calls to their runtime. What a call leaves is held
against an oracle; allocations, descriptors, threads and files must come back to where they were. Ends with counts, of
calls on GPUs under names with `@gpu`, and `N failed`; status 1 where any did.

  --hours H, --minutes M, --seconds S   how long (default: one minute, where --cases is not given)
  --cases N      no more than so many cases
  --seed SEED    a number, or `random` (default); it is printed
  --workers W    processes at once (default: one a processor, two at least)
  --keys K       most keys of one call (default 2000000; /8 where several calls run at once)
  --folder DIR   where files are sorted, on the disk or tmpfs that is to be tried (default: $TMPDIR, else /tmp)
  --command PATH the `spansort` to call (default: that of the same build or bundle; `none` for none)
  --from N       the first case (default 0)
  --case SEED:N  run one case again, as a line of a failed run says
)";

struct arguments {
  settings setup;
  soak_plan plan;
  bool is_worker = false;
  std::uint64_t worker = 0;
  bool is_one_case = false;
  std::uint64_t number = 0;
};

std::uint64_t read_number(const std::string& text) {
  std::size_t used = 0;
  const std::uint64_t number = std::stoull(text, &used);
  if (used != text.size()) throw std::invalid_argument("a number is wanted, not " + text);
  return number;
}

std::uint64_t read_seed(const std::string& text) {
  return text == "random" ? std::random_device{}() : read_number(text);
}

void read_case(arguments& all, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("--case wants SEED:N");
  all.is_one_case = true;
  all.setup.seed = read_number(text.substr(0, colon));
  all.number = read_number(text.substr(colon + 1));
}

void read_flag(arguments& all, const std::string& flag, const std::string& value) {
  if (flag == "--hours") {
    all.plan.seconds += 3600 * std::stod(value);
  } else if (flag == "--minutes") {
    all.plan.seconds += 60 * std::stod(value);
  } else if (flag == "--seconds") {
    all.plan.seconds += std::stod(value);
  } else if (flag == "--cases") {
    all.plan.num_cases = read_number(value);
  } else if (flag == "--seed") {
    all.setup.seed = read_seed(value);
  } else if (flag == "--workers") {
    all.plan.num_workers = static_cast<unsigned>(std::max<std::uint64_t>(read_number(value), 1));
  } else if (flag == "--keys") {
    all.setup.most_keys = read_number(value);
  } else if (flag == "--folder") {
    all.setup.folder = value;
  } else if (flag == "--command") {
    all.setup.command = value;
  } else if (flag == "--from") {
    all.plan.first = read_number(value);
  } else if (flag == "--case") {
    read_case(all, value);
  } else if (flag == "--case-seconds") {
    all.plan.case_seconds = std::stod(value);
  } else if (flag == "--worker") {
    all.is_worker = true;
    all.worker = read_number(value);
  } else if (flag == "--plant") {
    all.setup.plant = parse_planted(value);
  } else {
    throw std::invalid_argument("unknown flag " + flag + "; --help lists them");
  }
}

arguments read_arguments(int argc, char** argv) {
  arguments all;
  all.setup.seed = std::random_device{}();
  all.setup.most_keys = 2'000'000;
  all.plan.program = argv[0];
  all.plan.num_workers = std::max(2U, std::thread::hardware_concurrency());
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) throw std::invalid_argument(std::string(argv[i]) + " wants a value");
    read_flag(all, argv[i], argv[i + 1]);
  }
  if (all.plan.num_cases == 0) {
    all.plan.num_cases = std::numeric_limits<std::uint64_t>::max() / 2;
    if (all.plan.seconds == 0) all.plan.seconds = 60;
  } else if (all.plan.seconds == 0) {
    all.plan.seconds = 1e9;
  }
  return all;
}

int run_one_case(const arguments& all) {
  settings setup = all.setup;
  setup.tells = true;
  const case_result result = run_watched_case(setup, all.number);
  if (result.failure.empty()) {
    fmt::print("case {}:{} is right\n", all.setup.seed, all.number);
    return 0;
  }
  fmt::print("FAILED case {}: {}\n", all.number, result.failure);
  return 1;
}

/// Finds out what this machine has.
void find_devices(settings& setup, const std::string& program) {
  const std::vector<spansort::device_description> devices = spansort::list_devices();
  setup.has_gpu = std::ranges::any_of(devices, [](const auto& each) { return each.name.starts_with("gpu:"); });
  if (setup.command.empty()) {
    // A bundle has both programs in folders beside each other, wherever it has been unpacked.
    const std::filesystem::path in_bundle = std::filesystem::path(program).parent_path() / "../bin/spansort";
    setup.command = std::filesystem::exists(SPANSORT_SOAK_COMMAND) ? SPANSORT_SOAK_COMMAND : in_bundle.string();
  }
  if (!std::filesystem::exists(setup.command)) setup.command.clear();
}

int run(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "-h" || first == "--help") {
    std::fputs(help_text, stdout);
    return 0;
  }
  arguments all = read_arguments(argc, argv);
  ::signal(SIGXFSZ, SIG_IGN);
  const run_folder folder(all.setup.folder);
  all.setup.folder = folder.path();
  if (all.is_worker || all.is_one_case) find_devices(all.setup, all.plan.program);
  if (all.is_one_case) return run_one_case(all);
  if (all.is_worker) {
    return run_worker(all.setup, {.first = all.plan.first,
                                  .step = all.plan.num_workers,
                                  .end = all.plan.first + all.plan.num_cases,
                                  .seconds = all.plan.seconds});
  }
  fmt::print("spansort_soak --seed {}, {} workers\n", all.setup.seed, all.plan.num_workers);
  std::fflush(stdout);
  return run_soak(all.setup, all.plan);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "spansort_soak: {}\n", e.what());
    return 2;
  }
}
