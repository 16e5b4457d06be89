// SPDX-License-Identifier: Apache-2.0
// Keys that are read a block at a time, as order statistics look at them. What a read has shown is kept, and whoever
// knows what will be asked for says so before: then a sample tells the first read what to collect, and it nearly always
// answers all. A read collects no more keys than there is memory for; where that is not enough, further reads narrow
// down what is left, each to a sixteenth at least.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "spansort/statistics.hpp"
#include "statistics/interval_index.hpp"
#include "statistics/key_blocks.hpp"
#include "statistics/mean.hpp"
#include "statistics/ordered_keys.hpp"
#include "statistics/rough_view.hpp"

namespace spansort::statistics {

class streamed_keys final : public ordered_keys {
 public:
  /// `keys` outlives it. `memory_bytes`: what it may take. Throws out_of_memory where this is less than one read needs.
  streamed_keys(key_blocks& keys, std::uint64_t memory_bytes, unsigned threads);
  ~streamed_keys() override;

  /// Says that these quantiles of the numbers will be asked for.
  void expect_quantiles(std::span<const double> q);
  /// Says that a summary with these options will be asked for.
  void expect_summary(const summary_options& options);
  /// Finds out what has to be known for a histogram with these edges, together.
  void prepare_edges(std::span<const double> edges) const;

  /// Returns how many reads the first question is expected to take: two where memory is too little to collect what one
  /// would have to; one of any later question.
  [[nodiscard]] unsigned expected_reads() const;
  /// Returns how often all keys have been read; the sample is not among it.
  [[nodiscard]] unsigned num_reads() const noexcept { return num_reads_; }

  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return keys_.num_keys(); }
  [[nodiscard]] std::optional<std::uint64_t> num_numbers_if_counted() const override;
  [[nodiscard]] std::vector<std::uint64_t> bits_at(const std::vector<std::uint64_t>& ranks) const override;
  [[nodiscard]] std::vector<std::uint64_t> count_before(const std::vector<key_bound>& bounds) const override;
  [[nodiscard]] std::vector<std::byte> slice(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::vector<std::uint64_t> first_positions(std::uint64_t count) const override;
  [[nodiscard]] double mean() const override;

 private:
  /// The whiskers that will be asked for, and the quartiles or percentiles that they depend on.
  struct expected_box {
    whisker_rule whiskers;
    std::uint64_t most_outliers = 0;
  };

  void open_index() const;
  void read(index_wishes wishes) const;
  void require_counts() const;
  [[nodiscard]] std::uint64_t most_collected(std::uint64_t num_intervals) const;
  [[nodiscard]] std::uint64_t last_number() const;
  void append_first_cuts(index_wishes& wishes) const;
  void append_expected(const rough_view& view, index_wishes& wishes) const;
  void append_fences(const rough_view& view, index_wishes& wishes) const;
  void append_outliers(const rough_view& view, const encoded_range& inside, index_wishes& wishes) const;

  key_blocks& keys_;
  std::uint64_t memory_bytes_;
  unsigned threads_;
  std::vector<double> expected_q_;
  std::optional<expected_box> expected_box_;

  // Found by reads, which questions cause.
  mutable sampled_keys sample_;  ///< given up after the first read
  mutable std::unique_ptr<interval_index> index_;
  mutable number_total total_;
  mutable unsigned num_reads_ = 0;
  mutable bool was_too_much_ = false;  ///< more was collected than the sample told
};

}  // namespace spansort::statistics
