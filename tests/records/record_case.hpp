// SPDX-License-Identifier: Apache-2.0
// Random formats of records, records to sort by them, and the order that a reader of the documentation expects: fields
// compared one by one, as numbers, with nothing of src/keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spansort/records.hpp"
#include "support/environment.hpp"

namespace spansort::test {

using bytes = std::vector<std::byte>;

/// What the records' bytes are drawn from.
enum class record_contents : std::uint8_t {
  random,          ///< any bytes
  few_values,      ///< bytes 0 and 255 alone: many equal keys
  constant,        ///< all records alike, but for what is in no field
  two_values,      ///< two records, alternating
  equal_prefixes,  ///< the first 8, 16 or more bytes of the keys alike
  special          ///< numbers at the edges of their types: zeros, infinities, NaNs, extremes
};
inline constexpr record_contents all_contents[] = {record_contents::random,         record_contents::few_values,
                                                   record_contents::constant,       record_contents::two_values,
                                                   record_contents::equal_prefixes, record_contents::special};

[[nodiscard]] record_format random_format(random_words& random);
[[nodiscard]] bytes make_records(const record_format& format, std::uint64_t num_records, record_contents contents,
                                 random_words& random);

/// Returns whether record `a` comes before `b` in value.
[[nodiscard]] bool record_precedes(const record_format& format, bool descending, const std::byte* a,
                                   const std::byte* b);
/// Returns the records sorted by std::stable_sort.
[[nodiscard]] bytes sorted_records(const record_format& format, bool descending, const bytes& records);

[[nodiscard]] std::string describe(const record_format& format);

}  // namespace spansort::test
