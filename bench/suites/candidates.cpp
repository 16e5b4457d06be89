// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "bench/suites/candidate.hpp"
#include "bench/suites/devices.hpp"
#include "bench/suites/gpu/gpu.hpp"

namespace bench {

std::vector<candidate> candidates_of(const figure& of, const case_spec& spec, const settings& s) {
  std::vector<std::string> lists = s.devices;
  if (of.with_cpu && std::ranges::all_of(lists, is_gpu)) lists.emplace_back("cpu");
  std::vector<candidate> found = our_candidates(of, spec, lists);
  if (!of.with_baselines) return found;
  const auto add = [&found](std::vector<candidate> more) { std::ranges::move(more, std::back_inserter(found)); };
  if (!std::ranges::all_of(lists, is_gpu)) add(cpu_baselines());
  const auto gpu = std::ranges::find_if(lists, is_gpu);
  if (gpu != lists.end() && !of.spans_devices) add(gpu_baselines(first_gpu(*gpu)));
  if (!s.peers_file.empty()) add(peer_candidates(s.peers_file, spec));
  return found;
}

}  // namespace bench
