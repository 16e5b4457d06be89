// SPDX-License-Identifier: Apache-2.0
// Order statistics of a file's keys, whatever its size. Keys that fit in memory are read once and held. A larger file
// is read in blocks, a summary in one read and a histogram in another, and the answers are those of the same keys in
// memory, bit for bit.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spansort/cxx20.hpp"
#include "spansort/files.hpp"
#include "spansort/options.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace spansort {

struct file_statistics_options {
  /// Type of raw keys; as in file_options.
  std::optional<key_type> type = {};
  /// A ceiling on the memory of the whole process. A file is held in memory where one and three quarters of its keys
  /// fit below it. 0: a file is held where as much is free, and half of what is free is taken for one that is not.
  std::uint64_t memory_limit_bytes = 0;
  unsigned threads = 0;  ///< that read and count; as in sort_options
  /// Called as in sort_options, with the phase "read", by the constructor while it reads keys that are then held, and
  /// by each later call that reads a file that is not. The fraction is that of the reads which this call is expected to
  /// take: one, or two for the first question where memory is too little to collect 8 % of the keys; in a read more
  /// than that it stays at 1. Returning false throws `cancelled`: an output is as it was, and the questions may be
  /// asked again.
  progress_callback on_progress = {};
};

/// The keys of a file, as often as questions are asked of them; each thing that a read has shown is kept. For questions
/// that belong together:
///     spansort::file_statistics keys("x.npy", {.memory_limit_bytes = std::uint64_t{1} << 30});
///     keys.expect_quantiles({{0.95, 0.99}});
///     const spansort::summary box = keys.summarize();                    // one read, for which the 0.95-quantile is
///     const std::vector<double> high = keys.quantiles({0.95, 0.99});     // found, too: no read
/// A file that is not held is read in blocks, by all threads side by side. A sample of a few megabytes says what the
/// first read is to collect: keys near the quantiles and fences that are wanted, and the outliers. That read answers
/// all of a summary where there is memory for so many keys, some 8 % of them. With less memory a second read collects
/// what the counts of the first have shown to be needed, about 1 % of the keys; whatever the keys, a further read
/// narrows down what is left to a sixteenth at least: never more than 17 for one question. Keys of one or two bytes
/// take one read for everything. No more keys are collected than the ceiling allows. The least ceiling is what the
/// program itself takes and some 8 MiB; there are fewer threads where it is low.
class file_statistics {
 public:
  /// Opens `path`, and reads the keys where they fit in memory. Streams are always held. Throws bad_input, io_error,
  /// invalid_argument as key_file, and out_of_memory where the ceiling does not even allow blocks.
  explicit file_statistics(const std::string& path, const file_statistics_options& options = {});
  ~file_statistics();
  file_statistics(file_statistics&&) noexcept;
  file_statistics& operator=(file_statistics&&) noexcept;

  [[nodiscard]] key_type type() const noexcept;
  [[nodiscard]] std::uint64_t num_keys() const noexcept;
  /// Returns whether the keys are in memory, where only the first question reads the file.
  [[nodiscard]] bool is_held() const noexcept;
  /// Returns how often the whole file has been read so far; samples are not counted.
  [[nodiscard]] unsigned num_reads() const noexcept;

  /// Says which quantiles will be asked for, so that the next read finds them besides. Throws invalid_argument for q
  /// outside [0, 1].
  void expect_quantiles(std::span<const double> q);
  /// Counts what histograms with these edges need, those of several together, in one read at most. The edges may come
  /// in any order.
  void prepare_edges(std::span<const double> edges);

  // Each as the function of the same name in statistics.hpp. Keys that are not held are looked at by the CPU; devices
  // other than that are refused with out_of_memory. Throws, besides, io_error, and bad_input where the file is changed
  // between reads.

  [[nodiscard]] std::vector<double> quantiles(std::span<const double> q, const quantile_options& options = {});
  [[nodiscard]] std::vector<double> quantiles(std::initializer_list<double> q, const quantile_options& options = {}) {
    return quantiles(std::span<const double>(q.begin(), q.size()), options);
  }
  [[nodiscard]] summary summarize(const summary_options& options = {});
  [[nodiscard]] std::vector<std::uint64_t> histogram(std::span<const double> edges, const count_options& options = {});
  /// `value` points to a key of the file's type.
  [[nodiscard]] key_rank rank_of(const void* value, const count_options& options = {});
  /// Writes the keys beyond the whiskers as write_outliers() of keys in memory does; one more read.
  std::uint64_t write_outliers(const std::string& output, const summary& box,
                               const temporary_file_callback& on_temporary = {});

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Summarizes the keys of a file of any size: summarize() of a file_statistics.
[[nodiscard]] summary summarize_file(const std::string& path, const summary_options& options = {},
                                     const file_statistics_options& file = {});

/// Returns quantiles of the keys of a file of any size, as file_statistics has them.
[[nodiscard]] std::vector<double> quantiles_file(const std::string& path, std::span<const double> q,
                                                 const quantile_options& options = {},
                                                 const file_statistics_options& file = {});

/// Counts the keys of a file of any size between edges, as file_statistics does.
[[nodiscard]] std::vector<std::uint64_t> histogram_file(const std::string& path, std::span<const double> edges,
                                                        const count_options& options = {},
                                                        const file_statistics_options& file = {});

}  // namespace spansort
