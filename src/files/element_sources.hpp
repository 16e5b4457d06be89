// SPDX-License-Identifier: Apache-2.0
// Sources of elements: the keys of a file or stream, keys with their index, fixed-width records. Constant memory: what
// is read goes straight into the caller's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "files/external/element_stream.hpp"
#include "files/io/input.hpp"
#include "files/io/key_reader.hpp"

namespace spansort::files {

/// Some elements of an input, one after the other.
struct element_share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct source_options {
  /// false: what has been read of a regular file is dropped from the page cache. For files that would fill it.
  bool keeps_page_cache = true;
  transfer_progress on_progress = {};
  /// Called on the reading thread with how many of the elements that are being read are there, from the first on, as
  /// they will stay. Sources that cannot say so before read() returns do not call it. May throw to stop it.
  std::function<void(std::uint64_t num_elements)> on_arrived = {};
  /// The source is of these elements alone, of a regular file; indices are those that they have in all of it.
  std::optional<element_share> share = {};
};

/// Elements are keys in native byte order. Takes a reader of which no key has been read.
[[nodiscard]] std::unique_ptr<external::element_source> make_key_source(key_reader reader, source_options options = {});

/// Elements are keys in native byte order, each followed by its 64-bit index in the input, native too; nothing between.
[[nodiscard]] std::unique_ptr<external::element_source> make_indexed_key_source(key_reader reader,
                                                                                source_options options = {});

/// Elements are records of `record_bytes`, as they are. Takes an input of which nothing has been read. Throws bad_input
/// when the size is not a multiple of that or the name is .npy's.
[[nodiscard]] std::unique_ptr<external::element_source> make_record_source(input_file input, std::uint64_t record_bytes,
                                                                           source_options options = {});

/// Makes the source of records in the input at `path`. Throws what input_file throws, too.
[[nodiscard]] std::unique_ptr<external::element_source> make_record_source(const std::string& path,
                                                                           std::uint64_t record_bytes,
                                                                           source_options options = {});

}  // namespace spansort::files
