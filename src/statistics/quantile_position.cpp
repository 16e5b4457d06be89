// SPDX-License-Identifier: Apache-2.0
// Ranks of quantiles. Hyndman and Fan's nine definitions are one formula with two constants; with ranks from 0 it is
//   index = n q + alpha + q (1 - alpha - beta) - 1
// and NumPy's other methods round the index of `linear` (alpha = beta = 1) in their own ways. Constants are kept in
// 24ths, in which all of them are whole.
#include "statistics/quantile_position.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "spansort/errors.hpp"
#include "statistics/interpolate.hpp"

namespace spansort::statistics {
namespace {

using int128 = __int128;
using uint128 = unsigned __int128;

enum class rounding : std::uint8_t {
  none,
  floor,
  ceiling,
  half_to_odd,      ///< the nearest rank to index + 1/2; of two the odd one
  half_to_even,     ///< likewise, the even one
  halfway,          ///< whole index: that key; otherwise halfway between its neighbours
  halfway_if_whole  ///< whole index: halfway to the next key; otherwise the next key
};

struct method_row {
  rounding how;
  int alpha_24ths;
  int beta_24ths;
  int shift_24ths;  ///< taken from the index before it is rounded
};

// In the order of quantile_method, without tukey.
constexpr std::array<method_row, 13> rows{{{rounding::ceiling, 0, 24, 0},
                                           {rounding::halfway_if_whole, 0, 24, 0},
                                           {rounding::half_to_odd, 0, 24, 12},
                                           {rounding::none, 0, 24, 0},
                                           {rounding::none, 12, 12, 0},
                                           {rounding::none, 0, 0, 0},
                                           {rounding::none, 24, 24, 0},
                                           {rounding::none, 8, 8, 0},
                                           {rounding::none, 9, 9, 0},
                                           {rounding::floor, 24, 24, 0},
                                           {rounding::ceiling, 24, 24, 0},
                                           {rounding::halfway, 24, 24, 0},
                                           {rounding::half_to_even, 24, 24, 12}}};

/// whole + fraction. May lie before the first key or behind the last. `fraction` is 0 only where the index is whole.
struct virtual_index {
  int128 whole;
  double fraction;
};

/// NumPy 2.4: _compute_virtual_index and the lambdas of _QuantileMethods, operation by operation.
virtual_index index_as_numpy(const method_row& row, std::uint64_t num_keys, double q) {
  const auto n = static_cast<double>(num_keys);
  const double alpha = row.alpha_24ths / 24.0;
  const double beta = row.beta_24ths / 24.0;
  const bool from_linear = row.alpha_24ths == 24 && row.beta_24ths == 24;
  const double unshifted = from_linear ? (n - 1) * q : n * q + (alpha + q * (1 - alpha - beta)) - 1;
  const double index = unshifted - row.shift_24ths / 24.0;
  const double whole = std::floor(index);
  return {static_cast<std::int64_t>(whole), index - whole};
}

/// Computes the index by the same formula without rounding: q is an integer times a power of two, so 24 * index is one
/// too.
virtual_index index_exactly(const method_row& row, std::uint64_t num_keys, double q) {
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(q, &exponent), 53));
  const int shift = 53 - exponent;  // q = mantissa / 2^shift; at least 52, above a thousand for the least q
  // Below 2^53 * 25 * 2^64 < 2^122.
  const uint128 factor = (uint128{num_keys} + 1) * 24 - static_cast<unsigned>(row.alpha_24ths + row.beta_24ths);
  const uint128 product = factor * mantissa;
  const uint128 units = shift < 128 ? product >> shift : 0;
  const uint128 rest = shift < 128 ? product - (units << shift) : product;

  const int128 index_24ths = static_cast<int128>(units) + row.alpha_24ths - 24 - row.shift_24ths;
  int128 whole = index_24ths / 24;
  if (index_24ths < whole * 24) --whole;
  const auto remainder = static_cast<double>(index_24ths - whole * 24);
  return {whole, (remainder + std::ldexp(static_cast<double>(rest), -shift)) / 24};
}

/// The key at `rank`, or at the end that rank lies beyond.
quantile_position one_key(int128 rank, std::uint64_t num_keys, double weight = 1) {
  const auto kept = static_cast<std::uint64_t>(std::clamp(rank, int128{0}, int128{num_keys} - 1));
  return {kept, kept, weight};
}

/// The rank that the index rounds to; for the methods that always give a key.
int128 rounded(rounding how, const virtual_index& index) {
  if (how == rounding::floor) return index.whole;
  if (how == rounding::ceiling || index.fraction != 0) return index.whole + (index.fraction != 0 ? 1 : 0);
  const bool is_odd = (index.whole & 1) != 0;
  return is_odd == (how == rounding::half_to_odd) ? index.whole : index.whole + 1;
}

/// Returns the position between index and the next, with `weight` on the next; the ends are as NumPy's _get_indexes and
/// _get_gamma have them.
quantile_position between(const virtual_index& index, std::uint64_t num_keys, double weight) {
  if (index.whole < 0) return one_key(0, num_keys);
  const int128 last = int128{num_keys} - 1;
  const bool is_last = index.whole >= last;
  if (is_last || weight == 0) return one_key(index.whole, num_keys, 0);
  const auto rank = static_cast<std::uint64_t>(index.whole);
  return {rank, rank + 1, weight};
}

quantile_position place(rounding how, const virtual_index& index, std::uint64_t num_keys) {
  const bool is_whole = index.fraction == 0;
  if (how == rounding::none) {
    // NumPy counts the weight at the last key from -1; it is more than 1, but for a single key.
    if (num_keys == 1 && index.whole == 0 && is_whole) return one_key(0, num_keys);
    return between(index, num_keys, index.fraction);
  }
  if (how == rounding::halfway) return between(index, num_keys, is_whole ? 0 : 0.5);
  if (how == rounding::halfway_if_whole) {
    const bool has_next = index.whole + 1 < int128{num_keys};
    return is_whole && has_next ? between(index, num_keys, 0.5) : one_key(index.whole + 1, num_keys);
  }
  return one_key(rounded(how, index), num_keys);
}

/// The central key of `count` keys from `first`, or the two of them.
quantile_position median_of(std::uint64_t first, std::uint64_t count) {
  if (count % 2 == 1) return {first + count / 2, first + count / 2, 1};
  return {first + count / 2 - 1, first + count / 2, 0.5};
}

quantile_position tukey_position(std::uint64_t num_keys, double q) {
  const std::uint64_t half = num_keys / 2 + num_keys % 2;  // with the central key of an odd number
  if (q == 0) return {0, 0, 1};
  if (q == 0.25) return median_of(0, half);
  if (q == 0.5) return median_of(0, num_keys);
  if (q == 0.75) return median_of(num_keys - half, half);
  if (q == 1) return {num_keys - 1, num_keys - 1, 1};
  throw invalid_argument(fmt::format("quantile method tukey: expected q = 0, 0.25, 0.5, 0.75 or 1, found {}", q));
}

}  // namespace

quantile_position position_of(std::uint64_t num_keys, double q, quantile_method method) {
  if (!(q >= 0 && q <= 1)) throw invalid_argument(fmt::format("quantile: expected q in [0, 1], found {}", q));
  if (num_keys == 0) throw bad_input("quantile: no data");
  if (method == quantile_method::tukey) return tukey_position(num_keys, q);
  if (static_cast<std::size_t>(method) >= rows.size()) {
    throw invalid_argument(
        fmt::format("quantile: method {} is none of those there are", static_cast<unsigned>(method)));
  }
  const method_row& row = rows[static_cast<std::size_t>(method)];
  const bool as_numpy = num_keys <= largest_numpy_count;
  return place(row.how, as_numpy ? index_as_numpy(row, num_keys, q) : index_exactly(row, num_keys, q), num_keys);
}

double quantile_value(quantile_method method, const quantile_position& position, double lower_key,
                      double upper_key) noexcept {
  if (method != quantile_method::tukey) return interpolate(lower_key, upper_key, position.weight);
  return position.lower_rank == position.upper_rank ? lower_key : mean_of_two(lower_key, upper_key);
}

}  // namespace spansort::statistics
