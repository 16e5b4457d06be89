// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/math.hpp"

namespace spansort::plan::test {

namespace {

constexpr record unwritten{~std::uint64_t{0}, ~std::uint64_t{0}};

auto at(std::vector<record>& records, std::uint64_t offset) {
  return records.begin() + static_cast<std::ptrdiff_t>(offset);
}

std::vector<record> with_indices(const std::vector<std::uint64_t>& keys) {
  std::vector<record> records;
  for (const std::uint64_t key : keys) records.push_back({key, records.size()});
  return records;
}

}  // namespace

simulation::simulation(const parameters& params, const std::vector<std::uint64_t>& keys) : params_(params) {
  EXPECT_EQ(params.num_keys, keys.size());
  std::vector<record> records = with_indices(keys);
  for (unsigned rank = 0; rank < params.num_ranks; ++rank) {
    chunks_.emplace_back(at(records, source_begin(params, rank)), at(records, source_begin(params, rank + 1)));
  }
}

sort_plan simulation::make_plan() {
  planner p(params_);
  while (!p.pending().empty()) {
    pass_histograms histograms;
    for (const refinement& r : p.pending()) {
      auto& of_refinement = histograms.emplace_back();
      for (const slice& part : r.slices) of_refinement.push_back(partition(r.digit, r.prefix, part));
    }
    p.add_pass(histograms);
  }
  return std::move(p).finish();
}

std::vector<std::uint64_t> simulation::partition(const keys::digit_position& digit, keys::prefix prefix,
                                                 const slice& part) {
  auto& chunk = chunks_[part.rank];
  const auto begin = at(chunk, part.offset);
  const auto end = at(chunk, part.offset + part.count);
  std::vector<std::uint64_t> histogram(digit.num_buckets());
  for (auto it = begin; it != end; ++it) {
    const std::uint64_t upper = prefix.bit_count == 0 ? 0 : it->key >> (digit.shift + digit.bits);
    EXPECT_EQ(upper, prefix.bits) << "a slice holds keys of another bucket";
    ++histogram[digit.of(it->key)];
  }
  std::stable_sort(begin, end, [&](const record& a, const record& b) { return digit.of(a.key) < digit.of(b.key); });
  return histogram;
}

std::vector<record> simulation::execute(const sort_plan& plan) const {
  std::vector<record> whole(params_.num_keys, unwritten);
  for (const transfer& t : plan.transfers) {
    for (std::uint64_t i = 0; i < t.count; ++i) {
      record& target = whole.at(plan.rank_begins[t.destination_rank] + t.destination_offset + i);
      EXPECT_EQ(target, unwritten) << "two keys arrive at one place";
      target = chunks_[t.source_rank].at(t.source_offset + i);
    }
  }
  sort_copies(plan, whole);
  for (const local_sort& sort : plan.local_sorts) {
    if (sort.bits.empty()) continue;
    const auto begin = at(whole, plan.rank_begins[sort.rank] + sort.offset);
    const std::uint64_t mask = base::low_mask(sort.bits.end);
    std::stable_sort(begin, begin + static_cast<std::ptrdiff_t>(sort.count),
                     [&](const record& a, const record& b) { return (a.key & mask) < (b.key & mask); });
  }
  return whole;
}

void simulation::sort_copies(const sort_plan& plan, std::vector<record>& whole) const {
  std::vector<std::vector<record>> aside(params_.num_ranks);
  for (std::vector<record>& of_rank : aside) of_rank.resize(most_copied_keys(params_), unwritten);
  for (const transfer& t : plan.copied_transfers) {
    for (std::uint64_t i = 0; i < t.count; ++i) {
      record& target = aside[t.destination_rank].at(t.destination_offset + i);
      EXPECT_EQ(target, unwritten) << "two keys arrive at one place";
      target = chunks_[t.source_rank].at(t.source_offset + i);
    }
  }
  for (const copied_sort& sort : plan.copied_sorts) {
    const auto begin = at(aside[sort.rank], sort.aside);
    const std::uint64_t mask = base::low_mask(sort.bits.end);
    std::stable_sort(begin, begin + static_cast<std::ptrdiff_t>(sort.count),
                     [&](const record& a, const record& b) { return (a.key & mask) < (b.key & mask); });
    for (std::uint64_t i = 0; i < sort.num_kept; ++i) {
      record& target = whole.at(plan.rank_begins[sort.rank] + sort.offset + i);
      EXPECT_EQ(target, unwritten) << "two keys are kept at one place";
      target = aside[sort.rank].at(sort.aside + sort.first_kept + i);
    }
  }
}

std::vector<record> sorted_oracle(const std::vector<std::uint64_t>& keys) {
  std::vector<record> records = with_indices(keys);
  std::stable_sort(records.begin(), records.end(), [](const record& a, const record& b) { return a.key < b.key; });
  return records;
}

}  // namespace spansort::plan::test
