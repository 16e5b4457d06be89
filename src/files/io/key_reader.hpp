// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a raw or .npy file, in native byte order: all of them into memory, a part, or piece after piece.
// Elements of a .npy file that are no keys, records, are read likewise where they are asked for.
// The count is known from the header or the file's size before anything is allocated; a stream grows with what arrives,
// never with what its header claims.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_buffer.hpp"
#include "files/io/input.hpp"
#include "files/io/npy.hpp"
#include "files/io/word_changes.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

enum class file_format : std::uint8_t { raw, npy };

/// The description of a file of keys. Keys of a .npy file need not be numbers to NumPy: `descr` is then
/// what their dtype is.
struct key_layout {
  file_format format = file_format::raw;
  key_type type = key_type::u8;  ///< of no meaning for records
  std::endian byte_order = std::endian::little;
  std::uint64_t record_bytes = 0;                ///< of elements that are no keys; 0: they are
  std::vector<word_change> record_changes = {};  ///< of records
  bool lowers_times = false;                     ///< keys are times, of which NaT is to be the greatest
  std::string descr = {};                        ///< dtype of a .npy file; "": that of type and byte order
  unsigned ones_before = 0;                      ///< dimensions of 1 in a .npy file's shape, before the one of the keys
  unsigned ones_after = 0;
  std::vector<std::uint64_t> row_shape = {};  ///< of elements that are rows of a .npy array
  bool is_one_row = true;                     ///< no more than one dimension is not 1
  std::vector<std::uint64_t> shape = {};      ///< of a .npy file whose count of keys stays; empty: count and ones
  bool is_fortran = false;                    ///< order of `shape`

  [[nodiscard]] std::uint64_t element_bytes() const { return record_bytes != 0 ? record_bytes : size_bytes(type); }
  /// Returns what is done to elements that are read, and undone when they are written.
  [[nodiscard]] std::vector<word_change> changes() const;
};

struct loaded_keys {
  key_layout layout;
  std::uint64_t num_keys = 0;
  base::byte_buffer bytes;

  [[nodiscard]] key_span span() noexcept { return {layout.type, bytes.data(), num_keys}; }
  [[nodiscard]] const_key_span span() const noexcept { return {layout.type, bytes.data(), num_keys}; }
};

/// Memory for keys, decided before it is taken: bytes beside the keys, for each key of the given type, and a ceiling.
struct memory_policy {
  std::function<std::uint64_t(key_type)> workspace_bytes_per_key;
  std::uint64_t limit_bytes = 0;  ///< keys and workspace together, 0: what the machine has
};

/// An input whose header has been read and found good; its keys follow.
class key_reader {
 public:
  /// Opens `path`; "-" is standard input. Throws bad_input, io_error, and invalid_argument when raw keys come without a
  /// type. Times and records are refused: see open_elements().
  key_reader(const std::string& path, std::optional<key_type> type);
  /// Opens `path` likewise; an array of several dimensions is one sequence of keys.
  [[nodiscard]] static key_reader open_keys(const std::string& path, std::optional<key_type> type);
  /// This says which shapes of arrays are taken.
  enum class shape_rule : std::uint8_t {
    one_row,  ///< all dimensions but one are 1
    flat,     ///< all, as one sequence
    any       ///< all; who reads rows knows how they lie
  };
  /// Opens `path` likewise and takes arrays of all that can be ordered. Who reads records says how with read_as().
  [[nodiscard]] static key_reader open_elements(const std::string& path, std::optional<key_type> type,
                                                shape_rule shape = shape_rule::one_row);
  /// Opens `path` as `num_rows` rows of whatever it holds: a .npy array of any dtype whose first dimension is that of
  /// the rows, or raw bytes. Its elements are the rows. Throws bad_input where it cannot be that.
  [[nodiscard]] static key_reader open_rows(const std::string& path, std::uint64_t num_rows);
  /// Has an array of any shape that is one row taken as such.
  void take_row() { take_shape(shape_rule::one_row); }

  [[nodiscard]] const key_layout& layout() const noexcept { return layout_; }
  /// The header of a .npy file.
  [[nodiscard]] const std::optional<npy_array>& array() const noexcept { return array_; }
  /// Has elements read as `layout` says, which has the size of the elements as they are.
  void read_as(key_layout layout) { layout_ = std::move(layout); }
  /// Bytes before the first key.
  [[nodiscard]] std::uint64_t header_bytes() const noexcept { return header_bytes_; }
  /// Known for regular files only.
  [[nodiscard]] std::optional<std::uint64_t> num_keys() const noexcept;

  /// Throws out_of_memory when the count is known and too large.
  void require_memory(const memory_policy& memory) const;

  /// Reads the keys, once. Throws bad_input, io_error, out_of_memory, and what `progress` throws.
  [[nodiscard]] loaded_keys read(const memory_policy& memory, const transfer_progress& progress = {});

  /// Reads the next keys, as many as fit, and returns how many those are; fewer only at the end. There, and as soon as
  /// the last of a known count has been read, it throws bad_input where read() would. Not together with read() and
  /// read_part().
  std::uint64_t read_some(std::span<std::byte> into, const transfer_progress& progress = {});
  /// Has read_some() read `count` keys from the one at `first` on, and no others; of a regular file, before any key is
  /// read.
  void take_part(std::uint64_t first, std::uint64_t count);
  /// Drops what has been read from the page cache: for files that would fill it.
  void drop_read_pages() noexcept { input_.drop_read_pages(); }

  /// Name of the input for messages.
  [[nodiscard]] const std::string& name() const noexcept { return input_.name(); }

  /// Reads `count` keys from the one at `first` on; of a regular file whose number of keys is known. As read()
  /// otherwise.
  [[nodiscard]] loaded_keys read_part(std::uint64_t first, std::uint64_t count, const memory_policy& memory,
                                      const transfer_progress& progress = {});

 private:
  key_reader(const std::string& path, std::optional<key_type> type, bool takes_elements, shape_rule shape);
  explicit key_reader(const std::string& path) : input_(path) {}
  void read_header(std::optional<key_type> type, shape_rule shape);
  void read_array();
  void take_claimed_size();
  void take_rows(std::uint64_t num_rows);
  void take_dtype(std::optional<key_type> type);
  void take_shape(shape_rule rule);
  void require_keys() const;
  [[noreturn]] void refuse(const std::string& why) const;
  void require_claimed_size(std::uint64_t data_bytes) const;
  void require_whole_keys(std::uint64_t num_bytes) const;
  void require_complete(std::uint64_t data_bytes);
  [[nodiscard]] std::uint64_t most_bytes() const noexcept;
  void require_room(std::uint64_t num_bytes, std::uint64_t held_bytes, const memory_policy& memory) const;
  base::byte_buffer read_known(const memory_policy& memory, const transfer_progress& progress);
  base::byte_buffer read_stream(const memory_policy& memory, const transfer_progress& progress);

  input_file input_;
  key_layout layout_;
  std::optional<npy_array> array_;
  std::string head_;  ///< first bytes of raw keys, read to see what they are
  std::uint64_t header_bytes_ = 0;
  std::optional<std::uint64_t> claimed_bytes_;  ///< of keys, by the header
  bool is_empty_ = false;                       ///< a regular file of which nothing could be read
  std::uint64_t bytes_taken_ = 0;               ///< of keys, by read_some()
  std::optional<std::uint64_t> part_bytes_;     ///< that read_some() reads, where that is a part of the file
};

/// Returns whether the name ends in ".npy".
[[nodiscard]] bool is_npy_name(const std::string& path);

}  // namespace spansort::files
