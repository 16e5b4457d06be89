// SPDX-License-Identifier: Apache-2.0
#include "files/typed_input.hpp"

#include <fmt/format.h>

#include <utility>

#include "files/array_axis.hpp"
#include "files/npy_records.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

std::string text_of(const key_reader& reader) {
  const key_layout& layout = reader.layout();
  const bool is_number =
      layout.record_bytes == 0 && (!reader.array() || reader.array()->dtype.kind == npy_kind::number ||
                                   reader.array()->dtype.kind == npy_kind::raw);
  return is_number ? std::string(name(layout.type)) : dtype_text(reader.array()->dtype);
}

void order_records(typed_input& input, const input_request& request) {
  key_layout layout = input.reader.layout();
  npy_records records =
      order_of_array(*input.reader.array(), request.array.fields, request.direction, input.reader.name());
  layout.record_changes = std::move(records.changes);
  input.reader.read_as(std::move(layout));
  input.records = std::move(records.format);
  if (!request.array.fields.empty()) input.elements += fmt::format(" by {}", to_string(request.array.fields));
}

void order_times(typed_input& input, direction d) {
  key_layout layout = input.reader.layout();
  layout.lowers_times = d == direction::ascending;
  input.reader.read_as(std::move(layout));
  input.is_time = true;
}

key_reader::shape_rule shape_of(const array_options& array) {
  if (!array.axis) return array.flattens ? key_reader::shape_rule::flat : key_reader::shape_rule::one_row;
  if (!array.flattens) return key_reader::shape_rule::any;
  throw invalid_argument("array_options: flattens and an axis do not go together");
}

/// Keys of one row are like those of one dimension.
void take_axis(typed_input& input, const array_options& request) {
  if (!request.axis) return;
  if (!input.reader.array()) {
    throw invalid_argument(
        fmt::format("{}: raw keys have no axis (--axis), only .npy arrays have", input.reader.name()));
  }
  const npy_array& array = *input.reader.array();
  if (is_one_row(array, *request.axis, input.reader.name())) {
    input.reader.take_row();
  } else if (input.reader.layout().record_bytes != 0) {
    throw invalid_argument(
        fmt::format("{}: strings and structures are not sorted along an axis, only numbers, bool and dates are; "
                    "--axis none sorts all elements as one",
                    input.reader.name()));
  } else {
    input.is_along_axis = true;
  }
}

}  // namespace

typed_input open_typed_input(const std::string& path, const input_request& request) {
  typed_input input{
      .reader = key_reader::open_elements(path, request.type, shape_of(request.array)), .records = {}, .elements = {}};
  take_axis(input, request.array);
  input.elements = text_of(input.reader);
  if (input.reader.layout().record_bytes != 0) {
    order_records(input, request);
    return input;
  }
  if (!request.array.fields.empty()) {
    throw invalid_argument(fmt::format(
        "{}: holds {} and no fields; names of fields (--key) are for structured .npy arrays, while fields of raw "
        "records are named by their place, beside the size of a record (--record)",
        input.reader.name(), input.elements));
  }
  if (input.reader.array() && input.reader.array()->dtype.kind == npy_kind::time) order_times(input, request.direction);
  return input;
}

}  // namespace spansort::files
