// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "bench/suites/candidate.hpp"
#include "bench/suites/devices.hpp"
#include "bench/suites/gpu/gpu.hpp"
#include "bench/suites/peers/peers.hpp"

namespace bench {

namespace {

bool is_wanted(const candidate& one, const std::vector<std::string>& words) {
  return words.empty() ||
         std::ranges::any_of(words, [&](const std::string& word) { return one.name.find(word) != std::string::npos; });
}

/// Returns all that take part in the grid of the CPU, those first that are fast as a rule: whoever is far behind them
/// has one turn.
std::vector<candidate> grid_candidates(const case_spec& spec, const settings& s) {
  std::vector<candidate> found = our_calls();
  if (s.peers) std::ranges::move(s.peers->candidates(spec), std::back_inserter(found));
  std::ranges::move(all_cpu_baselines(), std::back_inserter(found));
  std::erase_if(found, [&](const candidate& one) { return !is_wanted(one, s.contenders); });
  return found;
}

}  // namespace

std::vector<candidate> candidates_of(const figure& of, const case_spec& spec, const settings& s) {
  if (of.suite == "cpu") return grid_candidates(spec, s);
  std::vector<std::string> lists = s.devices;
  if (of.with_cpu && std::ranges::all_of(lists, is_gpu)) lists.emplace_back("cpu");
  std::vector<candidate> found = our_candidates(of, spec, lists);
  if (!of.with_baselines) return found;
  const auto add = [&found](std::vector<candidate> more) { std::ranges::move(more, std::back_inserter(found)); };
  if (!std::ranges::all_of(lists, is_gpu)) add(cpu_baselines());
  const auto gpu = std::ranges::find_if(lists, is_gpu);
  if (gpu != lists.end() && !of.spans_devices) add(gpu_baselines(first_gpu(*gpu)));
  if (s.peers) add(s.peers->candidates(spec));
  return found;
}

}  // namespace bench
