// SPDX-License-Identifier: Apache-2.0
// Elements of a file brought into the order of indices that are in another file, as argsort_file() writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spansort/cxx20.hpp"
#include "spansort/files.hpp"
#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort {

struct take_file_options {
  /// Type of raw keys. .npy data needs none: its elements are the rows of its first dimension, of any dtype.
  std::optional<key_type> type = {};
  /// Raw data are records of so many bytes; 0: keys.
  std::uint64_t record_bytes = 0;
  /// Type of raw indices: u32, i32, u64 or i64, as argsort_file() writes them. A .npy file says its own; a stream that
  /// is .npy must agree.
  key_type index_type = key_type::i64;
  /// A ceiling on the memory of the whole process; 0: half of what is free.
  std::uint64_t memory_limit_bytes = 0;
  unsigned threads = 0;  ///< as in sort_options
  bool sync = true;      ///< as in file_options
  temporary_file_callback on_temporary = {};
  /// Called as in sort_options, with the phases "read", for data that is held, and "take". Returning false throws
  /// `cancelled`; `output` is then as it was.
  progress_callback on_progress = {};
};

/// The account that take_file() returns.
struct take_file_result {
  std::uint64_t num_elements = 0;  ///< of the data
  std::uint64_t element_bytes = 0;
  std::uint64_t num_taken = 0;
  bool was_held = true;  ///< the data was in memory; else each part of the order read what it needed
};

/// Writes element order[i] of `data` to place i of `output`: keys, rows of a .npy array, or records. Elements may be
/// taken several times and not at all. The order is read piece by piece. Data that fits in memory is read once, and
/// gathered by all threads. Of larger data, as many indices as fit are put in order, what they name is read from the
/// begin of the file to its end, neighbours together, and put where it belongs: one such sweep for every part of the
/// order that fits, so that memory of a tenth of the output makes ten of them, and nothing is spilled. "-" is a stream,
/// which is held in memory. `output` is .npy when its name says so and the data is .npy or has a type, with the data's
/// dtype and the shape of its rows; raw otherwise. It appears whole or not at all and may be either input.
/// Throws bad_input, naming the first one and its position, for an index that is negative or out of range, io_error,
/// invalid_argument and out_of_memory; `output` is then as it was.
take_file_result take_file(const std::string& data, const std::string& order, const std::string& output,
                           const take_file_options& options = {});

}  // namespace spansort
