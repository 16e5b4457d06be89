// SPDX-License-Identifier: Apache-2.0
// ./dev bench gpu: Spansort on GPUs next to CUB and to the bare copies; same input, same process, every output
// verified.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <regex>
#include <spansort/errors.hpp>

#include "bench/gpu/case_runner.hpp"
#include "bench/gpu/device_list.hpp"
#include "bench/gpu/metadata.hpp"
#include "bench/gpu/suites.hpp"
#include "device/cuda/cuda_error.hpp"

namespace bench {
namespace {

void add_suite(const std::string& suite, const settings& s, const shared_arrays& arrays, case_list& cases) {
  if (suite == "local") add_local_cases(s, cases);
  if (suite == "sizes") add_size_cases(s, cases);
  if (suite == "host") add_host_cases(s, arrays, cases);
  if (suite == "resident") add_resident_cases(s, cases);
  if (suite == "distributions") add_distribution_cases(s, arrays, cases);
  if (suite == "breakdown") add_breakdown_cases(s, arrays, cases);
  if (suite == "small") add_small_cases(s, cases);
  if (suite == "random") add_random_cases(s, cases);
  if (suite == "segments") add_segment_cases(s, cases);
  if (suite == "larger") add_larger_cases(s, arrays, cases);
}

case_list make_cases(const settings& s) {
  // The large cases of all types move as many bytes as the u32 one.
  std::uint64_t array_bytes = static_cast<std::uint64_t>(s.num_keys) * sizeof(std::uint32_t);
  if (std::ranges::find(s.suites, "larger") != s.suites.end()) {
    array_bytes = s.suites.size() == 1 ? larger_input_bytes(s) : std::max(array_bytes, larger_input_bytes(s));
  }
  const auto arrays = std::make_shared<host_arrays>(array_bytes);
  case_list cases;
  for (const std::string& suite : s.suites) add_suite(suite, s, arrays, cases);
  const std::regex wanted(s.cases);
  std::erase_if(cases, [&](const auto& c) { return !std::regex_search(c.name, wanted); });
  return cases;
}

int run(settings s, const std::string& command) {
  resolve_devices(s);
  spansort::device::cuda::check(cudaSetDevice(s.devices.front()), "cudaSetDevice");  // pinning needs no other GPU
  const std::string shrunk = shrink_to_memory(s);
  if (!shrunk.empty()) fmt::print("{}\n", shrunk);
  const json meta = metadata(s, command, shrunk);
  fmt::print("{}: {}, {}, {} host threads\n", device_list_text(s.devices), count_text(s.devices),
             meta["device"].get<std::string>(), meta["host_threads"].get<unsigned>());
  return case_runner(s, meta).run(make_cases(s));
}

std::string command_of(int argc, char** argv) {
  std::string command = "spansort_bench_gpu";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  return command;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::settings s;
  CLI::App app{"Races Spansort on GPUs against CUB and against the bare copies between host and GPUs."};
  app.add_option("--suites", s.suites,
                 "in this order; default: sizes,local,host,resident,distributions,breakdown,small; and larger, random, "
                 "segments")
      ->delimiter(',')
      ->check(CLI::IsMember({"sizes", "local", "host", "resident", "distributions", "breakdown", "small", "larger",
                             "random", "segments"}));
  app.add_option("--cases", s.cases, "only those whose names have a match of this regular expression");
  app.add_option("--devices", s.devices, "ordinals of GPUs, 0,1,2,3; one may repeat; default: all")->delimiter(',');
  app.add_option("--max-gpus", s.max_gpus, "use no more GPUs of the list")->check(CLI::PositiveNumber);
  app.add_option("--keys", s.num_keys, "u32 keys of the large cases, 2e9; fewer where memory ends")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--device-memory", s.device_memory_bytes,
         "bytes that sorts of suite larger may take of a GPU, 2 GiB; their input is four times that of all GPUs")
      ->check(CLI::PositiveNumber)
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--log2-size", s.log2_size, "of the inputs of suites local and segments: 28")
      ->check(CLI::Range(4U, 34U));
  app.add_option("--repeats", s.repeats, "timed runs of each case: 7")->check(CLI::PositiveNumber);
  app.add_option("--random-keys", s.random_keys, "keys of all sorts of suite random: 1e10")->check(CLI::PositiveNumber);
  app.add_option("--seconds", s.seconds, "begin no further case after this long, and name those left out");
  app.add_option("--seed", s.seed, "of the inputs");
  app.add_option("--commit", s.commit, "what was measured, for the JSON");
  app.add_option("--json", s.json_file, "write all runs here, anew after each case");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(s, bench::command_of(argc, argv));
  } catch (const std::regex_error& e) {
    fmt::print(stderr, "spansort_bench_gpu: --cases {}: {}\n", s.cases, e.what());
    return 2;
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_bench_gpu: {}\n", e.what());
    return e.exit_status();
  }
}
