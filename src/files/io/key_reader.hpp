// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a raw or .npy file, in native byte order: all of them into memory, a part, or piece after piece.
// The count is known from the header or the file's size before anything is allocated; a stream grows with what arrives,
// never with what its header claims.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/byte_buffer.hpp"
#include "files/io/input.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

enum class file_format : std::uint8_t { raw, npy };

/// What a file of keys is.
struct key_layout {
  file_format format = file_format::raw;
  key_type type = key_type::u8;
  std::endian byte_order = std::endian::little;
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
  /// type.
  key_reader(const std::string& path, std::optional<key_type> type);

  [[nodiscard]] const key_layout& layout() const noexcept { return layout_; }
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
  /// Drops what has been read from the page cache: for files that would fill it.
  void drop_read_pages() noexcept { input_.drop_read_pages(); }

  /// Name of the input for messages.
  [[nodiscard]] const std::string& name() const noexcept { return input_.name(); }

  /// Reads `count` keys from the one at `first` on; of a regular file whose number of keys is known. As read()
  /// otherwise.
  [[nodiscard]] loaded_keys read_part(std::uint64_t first, std::uint64_t count, const memory_policy& memory,
                                      const transfer_progress& progress = {});

 private:
  void read_header(std::optional<key_type> type);
  void require_claimed_size(std::uint64_t data_bytes) const;
  void require_whole_keys(std::uint64_t num_bytes) const;
  void require_complete(std::uint64_t data_bytes);
  [[nodiscard]] std::uint64_t most_bytes() const noexcept;
  void require_room(std::uint64_t num_bytes, std::uint64_t held_bytes, const memory_policy& memory) const;
  base::byte_buffer read_known(const memory_policy& memory, const transfer_progress& progress);
  base::byte_buffer read_stream(const memory_policy& memory, const transfer_progress& progress);

  input_file input_;
  key_layout layout_;
  std::string head_;  ///< first bytes of raw keys, read to see what they are
  std::uint64_t header_bytes_ = 0;
  std::optional<std::uint64_t> claimed_bytes_;  ///< of keys, by the header
  bool is_empty_ = false;                       ///< a regular file of which nothing could be read
  std::uint64_t bytes_taken_ = 0;               ///< of keys, by read_some()
};

/// Reverses the bytes of every element of 1, 2, 4 or 8 bytes.
void swap_bytes(std::span<std::byte> elements, std::size_t element_bytes);

/// Returns whether the name ends in ".npy".
[[nodiscard]] bool is_npy_name(const std::string& path);

}  // namespace spansort::files
