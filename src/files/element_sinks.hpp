// SPDX-License-Identifier: Apache-2.0
// Sinks of elements: keys, indices or records into a file, which appears whole or not at all, or a stream. Constant
// memory: what is written goes straight from the caller's memory. The file is opened when the first element comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "files/external/element_stream.hpp"
#include "files/io/atomic_file.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/output_target.hpp"

namespace spansort::files {

struct sink_options {
  /// expect() will be called. Where nobody can (-u), a .npy file gets its count at the end; a .npy stream cannot, and
  /// the sink's constructor throws invalid_argument.
  bool is_count_known = true;
  /// false: what has been written to a file is dropped from the page cache. For files that would fill it.
  bool keeps_page_cache = true;
  /// false: a file is left to the system to be written to the disk (file_options::sync).
  bool is_synced = true;
  temporary_callback on_temporary = {};
  transfer_progress on_progress = {};
};

/// This says what becomes of elements on the disk.
struct disk_form {
  std::optional<key_layout> layout;  ///< nothing: no header
  std::uint64_t element_bytes = 0;   ///< of one, on the disk
  /// Turns elements into what is written, in place: the bytes from `elements` on.
  std::function<void(std::byte* elements, std::uint64_t count)> convert;

  /// Returns what comes before so many elements; "" for none.
  [[nodiscard]] std::string header(std::uint64_t num_elements) const;
};

/// Returns the form of keys or records that are written as `layout` says.
[[nodiscard]] disk_form form_of_keys(const key_layout& layout);
/// Returns the form of indices, of elements of `key_bytes` and a 64-bit index.
[[nodiscard]] disk_form form_of_indices(const key_layout& layout, std::uint64_t key_bytes);
/// Returns the form of records that are written as they are. Throws invalid_argument where the name is .npy's.
[[nodiscard]] disk_form form_of_records(const output_target& target, std::uint64_t record_bytes);

/// Takes keys or records in native form and writes them as `layout` says (output_layout).
[[nodiscard]] std::unique_ptr<external::element_sink> make_key_sink(output_target target, const key_layout& layout,
                                                                    sink_options options = {});

/// A sink whose file can be made to appear together with another one.
class late_sink : public external::element_sink {
 public:
  /// All have come: the file is complete and may be committed, which finish() does.
  [[nodiscard]] virtual atomic_file& complete() = 0;
};

/// Makes a sink of keys or records as make_key_sink().
[[nodiscard]] std::unique_ptr<late_sink> make_late_sink(output_target target, const key_layout& layout,
                                                        sink_options options = {});

/// Returns what an output of indices of `type` is, where one of elements were as `layout` says: little-endian.
[[nodiscard]] key_layout index_layout_of(const key_layout& layout, key_type type);

/// Throws invalid_argument unless `type` is i64, u64, i32 or u32 and can be the index of each of `count` elements.
void require_index_type(key_type type, std::uint64_t count);

/// Takes elements of `key_bytes` and a 64-bit index, and writes the indices as `layout` says (index_layout_of).
[[nodiscard]] std::unique_ptr<external::element_sink> make_index_sink(output_target target, const key_layout& layout,
                                                                      std::uint64_t key_bytes,
                                                                      sink_options options = {});

/// Takes records of `record_bytes` and writes them as they are. Throws invalid_argument where the name is .npy's.
[[nodiscard]] std::unique_ptr<external::element_sink> make_record_sink(output_target target, std::uint64_t record_bytes,
                                                                       sink_options options = {});

}  // namespace spansort::files
