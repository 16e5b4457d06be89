// SPDX-License-Identifier: Apache-2.0
#include "cli/records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <system_error>

#include "cli/numbers.hpp"
#include "spansort/errors.hpp"

namespace cli {

void add_record_flags(CLI::App& command, record_arguments& arguments) {
  command
      .add_option("--record", arguments.record_bytes, "Fixed-width records of so many bytes, ordered by their --key")
      ->type_name("BYTES");
  command
      .add_option(
          "--key", arguments.keys,
          "Field of a structured .npy array, NAME[:r], or of raw records, OFFSET:SIZE[:TYPE][:r]: plain bytes or "
          "a little-endian number of TYPE; r for descending; several after commas or by several flags, the "
          "first counts most")
      ->type_name("FIELD")
      ->allow_extra_args(false);
  command
      .add_option("--axis", arguments.axis,
                  "Of a .npy array of several dimensions: 0 sorts each column by itself, 1 or -1 each row of a matrix, "
                  "none all elements as one sequence")
      ->type_name("AXIS");
}

std::optional<spansort::record_format> parse_record_flags(const record_arguments& arguments, const std::string& type) {
  if (arguments.record_bytes.empty()) return std::nullopt;
  if (arguments.keys.empty()) {
    throw spansort::invalid_argument("--key: a field to order records by is needed, as --key 0:10");
  }
  if (!type.empty()) {
    throw spansort::invalid_argument("--type: records have none; their fields may, as --key 0:4:u32");
  }
  const std::uint64_t record_bytes = parse_whole_number("--record", arguments.record_bytes);
  try {
    return spansort::parse_record_format(record_bytes, fmt::format("{}", fmt::join(arguments.keys, ",")));
  } catch (const spansort::invalid_argument& failure) {
    throw spansort::invalid_argument(fmt::format("--record, --key: {}", failure.what()));
  }
}

namespace {

std::vector<spansort::field_key> parse_fields(const record_arguments& arguments) {
  if (!arguments.record_bytes.empty() || arguments.keys.empty()) return {};
  const std::string text = fmt::format("{}", fmt::join(arguments.keys, ","));
  if (text.empty()) throw spansort::invalid_argument("--key: names no field");
  // A user who means a place in raw records has forgotten their size.
  if (text[0] >= '0' && text[0] <= '9' && text.find(':') != std::string::npos) {
    throw spansort::invalid_argument(
        "--record: the size of a record is needed with --key OFFSET:SIZE, as --record 100; fields of structured .npy "
        "arrays go by their names");
  }
  try {
    return spansort::parse_field_keys(text);
  } catch (const spansort::invalid_argument& failure) {
    throw spansort::invalid_argument(fmt::format("--key: {}", failure.what()));
  }
}

}  // namespace

spansort::array_options parse_array_flags(const record_arguments& arguments) {
  spansort::array_options array{.fields = parse_fields(arguments)};
  if (arguments.axis.empty()) return array;
  if (!arguments.record_bytes.empty()) {
    throw spansort::invalid_argument("--axis: raw records (--record) have none, only .npy arrays have");
  }
  if (arguments.axis == "none") {
    array.flattens = true;
    return array;
  }
  int axis = 0;
  const char* const end = arguments.axis.data() + arguments.axis.size();
  const auto parsed = std::from_chars(arguments.axis.data(), end, axis);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    throw spansort::invalid_argument(
        fmt::format("--axis: '{}' is no axis; 0, 1, -1 (the last one) ... or none expected", arguments.axis));
  }
  array.axis = axis;
  return array;
}

}  // namespace cli
