// SPDX-License-Identifier: Apache-2.0
// The named distributions, shared by tests, `spansort gen` and benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/types.hpp"

namespace spansort {

enum class distribution_kind : std::uint8_t {
  uniform,        ///< every bit pattern alike for integers; floats: uniform in [0, 1)
  normal,         ///< integers: mean in the middle of the range, deviation an eighth of it; floats: mean 0, deviation 1
  zero,           ///< all zero
  sorted,         ///< ascending: uniform draws in order, spread evenly over the type's range
  reverse,        ///< the same, descending
  nearly_sorted,  ///< sorted, then 1 % of the keys replaced by uniform ones
  staggered,      ///< 64 pieces of like size, out of order; each is uniform within one 64th of the range
  bucket_sorted,  ///< 64 pieces, each a sorted run over the whole range
  zipf,           ///< rank drawn with probability ~ 1/rank^parameter from at most 2^32 ranks; the key is rank - 1
  entropy,        ///< AND of `parameter` uniform words (Thearling and Smith); floats: those bits, NaN and inf included
  last_digit_only,  ///< uniform in the low 8 bits of the encoded key, zero above
  one_spanning,     ///< nine tenths share their upper half (one spanning bucket), the rest uniform
  special_floats,   ///< floats: +-0, +-inf, NaNs of both signs and many payloads, denormals; all types: extremes
};

struct distribution {
  distribution_kind kind = distribution_kind::uniform;
  double parameter = 0;  ///< zipf: exponent >= 0; entropy: whole number of words, 1 to 64
};

/// "uniform", "zipf:1", "entropy:4", "nearly-sorted" ... Throws invalid_argument listing what is known.
[[nodiscard]] distribution parse_distribution(std::string_view text);

/// The text that parse_distribution() reads.
[[nodiscard]] std::string to_string(const distribution& d);

/// One example of every kind, for tests and benchmarks.
[[nodiscard]] std::vector<distribution> all_distributions();

/// Fills `keys`. Same seed, type, count: same bytes on every machine with IEEE floats, whatever the number of threads.
void generate(key_span keys, const distribution& d, std::uint64_t seed);

/// Fills `part` with the keys at `first` and behind it, of the `num_keys_in_all` keys that generate() makes: parts of
/// any size, in any order, make up the same bytes. Throws invalid_argument when the part is not inside the whole.
void generate_part(key_span part, const distribution& d, std::uint64_t seed, std::uint64_t first,
                   std::uint64_t num_keys_in_all);

inline constexpr std::uint64_t generated_record_bytes = 100;

/// Fills `records` with records `first_record`, first_record + 1 ..., 100 bytes each, in the layout of the Sort
/// Benchmark's binary records (sortbenchmark.org): 10 random bytes that are the key, 00 11, the record's number as 32
/// hexadecimal digits, 88 99 aa bb, 12 random hexadecimal digits four times each, cc dd ee ff. The random numbers are
/// this library's own: the records are not those of gensort. Same seed and number: same bytes on every machine. Throws
/// invalid_argument unless whole records fit.
void generate_records(std::span<std::byte> records, std::uint64_t first_record, std::uint64_t seed);

}  // namespace spansort
