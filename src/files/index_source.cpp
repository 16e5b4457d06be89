// SPDX-License-Identifier: Apache-2.0
#include "files/index_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "files/io/npy.hpp"
#include "sort/take.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

key_reader open_indices(const std::string& path, key_type raw_type) {
  constexpr auto any_shape = key_reader::shape_rule::any;
  // A file can be opened twice: .npy says its own type, raw indices do not.
  std::error_code unknown;
  if (path == "-" || !std::filesystem::is_regular_file(path, unknown)) {
    return key_reader::open_elements(path, raw_type, any_shape);
  }
  try {
    return key_reader::open_elements(path, {}, any_shape);
  } catch (const invalid_argument&) {
    return key_reader::open_elements(path, raw_type, any_shape);
  }
}

bool is_index_type(key_type type) {
  try {
    sorting::require_index_type(type);
  } catch (const invalid_argument&) {
    return false;
  }
  return true;
}

}  // namespace

index_source::index_source(const std::string& path, key_type raw_type) : reader_(open_indices(path, raw_type)) {
  require_indices();
  if (reader_.num_keys()) return;
  held_ = reader_.read({});
  is_held_ = true;
}

void index_source::require_indices() {
  const std::optional<npy_array>& array = reader_.array();
  if (!is_index_type(type()) || (array && array->dtype.kind != npy_kind::number)) {
    throw bad_input(fmt::format("{}: indices of type i64, u64, i32 or u32 are expected, found {}", name(),
                                array ? dtype_text(array->dtype) : std::string(spansort::name(type()))));
  }
  if (!array) return;
  if (array->shape.size() > 1 && !reader_.layout().is_one_row) {
    throw bad_input(
        fmt::format("{}: an array of shape {}: one row of indices is expected; np.save(..., order.ravel()) makes one",
                    name(), shape_text(array->shape)));
  }
  reader_.take_row();
}

const_key_span index_source::next(std::uint64_t count) {
  const std::uint64_t width = size_bytes(type());
  if (is_held_) {
    const std::uint64_t num_given = std::min(count, held_.num_keys - next_);
    const const_key_span indices(type(), held_.bytes.data() + next_ * width, num_given);
    next_ += num_given;
    return indices;
  }
  piece_.make_room(count * width);
  return {type(), piece_.data(), reader_.read_some(piece_.bytes().first(count * width))};
}

}  // namespace spansort::files
