// SPDX-License-Identifier: Apache-2.0
#include "statistics/rough_view.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "statistics/select_plan.hpp"

namespace spansort::statistics {
namespace {

std::uint64_t scaled(std::uint64_t count, double share) {
  return static_cast<std::uint64_t>(static_cast<double>(count) * share);
}

/// Places in a sample, and the keys between which those of a place in all keys lie.
class sample_places {
 public:
  /// `sorted` are the sample's keys in order, and outlive it.
  sample_places(const sampled_keys& sample, std::span<const std::uint64_t> sorted, std::uint64_t last_number)
      : sample_{sample.keys, sample.run_keys},
        sorted_(sorted),
        last_number_(last_number),
        num_numbers_(static_cast<std::uint64_t>(std::ranges::upper_bound(sorted, last_number) - sorted.begin())) {
    // NaN keys make the number of numbers as uncertain as a rank is.
    if (num_numbers_ != 0 && num_numbers_ != num_sampled()) doubt_ = reach_at(num_numbers_);
  }

  [[nodiscard]] std::uint64_t num_sampled() const noexcept { return sample_.keys.size(); }
  [[nodiscard]] std::uint64_t num_numbers() const noexcept { return num_numbers_; }
  /// `share`: of the doubt about the number of numbers that the place is subject to.
  [[nodiscard]] std::uint64_t low_of(std::uint64_t place, double share) const {
    const std::uint64_t lowest = place - std::min(place, scaled(doubt_, share));
    const std::uint64_t reach = reach_at(lowest);
    return lowest > reach ? std::min(sorted_[std::min(lowest, num_sampled() - 1) - reach], last_number_) : 0;
  }
  [[nodiscard]] std::uint64_t high_of(std::uint64_t place, double share) const {
    const std::uint64_t highest = place + scaled(doubt_, share);
    const std::uint64_t reach = reach_at(highest);
    return highest + reach < num_sampled() ? std::min(sorted_[highest + reach], last_number_) : last_number_;
  }

 private:
  [[nodiscard]] std::uint64_t reach_at(std::uint64_t place) const {
    const std::uint64_t key = sorted_[std::min(place, num_sampled() - 1)];
    return device::sample_reach(sample_.run_keys, sum_of_squares_below(sample_, key));
  }

  key_sample sample_;
  std::span<const std::uint64_t> sorted_;
  std::uint64_t last_number_;
  std::uint64_t num_numbers_;
  std::uint64_t doubt_ = 0;
};

}  // namespace

rough_view view_of_sample(const sampled_keys& sample, const interval_index& index, std::uint64_t last_number) {
  const auto places = std::make_shared<sample_places>(sample, index.sample(), last_number);
  rough_view view;
  view.about_before = [&index](std::uint64_t bound) { return index.about_before(bound); };
  if (places->num_numbers() == 0) return view;
  const double keys_per_sampled = static_cast<double>(index.num_keys()) / static_cast<double>(places->num_sampled());
  view.num_numbers = scaled(places->num_numbers(), keys_per_sampled);
  view.around_quantile = [places](double q) {
    const std::uint64_t place = scaled(places->num_numbers() - 1, q);
    return encoded_range{places->low_of(place, q), places->high_of(place + 1, q)};
  };
  view.end_of_first = [places, keys_per_sampled](std::uint64_t count) {
    return places->high_of(scaled(count, 1 / keys_per_sampled), 0);
  };
  view.begin_of_last = [places, keys_per_sampled](std::uint64_t count) {
    const std::uint64_t num_last = std::min(places->num_numbers(), scaled(count, 1 / keys_per_sampled));
    return places->low_of(places->num_numbers() - num_last, 1);
  };
  return view;
}

rough_view view_of_index(const interval_index& index, std::uint64_t num_numbers) {
  rough_view view;
  view.num_numbers = num_numbers;
  view.about_before = [&index](std::uint64_t bound) { return index.about_before(bound); };
  if (num_numbers == 0) return view;
  view.around_quantile = [&index, num_numbers](double q) {
    // Quantiles of all methods lie between the neighbours of this rank.
    const std::uint64_t rank = scaled(num_numbers - 1, q);
    const std::uint64_t lower = std::min(rank - std::min<std::uint64_t>(rank, 1), num_numbers - 1);
    const std::uint64_t upper = std::min(rank + 2, num_numbers - 1);
    return encoded_range{index.range_of_rank(lower).low, index.range_of_rank(upper).high};
  };
  view.end_of_first = [&index, num_numbers](std::uint64_t count) {
    return index.range_of_rank(std::min(count, num_numbers - 1)).high;
  };
  view.begin_of_last = [&index, num_numbers](std::uint64_t count) {
    return index.range_of_rank(num_numbers - 1 - std::min(count, num_numbers - 1)).low;
  };
  return view;
}

}  // namespace spansort::statistics
