// SPDX-License-Identifier: Apache-2.0
#include "statistics/select_plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "device/device.hpp"

namespace spansort::statistics {
namespace {

/// Gathers ranges to collect and further cuts, in any order.
class plan_builder {
 public:
  explicit plan_builder(std::uint64_t max_key) : max_key_(max_key) {}

  /// A bound between `key` and what is above it.
  void cut_above(std::uint64_t key) {
    if (key < max_key_) cuts_.push_back(key + 1);
  }
  void cut_below(std::uint64_t key) {
    if (key > 0) cuts_.push_back(key);
  }
  void set_apart(std::uint64_t key) {
    cut_below(key);
    cut_above(key);
  }
  void collect(std::uint64_t low, std::uint64_t high) {
    cut_below(low);
    cut_above(high);
    collected_.push_back({low, high});
  }

  /// Marks all that is collected, but for intervals of a single value: a count is all there is to know of them.
  [[nodiscard]] read_plan finish(std::uint64_t most_collected) {
    std::ranges::sort(cuts_);
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    SPANSORT_ASSERT(cuts_.size() <= device::max_splitters);
    read_plan plan{std::move(cuts_), 0, most_collected};
    for (std::size_t i = 0; i <= plan.splitters.size(); ++i) {
      const std::uint64_t low = i == 0 ? 0 : plan.splitters[i - 1];
      const std::uint64_t high = i == plan.splitters.size() ? max_key_ : plan.splitters[i] - 1;
      const bool is_collected =
          std::ranges::any_of(collected_, [&](const bounds& b) { return b.low <= low && high <= b.high; });
      if (low != high && is_collected) plan.marked |= std::uint64_t{1} << i;
    }
    return plan;
  }

 private:
  struct bounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };

  std::uint64_t max_key_;
  std::vector<std::uint64_t> cuts_;
  std::vector<bounds> collected_;
};

/// The sample's keys by place, each place sought when it is asked for.
class ordered_sample {
 public:
  explicit ordered_sample(std::vector<std::uint64_t> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] std::uint64_t at(std::size_t place) {
    // The known places are as many as were asked for.
    const auto next = std::ranges::lower_bound(known_, place);
    if (next != known_.end() && *next == place) return keys_[place];
    const std::size_t begin = next == known_.begin() ? 0 : *(next - 1) + 1;
    const std::size_t end = next == known_.end() ? keys_.size() : *next;
    const auto at = [&](std::size_t i) { return keys_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(place), at(end));
    known_.insert(next, place);
    return keys_[place];
  }

 private:
  std::vector<std::uint64_t> keys_;
  std::vector<std::size_t> known_;
};

/// `count` times `part` in `whole`, roughly.
std::uint64_t in_proportion(std::uint64_t count, std::uint64_t part, std::uint64_t whole) {
  return static_cast<std::uint64_t>(static_cast<double>(count) *
                                    (static_cast<double>(part) / static_cast<double>(whole)));
}

/// Different ranges among the targets'.
std::vector<value_range> ranges_of(std::span<const target> targets) {
  std::vector<value_range> ranges;
  for (const target& t : targets) {
    if (ranges.empty() || ranges.back() != t.range) ranges.push_back(t.range);
  }
  return ranges;
}

/// Cuts a range into at least 5 equal parts, and where `sorted_sample` has quantiles in it. At most 2 + num_cuts cuts.
void cut_range(plan_builder& plan, const value_range& range, std::size_t num_cuts,
               std::span<const std::uint64_t> sorted_sample) {
  plan.cut_below(range.low);
  plan.cut_above(range.high);
  const std::uint64_t width = range.high - range.low;
  const std::uint64_t num_sampled = num_cuts / 3;
  const std::uint64_t num_even = std::min<std::uint64_t>(num_cuts - num_sampled, width);
  for (std::uint64_t i = 1; i <= num_even; ++i) {
    // What width / parts leaves out is dealt to the first parts.
    const std::uint64_t parts = num_even + 1;
    plan.cut_below(range.low + width / parts * i + std::min(i, width % parts));
  }
  const auto begin = std::ranges::lower_bound(sorted_sample, range.low);
  const auto end = std::ranges::upper_bound(sorted_sample, range.high);
  const auto num_inside = static_cast<std::uint64_t>(end - begin);
  for (std::uint64_t i = 1; i <= num_sampled && num_inside > num_sampled; ++i) {
    plan.cut_below(*(begin + static_cast<std::ptrdiff_t>(num_inside / (num_sampled + 1) * i)));
  }
}

}  // namespace

std::uint64_t sum_of_squares_below(const key_sample& sample, std::uint64_t key) {
  std::uint64_t sum_of_squares = 0;
  std::int64_t left = 0;
  for (std::size_t begin = 0; begin < sample.keys.size(); begin += sample.run_keys) {
    const std::size_t end = std::min<std::size_t>(begin + sample.run_keys, sample.keys.size());
    std::int64_t below = 0;
    for (std::size_t i = begin; i < end; ++i) below += sample.keys[i] < key ? 1 : 0;
    const std::int64_t difference = begin == 0 ? 0 : below - left;
    sum_of_squares += static_cast<std::uint64_t>(difference * difference);
    left = below;
  }
  return sum_of_squares;
}

read_plan plan_by_sample(const key_sample& sample, std::span<const target> targets, std::uint64_t num_keys,
                         std::uint64_t max_key) {
  SPANSORT_ASSERT(targets.size() <= max_targets);
  const std::vector<std::uint64_t> places = places_of(targets, sample.keys.size(), num_keys);
  return plan_by_brackets(bracket_targets(sample, places), sample.keys.size(), num_keys, max_key);
}

std::vector<std::uint64_t> places_of(std::span<const target> targets, std::uint64_t num_sampled,
                                     std::uint64_t num_keys) {
  std::vector<std::uint64_t> places;
  for (const target& t : targets)
    places.push_back(std::min(num_sampled - 1, in_proportion(num_sampled, t.rank, num_keys)));
  return places;
}

std::vector<device::rank_bracket> bracket_targets(const key_sample& sample, std::span<const std::uint64_t> places) {
  ordered_sample ordered(sample.keys);
  std::vector<device::rank_bracket> brackets;
  for (const std::uint64_t place : places) {
    device::rank_bracket b{.place = place};
    b.reach = device::sample_reach(sample.run_keys, sum_of_squares_below(sample, ordered.at(place)));
    if (b.has_low()) {
      b.far_below = ordered.at(place - b.reach - b.margin());
      b.low = ordered.at(place - b.reach);
    }
    if (b.has_high(sample.keys.size())) {
      b.high = ordered.at(place + b.reach);
      b.far_above = ordered.at(place + b.reach + b.margin());
    }
    brackets.push_back(b);
  }
  return brackets;
}

read_plan plan_by_brackets(std::span<const device::rank_bracket> brackets, std::uint64_t num_sampled,
                           std::uint64_t num_keys, std::uint64_t max_key) {
  plan_builder plan(max_key);
  std::uint64_t expected_places = 0;
  for (const device::rank_bracket& b : brackets) {
    // Further out by the margin and still the same key: it may go on as far as it likes.
    const std::uint64_t low = b.has_low() ? b.low : 0;
    if (b.has_low() && b.far_below == low) plan.set_apart(low);
    const std::uint64_t high = b.has_high(num_sampled) ? b.high : max_key;
    if (b.has_high(num_sampled) && b.far_above == high) plan.set_apart(high);
    plan.collect(low, high);
    expected_places += 2 * (b.reach + b.margin());
  }
  const std::uint64_t expected = in_proportion(num_keys, expected_places, num_sampled);
  return plan.finish(std::min(num_keys / 2, expected + expected / 4));
}

read_plan plan_by_ranges(const key_sample& sample, std::span<const target> targets, std::uint64_t num_keys,
                         std::uint64_t max_key) {
  SPANSORT_ASSERT(targets.size() <= max_targets);
  plan_builder plan(max_key);
  const std::vector<value_range> ranges = ranges_of(targets);
  std::uint64_t num_within = 0;
  for (const value_range& r : ranges) num_within += r.num_within;
  if (num_within <= collectable_keys(num_keys)) {
    for (const value_range& r : ranges) plan.collect(r.low, r.high);
    return plan.finish(num_within);
  }
  const auto is_large = [&](const value_range& r) { return r.num_within > collectable_keys(num_keys) / ranges.size(); };
  const auto num_large = static_cast<std::size_t>(std::ranges::count_if(ranges, is_large));
  std::vector<std::uint64_t> sorted_sample = sample.keys;
  std::ranges::sort(sorted_sample);
  for (const value_range& r : ranges) {
    // Small ones keep their two bounds, so that every target's range is one of the intervals.
    if (is_large(r)) {
      cut_range(plan, r, (device::max_splitters - 2 * ranges.size()) / num_large, sorted_sample);
    } else {
      plan.cut_below(r.low);
      plan.cut_above(r.high);
    }
  }
  return plan.finish(0);
}

located_interval locate(std::uint64_t rank, const read_plan& plan, std::span<const std::uint64_t> counts,
                        std::uint64_t max_key) {
  located_interval found;
  std::uint64_t num_below = 0;
  while (rank - num_below >= counts[found.interval]) {
    num_below += counts[found.interval++];
    SPANSORT_ASSERT(found.interval < counts.size());
  }
  found.range.low = found.interval == 0 ? 0 : plan.splitters[found.interval - 1];
  found.range.high = found.interval == plan.splitters.size() ? max_key : plan.splitters[found.interval] - 1;
  found.range.num_below = num_below;
  found.range.num_within = counts[found.interval];
  return found;
}

}  // namespace spansort::statistics
