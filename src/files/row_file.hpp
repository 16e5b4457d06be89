// SPDX-License-Identifier: Apache-2.0
// A file of equally large elements whose order and meaning are of no matter: raw keys or records, or the rows of a .npy
// array of any dtype and shape.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_buffer.hpp"
#include "files/io/input.hpp"
#include "files/io/key_reader.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

class row_file {
 public:
  /// Opens `path` and reads its header; `record_bytes` of raw records, 0 for keys of `type`. Throws bad_input,
  /// io_error, and invalid_argument where the size of raw elements is not told.
  row_file(const std::string& path, std::optional<key_type> type, std::uint64_t record_bytes);

  [[nodiscard]] const std::string& name() const noexcept { return input_.name(); }
  [[nodiscard]] file_format format() const noexcept { return format_; }
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  /// Unknown for streams, until all has been read.
  [[nodiscard]] std::optional<std::uint64_t> num_rows() const noexcept { return num_rows_; }
  /// Returns whether raw bytes of it are what raw files hold: words are little-endian, or there are none.
  [[nodiscard]] bool is_native() const noexcept { return is_native_; }

  /// Reads all rows, once.
  [[nodiscard]] base::byte_buffer read_all(const transfer_progress& progress = {});
  /// Returns the header of a .npy file with so many of these rows; "" where the file has none and no type tells it.
  [[nodiscard]] std::string npy_header_for(std::uint64_t num_rows) const;
  /// Bytes before the first row, for those who read a regular file themselves.
  [[nodiscard]] std::uint64_t first_byte() const noexcept { return first_byte_; }

 private:
  void read_npy();
  void take_array(const npy_array& array);
  [[nodiscard]] base::byte_buffer read_stream(const transfer_progress& progress);

  input_file input_;
  std::string head_;  ///< read already
  file_format format_ = file_format::raw;
  std::uint64_t first_byte_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::optional<std::uint64_t> num_rows_;
  std::optional<std::uint64_t> claimed_rows_;  ///< by the header
  bool is_native_ = true;
  std::string descr_;
  std::vector<std::uint64_t> row_shape_;
};

}  // namespace spansort::files
