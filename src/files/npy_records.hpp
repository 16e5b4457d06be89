// SPDX-License-Identifier: Apache-2.0
// Elements of .npy arrays that are no keys: strings of a fixed width, and structures that are ordered by their fields.
#pragma once

#include <string>
#include <vector>

#include "files/io/npy.hpp"
#include "files/io/word_changes.hpp"
#include "spansort/records.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

/// The format by which elements of an array are ordered as records, once the changes have been made.
struct npy_records {
  record_format format;
  std::vector<word_change> changes;
};

/// `keys` name fields, the first counts most; empty: all fields in their order, as NumPy. NaT is last in `d`, and in
/// the other direction where a key is descending. Throws invalid_argument for a name that is none and for fields that
/// have no order, naming `file`, and as check_record_format().
[[nodiscard]] npy_records order_of_array(const npy_array& array, const std::vector<field_key>& keys, direction d,
                                         const std::string& file);

}  // namespace spansort::files
