// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/schedule.hpp"

#include <algorithm>
#include <tuple>

#include "bench/suites/input.hpp"

namespace bench {
namespace {

auto rank_of(const scheduled_case& one) {
  const case_spec& spec = one.spec;
  return std::make_tuple(spec.level, spec.num_keys * record_bytes_of(spec.type), spec.type, spec.distribution);
}

}  // namespace

std::vector<scheduled_case> schedule(const std::vector<figure>& figures) {
  std::vector<scheduled_case> all;
  for (const figure& f : figures) {
    for (std::size_t place = 0; place < f.cases.size(); ++place) {
      const case_spec& spec = f.cases[place];
      auto found = std::ranges::find_if(all, [&](const scheduled_case& one) { return one.spec.is_like(spec); });
      if (found == all.end()) found = all.insert(all.end(), {spec, {}});
      found->spec.level = std::min(found->spec.level, spec.level);
      found->users.push_back({&f, place});
    }
  }
  std::ranges::stable_sort(all, {}, rank_of);
  return all;
}

}  // namespace bench
