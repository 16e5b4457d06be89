// SPDX-License-Identifier: Apache-2.0
// The dtype of a .npy array: what its elements are, and for a structured one where its fields lie.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/io/npy_text.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

enum class npy_kind : std::uint8_t {
  number,
  boolean,
  time,        ///< datetime64, timedelta64: 64-bit integers of which the least is NaT
  bytes,       ///< S: strings of bytes
  text,        ///< U: strings of code points, 4 bytes each
  raw,         ///< V: bytes that mean nothing to NumPy
  other,       ///< without an order, or with none that we know: complex, long double
  structured,  ///< of several fields
};

struct npy_field;

struct npy_dtype {
  npy_kind kind = npy_kind::number;
  std::string descr;                             ///< as the header writes it
  std::uint64_t item_bytes = 0;                  ///< of an element
  std::optional<key_type> key = {};              ///< what an element is to the sorts: numbers, booleans, times
  std::endian byte_order = std::endian::native;  ///< of numbers, times and the code points of text
  std::vector<npy_field> fields;                 ///< in their order in memory, padding left out
};

struct npy_field {
  std::string name;
  std::uint64_t offset = 0;
  npy_dtype dtype;        ///< of an element where it is an array
  bool is_array = false;  ///< several values under one name
};

/// Reads what stands after 'descr'. Throws bad_input for what is no dtype, and for elements of which Spansort cannot
/// know the size or the content: Python objects, subarrays.
[[nodiscard]] npy_dtype read_npy_dtype(npy_text& text);

/// "datetime64[ns]", "S10", "complex numbers": the dtype in words, for messages.
[[nodiscard]] std::string dtype_text(const npy_dtype& dtype);

}  // namespace spansort::files
