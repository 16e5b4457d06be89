// SPDX-License-Identifier: Apache-2.0
// Fixed-width records: rows of bytes that are ordered by one or several fields.
//
// A field is plain bytes in the order of memcmp, or a little-endian number of one of the key types. Floats are ordered
// as the keys of sort_pairs: -0.0 ties with +0.0 and NaN with NaN, NaN last, ascending and descending.
// direction::descending turns the direction of every field around. Records that are equal in all fields keep their
// input order either way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// A field that records are ordered by. Fields may overlap.
struct record_key {
  std::uint32_t offset = 0;           ///< of its first byte in the record
  std::uint32_t size_bytes = 0;       ///< that of the type; plain bytes: 1 to most_record_key_bytes
  std::optional<key_type> type = {};  ///< little-endian; nothing: plain bytes in the order of memcmp
  bool descending = false;
  friend bool operator==(const record_key&, const record_key&) = default;
};

/// Records of `record_bytes`, ordered by the first key; where that is equal by the second, and so on.
struct record_format {
  std::uint32_t record_bytes = 0;
  std::vector<record_key> keys = {};
  friend bool operator==(const record_format&, const record_format&) = default;
};

inline constexpr std::uint32_t most_record_bytes = 65536;
inline constexpr std::uint32_t most_record_key_bytes = 256;  ///< of a field of plain bytes
inline constexpr std::size_t most_record_keys = 16;

/// A field of a structured NumPy array by its name, "a.b" for the field b of the structure a. Text and dates are
/// fields, too; fields of several values are not.
struct field_key {
  std::string name;
  bool descending = false;
  friend bool operator==(const field_key&, const field_key&) = default;
};

/// Throws invalid_argument, naming the key and what is wrong with it, unless records of 1 to most_record_bytes have 1
/// to most_record_keys keys that lie within them, each of its type's size.
void check_record_format(const record_format& format);

/// Fields as `offset:size[:type][:r]`, several after commas: "0:10", "0:4:u32,4:8:f64:r"; `r` is descending. Throws
/// invalid_argument for anything else; whether the fields fit a record is not known here.
[[nodiscard]] std::vector<record_key> parse_record_keys(std::string_view text);

/// Records of `record_bytes` with the keys of parse_record_keys(), checked. Throws invalid_argument.
[[nodiscard]] record_format parse_record_format(std::uint64_t record_bytes, std::string_view keys);

/// Fields as `name[:r]`, several after commas: "sym,price:r"; `r` is descending. Throws invalid_argument for an empty
/// name and for anything else after a colon.
[[nodiscard]] std::vector<field_key> parse_field_keys(std::string_view text);

/// The text that parse_record_keys() reads.
[[nodiscard]] std::string to_string(const std::vector<record_key>& keys);
/// The text that parse_field_keys() reads.
[[nodiscard]] std::string to_string(const std::vector<field_key>& keys);

/// Sorts `num_records` records in host memory, of any alignment, in place. Stable. Blocks.
///
/// The first 8 bytes of the normalised keys (all fields, encoded so that memcmp orders them) are sorted with an index
/// by sort_pairs, on the options' devices; records that are equal in them by the next 8, and so on; then the records
/// are gathered. Memory beside the records, n records of R bytes, an index of i = 4 bytes (8 from 2^32 records on):
///   n * (i + max(8, s)) + the workspace of sort_pairs with keys of 8 and values of i bytes (sort.hpp),
///   where s = ceil(R / min(4, ceil(R / 64))) is what is moved of a record at a time,
/// on which `options.memory_limit_bytes` is a ceiling; besides, 512 KiB a thread and n / 341 bytes. The report's phases
/// are those of the first sort_pairs, "equal prefixes" and "gather".
/// Throws invalid_argument, device_error, out_of_memory, cancelled; the records are then untouched. What the progress
/// callback throws once they are being gathered surfaces when all are in place, but for `abandoned` (abandon.hpp),
/// which leaves them lost.
void sort_records(void* records, std::uint64_t num_records, const record_format& format, direction d,
                  const sort_options& options = {});
inline void sort_records(void* records, std::uint64_t num_records, const record_format& format,
                         const sort_options& options = {}) {
  sort_records(records, num_records, format, direction::ascending, options);
}

}  // namespace spansort
