// SPDX-License-Identifier: Apache-2.0
// Plans of any counts: a plan of counts that add up is whole, its JSON is JSON and its drawing a text; a plan that is
// changed afterwards is found to be wrong or is right, and never read beyond its ends.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "byte_reader.hpp"
#include "plan/planner.hpp"
#include "spansort/errors.hpp"

namespace {

using namespace spansort::plan;
using spansort::fuzz::byte_reader;

/// `total` in `count` parts, the last of which gets what is left.
std::vector<std::uint64_t> divide(byte_reader& input, std::uint64_t total, std::uint64_t count) {
  std::vector<std::uint64_t> parts(count);
  for (std::uint64_t i = 0; i + 1 < count && total != 0; ++i) {
    const std::uint64_t share = input.number();
    parts[i] = share == 255 ? total : total / 256 * share + std::min<std::uint64_t>(total % 256, share);
    total -= parts[i];
  }
  parts.back() += total;
  return parts;
}

parameters read_parameters(byte_reader& input) {
  static constexpr unsigned widths[] = {8, 16, 64};
  parameters p;
  p.num_ranks = 1 + static_cast<unsigned>(input.below(5));
  p.key_bits = widths[input.below(3)];
  // Few passes of few buckets: what takes long finds little.
  p.radix_bits = p.key_bits == 64 ? 7 : 3 + static_cast<unsigned>(input.below(3));
  p.num_keys = input.number(1 + static_cast<unsigned>(input.below(6)));
  p.epsilon = static_cast<double>(input.number()) / 256;
  p.fuse_threshold = static_cast<double>(input.number()) / 256;
  const std::uint64_t uneven = input.below(4);
  if ((uneven & 1) != 0) p.source_counts = divide(input, p.num_keys, p.num_ranks);
  if ((uneven & 2) != 0) p.target_counts = divide(input, p.num_keys, p.num_ranks);
  return p;
}

sort_plan make_plan(byte_reader& input) {
  planner p(read_parameters(input));
  while (!p.pending().empty()) {
    std::vector<std::vector<std::vector<std::uint64_t>>> histograms;
    for (const refinement& r : p.pending()) {
      auto& own = histograms.emplace_back();
      for (const slice& s : r.slices) own.push_back(divide(input, s.count, r.digit.num_buckets()));
    }
    p.add_pass(histograms);
  }
  return std::move(p).finish();
}

/// Changes one number somewhere.
void spoil(sort_plan& plan, byte_reader& input) {
  const std::uint64_t number = input.number(8);
  const auto one_of = [&](auto& all) -> auto& { return all[number % all.size()]; };
  switch (input.below(6)) {
    case 0:
      if (!plan.transfers.empty()) one_of(plan.transfers).destination_offset = number;
      break;
    case 1:
      if (!plan.transfers.empty()) one_of(plan.transfers).source_rank = static_cast<unsigned>(number);
      break;
    case 2:
      if (!plan.local_sorts.empty()) one_of(plan.local_sorts).count = number;
      break;
    case 3: one_of(plan.rank_begins) = number; break;
    case 4:
      if (!plan.passes.empty() && !plan.passes.back().buckets.empty()) {
        one_of(plan.passes.back().buckets).slice_counts.resize(number % 11);
      }
      break;
    default:
      if (!plan.transfers.empty()) one_of(plan.transfers).destination_rank = static_cast<unsigned>(number);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  byte_reader input(data, size);
  sort_plan plan = make_plan(input);
  verify(plan);
  const nlohmann::json read = nlohmann::json::parse(to_json(plan));
  if (read.at("transfers").size() != plan.transfers.size()) std::abort();
  if (read.at("local_sorts").size() != plan.local_sorts.size()) std::abort();
  if (draw(plan, 20 + static_cast<unsigned>(input.number())).empty()) std::abort();
  spoil(plan, input);
  try {
    verify(plan);
  } catch (const spansort::internal_error&) {
  }
  return 0;
}
