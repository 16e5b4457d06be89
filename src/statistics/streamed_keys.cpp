// SPDX-License-Identifier: Apache-2.0
#include "statistics/streamed_keys.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/rank_sampler.hpp"
#include "spansort/errors.hpp"
#include "statistics/box.hpp"
#include "statistics/count_blocks.hpp"
#include "statistics/key_value.hpp"
#include "statistics/rough_view.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::statistics {
namespace {

/// Keys this narrow have so few values that all are counted.
constexpr unsigned most_counted_bits = 16;
constexpr std::uint64_t run_bytes = 4096;  // what a read from a disk takes at least
constexpr std::uint64_t most_sampled = std::uint64_t{1} << 21;
constexpr std::uint64_t fewest_sampled = std::uint64_t{1} << 12;
/// Parts of equal numbers of keys, as the sample has them, that the first read counts besides.
constexpr std::uint64_t num_even_parts = 1024;
/// Intervals that a read may have, about.
constexpr std::uint64_t usual_intervals = std::uint64_t{1} << 13;
/// One read that collects about a twelfth of the keys answers all of a summary.
constexpr std::uint64_t keys_per_collected = 12;

}  // namespace

streamed_keys::streamed_keys(key_blocks& keys, std::uint64_t memory_bytes, unsigned threads)
    : ordered_keys(keys.type(), false), keys_(keys), memory_bytes_(memory_bytes), threads_(threads) {
  static_cast<void>(most_collected(usual_intervals));
}

streamed_keys::~streamed_keys() = default;

std::uint64_t streamed_keys::most_collected(std::uint64_t num_intervals) const {
  const std::uint64_t intervals =
      codec().key_bits() <= most_counted_bits ? base::low_mask(codec().key_bits()) + 1 : num_intervals;
  const std::uint64_t sample_bytes = 3 * fewest_sampled * sizeof(std::uint64_t);
  const std::uint64_t needed = memory_of_read(key_bytes(), threads_, intervals) + sample_bytes;
  if (memory_bytes_ < needed) {
    throw out_of_memory(
        fmt::format("order statistics of keys that do not fit in memory: {} bytes are too few to read them in blocks; "
                    "{} would do",
                    memory_bytes_, needed),
        needed, memory_bytes_);
  }
  // Collected keys are sorted, which takes as much again; half of the rest stays for what was collected before.
  return (memory_bytes_ - needed) / 4 / key_bytes();
}

unsigned streamed_keys::expected_reads() const {
  const bool is_first = index_ == nullptr || !index_->has_counts();
  const bool is_narrow = codec().key_bits() <= most_counted_bits;
  return is_first && !is_narrow && most_collected(usual_intervals) < num_keys() / keys_per_collected ? 2 : 1;
}

void streamed_keys::expect_quantiles(std::span<const double> q) {
  expected_q_.insert(expected_q_.end(), q.begin(), q.end());
  std::ranges::sort(expected_q_);
  expected_q_.erase(std::unique(expected_q_.begin(), expected_q_.end()), expected_q_.end());
}

void streamed_keys::expect_summary(const summary_options& options) {
  expect_quantiles(std::vector<double>{0, 0.25, 0.5, 0.75, 1});
  expect_quantiles(bowley_seven_q);
  expect_quantiles(normal_seven_q);
  if (const auto& p = options.whiskers.percentiles) {
    expect_quantiles(std::vector<double>{q_of_percentile(p->low), q_of_percentile(p->high)});
  }
  expected_box_ = {options.whiskers, options.most_outliers};
}

void streamed_keys::prepare_edges(std::span<const double> edges) const {
  require_counts();
  index_wishes wishes;
  for (const double edge : edges) {
    for (const key_bound& b : {at_least(edge), above(edge)}) {
      if (!b.is_end && !index_->count_before(b.encoded)) wishes.cuts.push_back(b.encoded);
    }
  }
  if (!wishes.cuts.empty()) read(std::move(wishes));
}

std::uint64_t streamed_keys::last_number() const {
  const key_bound nans = first_nan();
  return nans.is_end ? base::low_mask(codec().key_bits()) : nans.encoded - 1;
}

void streamed_keys::open_index() const {
  if (index_ != nullptr) return;
  const std::uint64_t max_key = base::low_mask(codec().key_bits());
  if (codec().key_bits() > most_counted_bits) {
    const std::uint64_t room = std::clamp(memory_bytes_ / 8 / 3 / sizeof(std::uint64_t), fewest_sampled, most_sampled);
    const std::uint64_t run_keys = run_bytes / key_bytes();
    sample_.run_keys = run_keys;
    const std::uint64_t num_runs = num_sample_runs(num_keys(), room, run_keys);
    sample_.keys.resize(num_runs * run_keys);
    const std::uint64_t part_keys = num_runs == 0 ? 0 : num_keys() / num_runs;
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::parallel_for(
        std::uint64_t{0}, num_runs,
        [&](std::uint64_t r) {
          std::vector<std::byte> run(run_keys * key_bytes());
          keys_.read(device::sample_run_begin(r, part_keys, run_keys), run_keys, run.data());
          for (std::uint64_t i = 0; i < run_keys; ++i) {
            sample_.keys[r * run_keys + i] = encode(bits_of_key(run.data(), i, key_bytes()));
          }
        },
        own);
  }
  std::vector<std::uint64_t> sorted = sample_.keys;
  std::ranges::sort(sorted);
  index_ = std::make_unique<interval_index>(num_keys(), max_key, std::move(sorted));
}

void streamed_keys::append_first_cuts(index_wishes& wishes) const {
  const std::uint64_t max_key = base::low_mask(codec().key_bits());
  if (!first_nan().is_end) wishes.cuts.push_back(first_nan().encoded);
  if (codec().key_bits() <= most_counted_bits) {
    for (std::uint64_t key = 1; key <= max_key; ++key) wishes.cuts.push_back(key);
    return;
  }
  const std::vector<std::uint64_t>& sorted = index_->sample();
  std::uint64_t last = 0;
  for (std::uint64_t i = 1; i < num_even_parts && sorted.size() >= num_even_parts; ++i) {
    const std::uint64_t key = sorted[sorted.size() / num_even_parts * i];
    wishes.cuts.push_back(key);
    if (key == last) wishes.often.push_back(key);
    last = key;
  }
}

void streamed_keys::append_expected(const rough_view& view, index_wishes& wishes) const {
  if (view.num_numbers == 0) return;
  for (const double q : expected_q_) {
    // The ends are the least and the greatest key of their intervals.
    if (q != 0 && q != 1) wishes.known.push_back(view.around_quantile(q));
  }
  if (expected_box_) append_fences(view, wishes);
}

void streamed_keys::append_fences(const rough_view& view, index_wishes& wishes) const {
  const auto value = [this](std::uint64_t encoded) { return key_value(type(), decode(encoded)); };
  const whisker_rule& rule = expected_box_->whiskers;
  interval low{};   // where the low fence is
  interval high{};  // where the high one is
  if (rule.percentiles) {
    const encoded_range lower = view.around_quantile(q_of_percentile(rule.percentiles->low));
    const encoded_range upper = view.around_quantile(q_of_percentile(rule.percentiles->high));
    low = {value(lower.low), value(lower.high)};
    high = {value(upper.low), value(upper.high)};
  } else {
    const encoded_range lower = view.around_quantile(0.25);
    const encoded_range upper = view.around_quantile(0.75);
    const interval q1{value(lower.low), value(lower.high)};
    const interval q3{value(upper.low), value(upper.high)};
    const double widest = rule.iqr_factor * (q3.high - q1.low);
    const double narrowest = rule.iqr_factor * std::max(0.0, q3.low - q1.high);
    low = {q1.low - widest, q1.high - narrowest};
    high = {q3.low + narrowest, q3.high + widest};
  }
  for (const interval& fence : {low, high}) {
    if (!(fence.low <= fence.high)) return;  // of infinities
  }
  const auto encoded = [this](const key_bound& bound) { return bound.is_end ? last_number() : bound.encoded; };
  const encoded_range low_fence{encoded(at_least(low.low)), encoded(above(low.high))};
  const encoded_range high_fence{encoded(at_least(high.low)), encoded(above(high.high))};
  wishes.known.push_back(low_fence);
  wishes.known.push_back(high_fence);
  append_outliers(view, {low_fence.low, high_fence.high}, wishes);
}

void streamed_keys::append_outliers(const rough_view& view, const encoded_range& inside, index_wishes& wishes) const {
  const std::uint64_t last = last_number();
  const std::uint64_t most = expected_box_->most_outliers;
  const std::uint64_t num_below = view.about_before(inside.low);
  const std::uint64_t upto = inside.high >= last ? view.num_numbers : view.about_before(inside.high + 1);
  const std::uint64_t num_above = view.num_numbers - std::min(view.num_numbers, upto);
  // A sample may see a quarter too many of them.
  const bool are_few = num_below + num_above <= most + most / 4;
  if (inside.low != 0 && most != 0) {
    const std::uint64_t high = are_few ? inside.low - 1 : std::min(inside.low - 1, view.end_of_first(most));
    wishes.known.push_back({0, high});
  }
  if (inside.high < last && most != 0) {
    const std::uint64_t low = are_few ? inside.high + 1 : std::max(inside.high + 1, view.begin_of_last(most));
    wishes.known.push_back({low, last});
  }
}

void streamed_keys::read(index_wishes wishes) const {
  open_index();
  const bool is_first = !index_->has_counts();
  const std::uint64_t most = most_collected(usual_intervals);
  if (is_first) append_first_cuts(wishes);
  // There is no sample of so few keys.
  if (is_first && sample_.keys.empty() && num_keys() <= most) wishes.known.push_back({0, last_number()});
  // The next reads only do what they are asked to where the sample has misled.
  if (!was_too_much_)
    append_expected(
        is_first ? view_of_sample(sample_, *index_, last_number()) : view_of_index(*index_, *num_numbers_if_counted()),
        wishes);
  index_read next = index_->plan(wishes, most - most / 4);
  block_counts found = count_blocks(keys_, codec(), next, most, is_first);
  ++num_reads_;
  const bool collects = std::ranges::find(next.is_collected, true) != next.is_collected.end();
  was_too_much_ = was_too_much_ || (collects && found.collected == nullptr);
  index_->take(next, found.counts, found.collected);
  if (is_first) {
    total_ = found.total;
    sample_ = {};
  }
}

void streamed_keys::require_counts() const {
  if (index_ == nullptr || !index_->has_counts()) read({});
}

std::optional<std::uint64_t> streamed_keys::num_numbers_if_counted() const {
  require_counts();
  const key_bound nans = first_nan();
  return nans.is_end ? num_keys() : index_->count_before(nans.encoded);
}

std::vector<std::uint64_t> streamed_keys::bits_at(const std::vector<std::uint64_t>& ranks) const {
  require_counts();
  while (true) {
    index_wishes wishes;
    std::vector<std::uint64_t> bits;
    for (const std::uint64_t rank : ranks) {
      if (const auto key = index_->key_at(rank)) {
        bits.push_back(decode(*key));
      } else {
        for (const encoded_range& r : index_->unknown_of_ranks(rank, rank + 1)) wishes.known.push_back(r);
      }
    }
    if (bits.size() == ranks.size()) return bits;
    read(std::move(wishes));
  }
}

std::vector<std::uint64_t> streamed_keys::count_before(const std::vector<key_bound>& bounds) const {
  require_counts();
  index_wishes wishes;
  for (const key_bound& b : bounds) {
    if (!b.is_end && !index_->count_before(b.encoded)) wishes.cuts.push_back(b.encoded);
  }
  if (!wishes.cuts.empty()) read(std::move(wishes));
  std::vector<std::uint64_t> counts;
  for (const key_bound& b : bounds) counts.push_back(b.is_end ? num_keys() : *index_->count_before(b.encoded));
  return counts;
}

std::vector<std::byte> streamed_keys::slice(std::uint64_t begin, std::uint64_t end) const {
  SPANSORT_ASSERT(begin <= end && end <= num_keys());
  require_counts();
  while (begin != end) {
    index_wishes wishes;
    wishes.known = index_->unknown_of_ranks(begin, end);
    if (wishes.known.empty()) break;
    read(std::move(wishes));
  }
  std::vector<std::byte> keys((end - begin) * key_bytes());
  for (std::uint64_t rank = begin; rank < end; ++rank) {
    const std::uint64_t bits = decode(*index_->key_at(rank));
    std::memcpy(keys.data() + (rank - begin) * key_bytes(), &bits, key_bytes());
  }
  return keys;
}

std::vector<std::uint64_t> streamed_keys::first_positions(std::uint64_t) const {
  throw invalid_argument("positions of keys that do not fit in memory are not looked for; argsort_file() with a head");
}

double streamed_keys::mean() const {
  require_counts();
  return mean_of(type(), {&total_, 1});
}

}  // namespace spansort::statistics
