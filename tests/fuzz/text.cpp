// SPDX-License-Identifier: Apache-2.0
// The texts of flags, the first byte says which: refused by an exception of Spansort's, or read as a value whose text
// is read as the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/numbers.hpp"
#include "spansort/device_list.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/records.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace {

void read_devices(std::string_view text) {
  const spansort::device_list devices(text);
  if (spansort::device_list(to_string(devices)) != devices) std::abort();
}

void read_fields(std::string_view text) { static_cast<void>(spansort::parse_field_keys(text)); }

void read_record(std::string_view text) {
  const std::size_t record_bytes = text.empty() ? 0 : static_cast<unsigned char>(text.front());
  static_cast<void>(spansort::parse_record_format(record_bytes, text.substr(text.empty() ? 0 : 1)));
}

void read_name(std::string_view text, unsigned which) {
  switch (which) {
    case 0: static_cast<void>(spansort::parse_key_type(text)); break;
    case 1: static_cast<void>(spansort::parse_quantile_method(text)); break;
    default: static_cast<void>(spansort::parse_distribution(text)); break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 9) {
      case 0: read_devices(text); break;
      case 1: read_fields(text); break;
      case 2: read_record(text); break;
      case 3: static_cast<void>(cli::parse_whole_number("--flag", text)); break;
      case 4: static_cast<void>(cli::parse_count("--flag", text)); break;
      case 5: static_cast<void>(cli::parse_size("--flag", text, 1000)); break;
      default: read_name(text, data[0] % 9 - 6); break;
    }
  } catch (const spansort::error&) {
  }
  return 0;
}
