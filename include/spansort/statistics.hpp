// SPDX-License-Identifier: Apache-2.0
// Order statistics: which quantile is meant, what happens to NaN, where the whiskers of a box plot end, and what a
// summary holds.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "spansort/device_list.hpp"
#include "spansort/ranges.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// What the q-quantile of n keys is; q in [0, 1]. The first thirteen are NumPy's, by NumPy's names: on f64 keys the
/// result is that of numpy.quantile (2.4) bit for bit for up to 2^51 keys, as long as the two keys next to the quantile
/// have a finite difference. Beyond 2^51 keys, where q * (n - 1) in double no longer finds the key, ranks are exact.
/// Where the difference is infinite (infinite keys, or finite ones of both signs near the largest double) NumPy gives
/// NaN or an infinity; here the result lies between the two keys: an infinite one outweighs a finite one, between
/// -inf and +inf the nearer one counts, and 0 halfway. Keys -0.0 may give +0.0, as they do in NumPy.
enum class quantile_method : std::uint8_t {
  inverted_cdf,               ///< Hyndman and Fan 1: the key at rank ceil(nq), ranks counted from 1
  averaged_inverted_cdf,      ///< 2: the same, but halfway to the next key where nq is whole
  closest_observation,        ///< 3: the key at the rank next to nq; of two the even rank
  interpolated_inverted_cdf,  ///< 4: linear between keys, at rank nq
  hazen,                      ///< 5: at rank nq + 1/2
  weibull,                    ///< 6: at rank (n + 1)q
  linear,                     ///< 7: at rank (n - 1)q + 1; NumPy's default
  median_unbiased,            ///< 8: at rank (n + 1/3)q + 1/3
  normal_unbiased,            ///< 9: at rank (n + 1/4)q + 3/8
  lower,                      ///< the key at or before the place of `linear`
  higher,                     ///< the key at or after it
  midpoint,                   ///< halfway between those two
  nearest,                    ///< the nearer of those two; of two the even rank, counted from 0
  /// Spafford 2011, section I.A: the median is the central key, or the mean of the two central ones; the quartiles are
  /// the medians of the lower and the upper half. The paper's example has an even n and leaves open where the central
  /// key of an odd n belongs; here it belongs to both halves, as in Tukey's hinges (R's fivenum), which is defined for
  /// n = 1 too. Only for q = 0, 0.25, 0.5, 0.75 and 1; invalid_argument for any other.
  tukey,
};

/// "inverted_cdf" ... "nearest", "tukey".
[[nodiscard]] std::string_view name(quantile_method method) noexcept;

/// The inverse of name(). Throws invalid_argument for anything else, listing what is known.
[[nodiscard]] quantile_method parse_quantile_method(std::string_view text);

/// What NaN keys do to order statistics. Integers have none.
enum class nan_policy : std::uint8_t {
  propagate,  ///< one NaN makes every statistic NaN, counts excepted; as numpy.quantile
  omit,       ///< statistics of the other keys; as numpy.nanquantile
  error,      ///< throws bad_input
};

/// "propagate", "omit", "error".
[[nodiscard]] std::string_view name(nan_policy policy) noexcept;

/// The inverse of name(). Throws invalid_argument for anything else, listing what is known.
[[nodiscard]] nan_policy parse_nan_policy(std::string_view text);

/// Two percentiles, 0 <= low <= high <= 100.
struct percentile_pair {
  double low = 0;
  double high = 100;
  friend bool operator==(const percentile_pair&, const percentile_pair&) = default;
};

/// How far the whiskers of a box plot may reach; `whis` of matplotlib's boxplot.
struct whisker_rule {
  double iqr_factor = 1.5;                          ///< interquartile ranges beyond the quartiles; finite, 0 or more
  std::optional<percentile_pair> percentiles = {};  ///< instead: fences at these percentiles (method linear)
  friend bool operator==(const whisker_rule&, const whisker_rule&) = default;
};

/// The q of Bowley's seven-number summary: extremes, first and last decile, quartiles, median.
inline constexpr std::array<double, 7> bowley_seven_q{0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};

/// The q of the seven-number summary that lie about evenly on normal data.
inline constexpr std::array<double, 7> normal_seven_q{0.02, 0.09, 0.25, 0.5, 0.75, 0.91, 0.98};

/// What a box plot shows, and a little more. All values are in the unit of the keys, as doubles: 64-bit integers are
/// rounded to the nearest one. NaN where there is no key to take a value from.
struct summary {
  std::uint64_t count = 0;      ///< keys that the statistics are about; NaN keys are not among them
  std::uint64_t nan_count = 0;  ///< NaN keys, whatever the policy

  double minimum = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double maximum = 0;
  double mean = 0;  ///< arithmetic
  /// The bits of the least and the greatest key: 64-bit integers that are no doubles can be told from them.
  std::uint64_t minimum_bits = 0;
  std::uint64_t maximum_bits = 0;
  double iqr = 0;  ///< upper_quartile - lower_quartile; 0 where they are equal, infinities included

  double fence_low = 0;     ///< lower_quartile - iqr_factor * iqr, or the low percentile; need not be a key
  double fence_high = 0;    ///< upper_quartile + iqr_factor * iqr, or the high percentile
  double whisker_low = 0;   ///< the least key at or above fence_low, but no more than lower_quartile
  double whisker_high = 0;  ///< the greatest key at or below fence_high, but no less than upper_quartile

  std::uint64_t num_outliers_below = 0;  ///< keys < whisker_low
  std::uint64_t num_outliers_above = 0;  ///< keys > whisker_high
  std::vector<double> outliers;          ///< ascending; fewer than there are when a cap was reached

  std::array<double, 7> bowley_seven{};  ///< the quantiles at bowley_seven_q
  std::array<double, 7> normal_seven{};  ///< the quantiles at normal_seven_q

  /// Minimum, lower quartile, median, upper quartile, maximum.
  [[nodiscard]] std::array<double, 5> five_numbers() const noexcept {
    return {minimum, lower_quartile, median, upper_quartile, maximum};
  }
};

/// This is what the caller knows of the keys. Where they are in order, ranks are read where they are and bounds are
/// found by halving: some dozens of keys are looked at, however many there are. In both directions NaN keys are last,
/// and equal keys may stand in any order: -0.0 among +0.0, NaN of any bits. So it is after sort(), and so is_sorted()
/// tests it. Keys that are not in the order that the caller claims give wrong answers, made of some of the keys;
/// nothing worse happens.
enum class key_order : std::uint8_t { unknown, ascending, descending };

/// Designated initialisers of this and the other option structs stand in the order of declaration, as C++ wants it:
///     spansort::median(keys, {.nans = spansort::nan_policy::omit, .devices = "gpu"});
struct quantile_options {
  quantile_method method = quantile_method::linear;
  nan_policy nans = nan_policy::propagate;
  key_order order = key_order::unknown;
  /// "auto" and "cpu" (all processors), "host:4" (four host devices), "gpu", "gpu:0,1". The answer does not depend on
  /// it. "auto" is the CPU: it reads host memory faster than a link brings it to a GPU. Where GPUs are named, all keys
  /// are copied there first, and the call throws out_of_memory, naming the bytes, where they do not fit.
  device_list devices = {};
  unsigned threads = 0;  ///< as in sort_options
};

namespace detail {
std::vector<double> quantiles(const_key_span keys, std::span<const double> q, const quantile_options& options);
}

/// The quantiles of `keys` at every q of `q`, exactly, in the order of `q`. No key is moved: up to 2 MiB of keys are
/// sorted in a copy by the CPU, and of more all threads of the devices read the keys, nearly always once for every 8
/// ranks that the q need (two each at most, and the last); where NaN keys are left out, once more to count them and
/// then again. For q of 0 and 1 alone, which are the ends, the CPU reads up to 2^20 keys of 4 and 8 bytes once, and
/// copies none. 64-bit integers are rounded to the nearest double before they are interpolated. Memory: that of the
/// copy and its sort, or an eighth of the keys for quartiles, three quarters of them at most; on GPUs the keys besides.
/// Of keys in order (options.order) O(log n) keys are read, and no memory is taken. Blocks. Throws bad_input where
/// there are no keys or a NaN is an error, invalid_argument for q outside [0, 1] and for devices that cannot be,
/// out_of_memory. Of NaN keys alone, left out, every quantile is NaN.
template <key_range R>
[[nodiscard]] std::vector<double> quantiles(const R& keys, std::span<const double> q,
                                            const quantile_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::quantiles(as_const_key_span(std::span<const key>(keys)), q, options);
}

/// Returns the quantiles of keys whose type is known at run time.
[[nodiscard]] inline std::vector<double> quantiles(const_key_span keys, std::span<const double> q,
                                                   const quantile_options& options = {}) {
  return detail::quantiles(keys, q, options);
}

/// Takes q in braces: `spansort::quantiles(keys, {0.25, 0.5, 0.75})`.
template <key_range R>
[[nodiscard]] std::vector<double> quantiles(const R& keys, std::initializer_list<double> q,
                                            const quantile_options& options = {}) {
  return spansort::quantiles(keys, std::span<const double>(q.begin(), q.size()), options);
}
[[nodiscard]] inline std::vector<double> quantiles(const_key_span keys, std::initializer_list<double> q,
                                                   const quantile_options& options = {}) {
  return detail::quantiles(keys, std::span<const double>(q.begin(), q.size()), options);
}

/// Returns the quantiles of each row of `row_length` keys, as quantiles() gives them, those of a row one behind the
/// other: q.size() numbers a row. Several rows of up to 4 MiB are sorted in copies, by all threads or by the devices
/// that are named, which are opened once; longer ones, and a single one, are looked at one after the other as by
/// quantiles(). Memory: 8 MiB and that of sort_rows(), or that of quantiles(). Blocks. Throws what quantiles() throws,
/// and invalid_argument where the number of keys is no multiple of the length; of no keys there are no rows.
[[nodiscard]] std::vector<double> quantiles_rows(const_key_span keys, std::uint64_t row_length,
                                                 std::span<const double> q, const quantile_options& options = {});
/// Takes contiguous keys: `spansort::quantiles_rows(matrix, 28, q)`.
template <key_range R>
[[nodiscard]] std::vector<double> quantiles_rows(const R& keys, std::uint64_t row_length, std::span<const double> q,
                                                 const quantile_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return quantiles_rows(as_const_key_span(std::span<const key>(keys)), row_length, q, options);
}

/// One quantile, as quantiles() gives it: `spansort::quantile(keys, 0.99)`.
template <key_range R>
[[nodiscard]] double quantile(const R& keys, double q, const quantile_options& options = {}) {
  return spansort::quantiles(keys, {q}, options).front();
}
[[nodiscard]] inline double quantile(const_key_span keys, double q, const quantile_options& options = {}) {
  return spansort::quantiles(keys, {q}, options).front();
}

/// The 0.5-quantile, as quantiles() gives it.
template <key_range R>
[[nodiscard]] double median(const R& keys, const quantile_options& options = {}) {
  return spansort::quantile(keys, 0.5, options);
}
[[nodiscard]] inline double median(const_key_span keys, const quantile_options& options = {}) {
  return spansort::quantile(keys, 0.5, options);
}

struct summary_options {
  quantile_method method =
      quantile_method::linear;  ///< of the quantiles; `tukey`'s seven-number summaries are `linear`
  nan_policy nans = nan_policy::propagate;
  whisker_rule whiskers = {};
  /// This many outliers are listed at most, the outermost: half of them from each side, and what the other side leaves.
  std::uint64_t most_outliers = 1000;
  bool with_mean = true;  ///< false: the mean is NaN; of keys in order it is what takes a read
  key_order order = key_order::unknown;
  device_list devices = {};  ///< as in quantile_options
  unsigned threads = 0;      ///< as in sort_options
};

namespace detail {
summary summarize(const_key_span keys, const summary_options& options);
}

/// Count, extremes, quartiles, mean, fences, whiskers and outliers of `keys`, exactly. No key is moved: up to 2 MiB of
/// keys are sorted in a copy by the CPU. More are read some ten times: nearly always three for the quantiles, once each
/// for NaN keys of floats, mean, fences, whiskers, the outliers' number and the outliers of either side, up to three
/// times where they are too many. The mean is taken by the host's threads, whatever the devices.
/// Of keys in order (options.order) O(log n) keys and the outliers are read, and the mean takes the one read that is
/// left: so a summary is a by-product of a sort.
///     spansort::sort(keys);
///     spansort::summary s = spansort::summarize(keys, {.with_mean = false, .order = spansort::key_order::ascending});
/// Memory: that of quantiles(), and twice that of the outliers taken. Blocks. Throws
/// bad_input where there are no keys or a NaN is an error, invalid_argument for whiskers and devices that cannot be,
/// out_of_memory.
template <key_range R>
[[nodiscard]] summary summarize(const R& keys, const summary_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::summarize(as_const_key_span(std::span<const key>(keys)), options);
}

/// Summarizes keys whose type is known at run time.
[[nodiscard]] inline summary summarize(const_key_span keys, const summary_options& options = {}) {
  return detail::summarize(keys, options);
}

/// The edges of `num_bins` bins of equal width over [low, high]: numpy.linspace(low, high, num_bins + 1), bit for bit.
/// Throws invalid_argument where there are no bins, an end is not finite, or low > high, and out_of_memory.
[[nodiscard]] std::vector<double> equal_width_edges(double low, double high, std::uint64_t num_bins);

/// Options of histogram() and rank_of().
struct count_options {
  key_order order = key_order::unknown;
  device_list devices = {};  ///< as in quantile_options
  unsigned threads = 0;      ///< as in sort_options
};

namespace detail {
std::vector<std::uint64_t> histogram(const_key_span keys, std::span<const double> edges, const count_options& options);
}

/// Returns how many keys lie between each two neighbours of `edges`, as numpy.histogram counts: edge i belongs to bin
/// i, the last edge to the last bin. Keys beyond the edges and NaN are not counted. 64-bit integers are compared as the
/// nearest double. Edges need not be equally far apart. The CPU counts few keys in one read, and keys of 8 bytes
/// between many edges that are equally far apart. Else it sorts up to 2 MiB of keys in a copy, and looks more keys up
/// in one read where edges are many; else there is a read of the keys for every 63 edges, and of keys in order
/// (options.order) O(log n) keys an edge are read. Memory: that of the copy and its sort, or 4 MiB and 24 bytes an edge
/// for each thread. Blocks. Throws invalid_argument for fewer than two edges, edges that fall or are NaN, and devices
/// that cannot be, and out_of_memory.
template <key_range R>
[[nodiscard]] std::vector<std::uint64_t> histogram(const R& keys, std::span<const double> edges,
                                                   const count_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::histogram(as_const_key_span(std::span<const key>(keys)), edges, options);
}

/// Counts keys whose type is known at run time between the edges.
[[nodiscard]] inline std::vector<std::uint64_t> histogram(const_key_span keys, std::span<const double> edges,
                                                          const count_options& options = {}) {
  return detail::histogram(keys, edges, options);
}

/// Keys before, at and behind a value, in value order: -0.0 equals +0.0, NaN is more than any number and equals NaN.
struct key_rank {
  std::uint64_t num_less = 0;
  std::uint64_t num_equal = 0;
  std::uint64_t num_greater = 0;  ///< NaN keys are among them, unless the value is NaN
  std::uint64_t num_nans = 0;     ///< NaN keys, counted above too
  friend bool operator==(const key_rank&, const key_rank&) = default;
};

namespace detail {
key_rank rank_of(const_key_span keys, const void* value, const count_options& options);
}

/// Returns how many keys are less than `value`, equal to it, and greater. The value has the keys' type and need not be
/// among them; num_less is where it would stand in the sorted keys, counted from 0. One read on all threads; of keys in
/// order (options.order) O(log n) keys. No memory. Blocks. Of no keys all counts are 0. Throws invalid_argument for
/// devices that cannot be, device_error, out_of_memory.
template <key_range R>
[[nodiscard]] key_rank rank_of(const R& keys, std::type_identity_t<std::ranges::range_value_t<R>> value,
                               const count_options& options = {}) {
  using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
  return detail::rank_of(as_const_key_span(std::span<const key>(keys)), &value, options);
}

/// Returns the order rank of a value among keys whose type is known at run time; `value` points to one key of it.
[[nodiscard]] inline key_rank rank_of(const_key_span keys, const void* value, const count_options& options = {}) {
  return detail::rank_of(keys, value, options);
}

}  // namespace spansort
