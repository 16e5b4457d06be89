// SPDX-License-Identifier: Apache-2.0
#include "files/io/key_writer.hpp"

#include <span>
#include <vector>

#include "files/io/npy.hpp"

namespace spansort::files {

std::string header_of(const key_layout& layout, std::uint64_t num_keys) {
  if (layout.format == file_format::raw) return "";
  const npy_header numbers{layout.type, layout.byte_order, num_keys};
  if (!layout.shape.empty()) {
    return make_npy_header(layout.descr.empty() ? numpy_descr(numbers) : layout.descr, layout.shape, layout.is_fortran);
  }
  if (layout.descr.empty() && layout.ones_before + layout.ones_after + layout.row_shape.size() == 0)
    return make_npy_header(numbers);
  std::vector<std::uint64_t> shape(layout.ones_before, 1);
  shape.push_back(num_keys);
  shape.insert(shape.end(), layout.ones_after, 1);
  shape.insert(shape.end(), layout.row_shape.begin(), layout.row_shape.end());
  return make_npy_header(layout.descr.empty() ? numpy_descr(numbers) : layout.descr, shape);
}

key_layout output_layout(const output_target& target, const std::string& input, const key_layout& layout) {
  key_layout result = layout;
  if (is_npy_name(target.name)) {
    result.format = file_format::npy;
  } else if (!target.is_stream && !is_same_file(input, target.name)) {
    result.format = file_format::raw;
  }
  if (result.format == file_format::raw) result.byte_order = std::endian::little;
  return result;
}

std::uint64_t file_bytes(const key_layout& layout, std::uint64_t num_keys) {
  return header_of(layout, num_keys).size() + num_keys * layout.element_bytes();
}

void write_keys(const output_target& target, const key_layout& layout, key_span keys,
                const temporary_callback& on_temporary, const transfer_progress& progress) {
  const std::string header = header_of(layout, keys.num_keys);
  const std::span data(static_cast<std::byte*>(keys.data), keys.num_keys * size_bytes(layout.type));
  make_foreign(data, layout.element_bytes(), layout.changes());
  atomic_file file(target, header.size() + data.size(), on_temporary);
  file.write(std::as_bytes(std::span(header)));
  file.write(data, progress);
  file.commit();
}

}  // namespace spansort::files
