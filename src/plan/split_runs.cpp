// SPDX-License-Identifier: Apache-2.0
#include "plan/split_runs.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "keys/dispatch.hpp"

namespace spansort::plan {
namespace {

using positions = std::vector<std::uint64_t>;

/// The order is that of (key, run, position). Every cut lies in [low, high] of its run: all before `low` is among the
/// first keys, nothing from `high` on is.
template <class K>
class splitter {
 public:
  splitter(const keys::key_codec& codec, std::span<const sorted_run> runs, positions low, positions high)
      : codec_(codec.of<K>()), runs_(runs), low_(std::move(low)), high_(std::move(high)), cut_(low_.size()) {}

  positions cut_at(std::uint64_t rank) {
    while (low_ != high_) {
      const middle pivot = choose_pivot();
      std::uint64_t num_before = 0;
      for (std::size_t i = 0; i < runs_.size(); ++i) num_before += cut_[i] = before(pivot, i);
      const bool is_among_first = num_before < rank;
      (is_among_first ? low_ : high_) = cut_;
      if (is_among_first) ++low_[pivot.run];
    }
    SPANSORT_ASSERT(std::accumulate(low_.begin(), low_.end(), std::uint64_t{0}) == rank);
    return low_;
  }

 private:
  /// The middle of what is left of a run.
  struct middle {
    K key = 0;
    std::size_t run = 0;
    std::uint64_t position = 0;
    std::uint64_t num_left = 0;
  };

  [[nodiscard]] K key_at(std::size_t run, std::uint64_t position) const {
    return codec_.encode(static_cast<const K*>(runs_[run].keys)[position]);
  }

  /// Returns a pivot before which at least a quarter of what is left lies, and behind which at least a quarter lies.
  [[nodiscard]] middle choose_pivot() {
    middles_.clear();
    std::uint64_t num_left = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (low_[i] == high_[i]) continue;
      const std::uint64_t position = low_[i] + (high_[i] - low_[i]) / 2;
      middles_.push_back({key_at(i, position), i, position, high_[i] - low_[i]});
      num_left += high_[i] - low_[i];
    }
    std::ranges::stable_sort(middles_, {}, &middle::key);
    std::uint64_t num_up_to = 0;
    for (const middle& m : middles_) {
      num_up_to += m.num_left;
      if (num_up_to >= num_left - num_up_to) return m;
    }
    return middles_.back();
  }

  /// Returns how many keys of run `i` are before the pivot.
  [[nodiscard]] std::uint64_t before(const middle& pivot, std::size_t i) const {
    if (i == pivot.run) return pivot.position;
    const bool equal_are_before = i < pivot.run;
    std::uint64_t begin = low_[i];
    std::uint64_t end = high_[i];
    while (begin < end) {
      const std::uint64_t position = begin + (end - begin) / 2;
      const K key = key_at(i, position);
      if (key < pivot.key || (equal_are_before && key == pivot.key)) {
        begin = position + 1;
      } else {
        end = position;
      }
    }
    return begin;
  }

  keys::codec_of<K> codec_;
  std::span<const sorted_run> runs_;
  positions low_;
  positions high_;
  positions cut_;
  std::vector<middle> middles_;
};

}  // namespace

std::vector<std::uint64_t> split_runs(const keys::key_codec& codec, std::span<const sorted_run> runs,
                                      std::uint64_t rank, std::span<const std::uint64_t> from) {
  positions low(from.begin(), from.end());
  low.resize(runs.size());
  const std::uint64_t num_before = std::accumulate(low.begin(), low.end(), std::uint64_t{0});
  SPANSORT_ASSERT(num_before <= rank);
  positions high(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    high[i] = low[i] + std::min(rank - num_before, runs[i].num_keys - low[i]);
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    return splitter<K>(codec, runs, std::move(low), std::move(high)).cut_at(rank);
  });
}

}  // namespace spansort::plan
