// SPDX-License-Identifier: Apache-2.0
// ./dev tune: the partition kernels with all sizes that this GPU has room for, and the table's rows that the fastest
// make. src/device/cuda/tuning/partition_policy.hpp holds such rows.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spansort/errors.hpp>
#include <spansort/version.hpp>

#include "bench/circumstances.hpp"
#include "bench/gpu/timing.hpp"
#include "bench/tune/sweep.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/request.hpp"

namespace bench::tune {

std::vector<sweep> all_sweeps() {
  std::vector<sweep> all = partition_sweeps<std::uint32_t>();
  for (const sweep& s : partition_sweeps<std::uint64_t>()) all.push_back(s);
  return all;
}

namespace {

namespace cuda = spansort::device::cuda;
using json = nlohmann::ordered_json;

struct options {
  unsigned log2_size = 27;
  unsigned repeats = 7;
  std::uint64_t seed = 1;
  std::string commit;
  std::string json_file;
};

[[nodiscard]] json to_json(const sweep& of, const sweep_line& line) {
  return {{"primitive", of.primitive},       {"key_bytes", of.key_bytes},
          {"value_bytes", of.value_bytes},   {"sizes", line.sizes},
          {"in_use", line.is_in_use},        {"shared_bytes", line.shared_bytes},
          {"registers", line.registers},     {"spilled_bytes", line.spilled_bytes},
          {"blocks_each", line.blocks_each}, {"fits", line.fits},
          {"verified", line.is_right},       {"ms", median(line.runs_ms)},
          {"runs_ms", line.runs_ms}};
}

[[nodiscard]] std::string what(const sweep& s) {
  return fmt::format("{}, keys of {} bytes{}", s.primitive, s.key_bytes,
                     s.value_bytes == 0 ? "" : fmt::format(", values of {}", s.value_bytes));
}

/// Prints the fastest sizes next to those in use. Returns the number of runs whose output was wrong.
unsigned print(const sweep& s, const std::vector<sweep_line>& lines) {
  unsigned num_wrong = 0;
  const sweep_line* best = nullptr;
  const sweep_line* in_use = nullptr;
  for (const sweep_line& line : lines) {
    if (!line.fits) continue;
    if (!line.is_right) {
      ++num_wrong;
      fmt::print("WRONG: {} with {}\n", what(s), line.sizes);
      continue;
    }
    if (line.is_in_use) in_use = &line;
    if (best == nullptr || median(line.runs_ms) < median(best->runs_ms)) best = &line;
  }
  if (best == nullptr) {
    fmt::print("{:<58} none runs here\n", what(s));
    return num_wrong;
  }
  const auto text = [](const sweep_line* line) {
    return line == nullptr ? std::string("-") : fmt::format("{} {:.3f} ms", line->sizes, median(line->runs_ms));
  };
  fmt::print("{:<58} in use {:<26} best {}\n", what(s), text(in_use), text(best));
  return num_wrong;
}

int run(const options& o, const std::string& command) {
  int ordinal = 0;
  cudaDeviceProp gpu{};
  SPANSORT_CUDA(cudaGetDevice(&ordinal));
  SPANSORT_CUDA(cudaGetDeviceProperties(&gpu, ordinal));
  const cuda::compute_capability code = cuda::compiled_for();
  int runtime = 0;
  SPANSORT_CUDA(cudaRuntimeGetVersion(&runtime));
  json result{{"benchmark", "tune"},
              {"version", SPANSORT_VERSION},
              {"commit", o.commit},
              {"command", command},
              {"date", date_today()},
              {"device", gpu.name},
              {"compiled_for", fmt::format("{}.{}", code.major, code.minor)},
              {"runtime_cuda", runtime},
              {"num_records", std::uint64_t{1} << o.log2_size},
              {"seed", o.seed},
              {"statistic", "median of runs_ms"},
              {"lines", json::array()}};
  fmt::print("{}, code for {}.{}, 2^{} records, least medians of {} runs\n", gpu.name, code.major, code.minor,
             o.log2_size, o.repeats);
  unsigned num_wrong = 0;
  for (const sweep& s : all_sweeps()) {
    const std::vector<sweep_line> lines = s.run({std::uint64_t{1} << o.log2_size, o.repeats, o.seed});
    num_wrong += print(s, lines);
    std::fflush(stdout);
    for (const sweep_line& line : lines) result["lines"].push_back(to_json(s, line));
  }
  if (!o.json_file.empty()) std::ofstream(o.json_file) << result.dump(1) << '\n';
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench::tune

int main(int argc, char** argv) {
  bench::tune::options o;
  CLI::App app{"Runs the GPU's partition kernels with all sizes that this GPU has room for, and names the fastest."};
  app.add_option("--log2-size", o.log2_size, "of the number of records: 27")->check(CLI::Range(16U, 29U));
  app.add_option("--repeats", o.repeats, "timed runs of each set of sizes: 7")->check(CLI::PositiveNumber);
  app.add_option("--seed", o.seed, "of the keys");
  app.add_option("--commit", o.commit, "what was measured, for the JSON");
  app.add_option("--json", o.json_file, "write all runs here");
  CLI11_PARSE(app, argc, argv);
  std::string command = "spansort_tune_gpu";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  try {
    return bench::tune::run(o, command);
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_tune_gpu: {}\n", e.what());
    return 1;
  }
}
