// SPDX-License-Identifier: Apache-2.0
#include "plan/sampled_cuts.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/assert.hpp"
#include "base/shares.hpp"

namespace spansort::plan {
namespace {

struct sample {
  std::uint64_t key = 0;
  std::size_t run = 0;
  std::uint64_t position = 0;

  [[nodiscard]] auto place() const { return std::tie(key, run, position); }
};

std::uint64_t sum_of(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

cut_bracket first_bracket(std::span<const std::uint64_t> run_sizes, std::uint64_t num_first) {
  const std::uint64_t total = std::accumulate(run_sizes.begin(), run_sizes.end(), std::uint64_t{0});
  SPANSORT_ASSERT(num_first <= total);
  cut_bracket bracket;
  for (const std::uint64_t size : run_sizes) {
    const std::uint64_t num_others = total - size;
    bracket.low.push_back(num_first - std::min(num_first, num_others));
    bracket.high.push_back(std::min(num_first, size));
  }
  return bracket;
}

std::vector<std::uint64_t> sample_positions(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t count = high - low;
  std::vector<std::uint64_t> positions(std::min(count, samples_of_a_run));
  if (count <= samples_of_a_run) {
    std::iota(positions.begin(), positions.end(), low);
    return positions;
  }
  for (std::uint64_t i = 0; i < samples_of_a_run; ++i) {
    positions[i] = low + base::share_begin(count, samples_of_a_run + 1, i + 1);
  }
  return positions;
}

void narrow(cut_bracket& bracket, std::uint64_t num_first, const std::vector<std::vector<std::uint64_t>>& keys) {
  const std::size_t num_runs = keys.size();
  std::vector<std::vector<std::uint64_t>> positions(num_runs);
  std::vector<sample> samples;
  for (std::size_t run = 0; run < num_runs; ++run) {
    positions[run] = sample_positions(bracket.low[run], bracket.high[run]);
    SPANSORT_ASSERT(keys[run].size() == positions[run].size());
    for (std::size_t i = 0; i < keys[run].size(); ++i) samples.push_back({keys[run][i], run, positions[run][i]});
  }
  std::ranges::sort(samples, {}, &sample::place);

  // Between the samples that have been passed and those that come lies what is unknown: before the sample at hand, run
  // i has at least `least[i]` records and at most `most[i]`.
  std::vector<std::uint64_t> least = bracket.low;
  std::vector<std::uint64_t> most = bracket.high;
  std::vector<std::size_t> num_passed(num_runs, 0);
  for (std::size_t run = 0; run < num_runs; ++run) {
    if (!positions[run].empty()) most[run] = positions[run].front();
  }
  std::uint64_t least_of_all = sum_of(least);
  std::uint64_t most_of_all = sum_of(most);
  for (const sample& s : samples) {
    // Exactly `position` records are before it in its own run.
    least_of_all += s.position - least[s.run];
    least[s.run] = s.position;
    if (least_of_all >= num_first) {  // it lies behind the cut, and so does all that is behind it
      bracket.high = most;
      return;
    }
    const bool is_before = most_of_all < num_first;  // it and all that is before it
    ++least[s.run];
    ++least_of_all;
    if (is_before) bracket.low = least;
    const std::size_t next = ++num_passed[s.run];
    const std::uint64_t upto = next < positions[s.run].size() ? positions[s.run][next] : bracket.high[s.run];
    most_of_all += upto - most[s.run];
    most[s.run] = upto;
  }
}

}  // namespace spansort::plan
