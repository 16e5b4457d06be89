// SPDX-License-Identifier: Apache-2.0
// Formats of records as text, and what is wrong with them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "spansort/errors.hpp"
#include "spansort/records.hpp"

namespace spansort {
namespace {

constexpr const char* grammar =
    "OFFSET:SIZE[:TYPE][:r] expected, as 0:10 or 4:8:f64:r, several with commas between them";

std::string to_string(const record_key& key) {
  std::string text = fmt::format("{}:{}", key.offset, key.size_bytes);
  if (key.type) text += fmt::format(":{}", name(*key.type));
  if (key.descending) text += ":r";
  return text;
}

/// Takes what is before the next `separator`, and that, off `text`.
std::string_view take_until(char separator, std::string_view& text) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::uint32_t parse_number(std::string_view key, std::string_view what, std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  throw invalid_argument(
      fmt::format("record key '{}': the {} '{}' is not a number of bytes; {}", key, what, text, grammar));
}

record_key parse_record_key(const std::string_view text) {
  // A colon or comma at an end would otherwise be read as if it were not there.
  if (text.empty() || text.ends_with(':')) {
    throw invalid_argument(fmt::format("record key '{}' is incomplete; {}", text, grammar));
  }
  std::string_view rest = text;
  record_key key;
  key.offset = parse_number(text, "offset", take_until(':', rest));
  key.size_bytes = parse_number(text, "size", take_until(':', rest));
  if (!rest.empty() && rest != "r") {
    const std::string_view type = take_until(':', rest);
    try {
      key.type = parse_key_type(type);
    } catch (const invalid_argument& failure) {
      throw invalid_argument(fmt::format("record key '{}': {} (or r, for descending)", text, failure.what()));
    }
  }
  if (rest == "r") {
    key.descending = true;
  } else if (!rest.empty()) {
    throw invalid_argument(fmt::format("record key '{}': '{}' after the type is unknown; {}", text, rest, grammar));
  }
  return key;
}

void check_record_key(const record_key& key, std::uint32_t record_bytes) {
  const std::string text = to_string(key);
  if (key.type && key.size_bytes != size_bytes(*key.type)) {
    throw invalid_argument(fmt::format("record key {}: {} has {} bytes, not {}", text, name(*key.type),
                                       size_bytes(*key.type), key.size_bytes));
  }
  if (key.size_bytes == 0 || key.size_bytes > most_record_key_bytes) {
    throw invalid_argument(fmt::format("record key {}: {} bytes cannot be ordered; 1 to {} expected", text,
                                       key.size_bytes, most_record_key_bytes));
  }
  if (std::uint64_t{key.offset} + key.size_bytes > record_bytes) {
    throw invalid_argument(fmt::format("record key {} ends at byte {}, beyond the record of {} bytes", text,
                                       std::uint64_t{key.offset} + key.size_bytes, record_bytes));
  }
}

void check_record_bytes(std::uint64_t record_bytes) {
  if (record_bytes != 0 && record_bytes <= most_record_bytes) return;
  throw invalid_argument(fmt::format("records of {} bytes: 1 to {} expected", record_bytes, most_record_bytes));
}

}  // namespace

void check_record_format(const record_format& format) {
  check_record_bytes(format.record_bytes);
  if (format.keys.empty()) throw invalid_argument("records need at least one key to be ordered by");
  if (format.keys.size() > most_record_keys) {
    throw invalid_argument(fmt::format("{} record keys: at most {} expected", format.keys.size(), most_record_keys));
  }
  for (const record_key& key : format.keys) check_record_key(key, format.record_bytes);
}

std::vector<record_key> parse_record_keys(std::string_view text) {
  std::vector<record_key> keys;
  if (text.ends_with(',')) throw invalid_argument(fmt::format("record keys '{}' end with a comma; {}", text, grammar));
  do {
    keys.push_back(parse_record_key(take_until(',', text)));
  } while (!text.empty());
  return keys;
}

record_format parse_record_format(std::uint64_t record_bytes, std::string_view keys) {
  check_record_bytes(record_bytes);
  record_format format{static_cast<std::uint32_t>(record_bytes), parse_record_keys(keys)};
  check_record_format(format);
  return format;
}

std::vector<field_key> parse_field_keys(std::string_view text) {
  std::vector<field_key> keys;
  if (text.ends_with(',')) throw invalid_argument(fmt::format("fields '{}' end with a comma", text));
  do {
    const std::string_view key = take_until(',', text);
    std::string_view rest = key;
    const std::string_view name = take_until(':', rest);
    if (name.empty() || (rest != "r" && name.size() != key.size())) {
      throw invalid_argument(
          fmt::format("field '{}': NAME[:r] expected, as sym or price:r, several with commas between them", key));
    }
    keys.push_back({std::string(name), !rest.empty()});
  } while (!text.empty());
  return keys;
}

std::string to_string(const std::vector<field_key>& keys) {
  std::vector<std::string> texts;
  for (const field_key& key : keys) texts.push_back(key.name + (key.descending ? ":r" : ""));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string to_string(const std::vector<record_key>& keys) {
  std::vector<std::string> texts;
  for (const record_key& key : keys) texts.push_back(to_string(key));
  return fmt::format("{}", fmt::join(texts, ","));
}

}  // namespace spansort
