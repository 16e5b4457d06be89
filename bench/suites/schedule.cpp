// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/schedule.hpp"

#include <algorithm>
#include <tuple>

#include "bench/suites/input.hpp"

namespace bench {
namespace {

std::uint64_t bytes_of(const scheduled_case& one) {
  return one.spec.num_keys * parse_record_type(one.spec.type).size_bytes();
}

/// Inputs that are small beside the largest cost next to nothing: they come a level earlier.
void hurry_small_ones(std::vector<scheduled_case>& all) {
  constexpr std::uint64_t small_part = 64;
  std::uint64_t largest = 0;
  for (const scheduled_case& one : all) largest = std::max(largest, bytes_of(one));
  for (scheduled_case& one : all) {
    if (one.spec.level != 0 && bytes_of(one) <= largest / small_part) --one.spec.level;
  }
}

auto rank_of(const scheduled_case& one) {
  return std::make_tuple(one.spec.level, bytes_of(one), one.spec.type, one.spec.distribution);
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
  hurry_small_ones(all);
  std::ranges::stable_sort(all, {}, rank_of);
  return all;
}

}  // namespace bench
