// SPDX-License-Identifier: Apache-2.0
#include "files/typed_input.hpp"

#include <fmt/format.h>

#include <utility>

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
  npy_records records = order_of_array(*input.reader.array(), request.fields, request.direction, input.reader.name());
  layout.record_changes = std::move(records.changes);
  input.reader.read_as(std::move(layout));
  input.records = std::move(records.format);
  if (!request.fields.empty()) input.elements += fmt::format(" by {}", to_string(request.fields));
}

void order_times(typed_input& input, direction d) {
  key_layout layout = input.reader.layout();
  layout.lowers_times = d == direction::ascending;
  input.reader.read_as(std::move(layout));
  input.is_time = true;
}

}  // namespace

typed_input open_typed_input(const std::string& path, const input_request& request) {
  typed_input input{.reader = key_reader::open_elements(path, request.type), .records = {}, .elements = {}};
  input.elements = text_of(input.reader);
  if (input.reader.layout().record_bytes != 0) {
    order_records(input, request);
    return input;
  }
  if (!request.fields.empty()) {
    throw invalid_argument(fmt::format(
        "{}: holds {} and no fields; names of fields (--key) are for structured .npy arrays, while fields of raw "
        "records are named by their place, beside the size of a record (--record)",
        input.reader.name(), input.elements));
  }
  if (input.reader.array() && input.reader.array()->dtype.kind == npy_kind::time) order_times(input, request.direction);
  return input;
}

}  // namespace spansort::files
