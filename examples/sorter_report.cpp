// SPDX-License-Identifier: Apache-2.0
// A sorter keeps its devices, threads and buffers for the next call; a report says what each sort did.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <spansort/spansort.hpp>

int main() {
  spansort::sort_report report;
  spansort::sorter sorter({.devices = "host:2", .algorithm = spansort::algorithm::rmg, .report = &report});

  std::vector<std::uint64_t> keys(1'000'000);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    spansort::generate(spansort::as_key_span(std::span(keys)), spansort::parse_distribution("uniform"), seed);
    sorter.sort(keys);
    std::printf("%s on %zu devices: %.1f ms, imbalance %.3f\n", report.algorithm.c_str(), report.ranks.size(),
                report.elapsed_ms, report.imbalance);
  }
  for (const spansort::phase_report& phase : report.phases) {
    std::printf("  %-12s %8.2f ms %10.1f MB\n", phase.name.c_str(), phase.elapsed_ms,
                static_cast<double>(phase.bytes_moved) / 1e6);
  }
  return spansort::is_sorted(keys) ? 0 : 1;
}
