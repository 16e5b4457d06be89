// SPDX-License-Identifier: Apache-2.0
// This header reads the indices of a file or stream piece by piece.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_buffer.hpp"
#include "files/io/key_reader.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

/// The order of a take_file(). A stream, whose length is not known before, is held.
class index_source {
 public:
  /// Opens `path`; raw indices are of `raw_type`. Throws what key_reader throws, and bad_input for what is no row of
  /// indices.
  index_source(const std::string& path, key_type raw_type);

  [[nodiscard]] const std::string& name() const noexcept { return reader_.name(); }
  [[nodiscard]] key_type type() const noexcept { return reader_.layout().type; }
  [[nodiscard]] std::uint64_t count() const { return is_held_ ? held_.num_keys : *reader_.num_keys(); }
  /// Reads the next `count` indices, fewer at the end.
  [[nodiscard]] const_key_span next(std::uint64_t count);

 private:
  void require_indices();

  key_reader reader_;
  loaded_keys held_;
  bool is_held_ = false;
  std::uint64_t next_ = 0;
  base::byte_buffer piece_;
};

}  // namespace spansort::files
