// SPDX-License-Identifier: Apache-2.0
#include "cli/numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "spansort/errors.hpp"

namespace cli {
namespace {

struct leading_number {
  std::uint64_t value = 0;
  std::string_view rest;
};

leading_number parse_leading_number(std::string_view flag, std::string_view text, const char* expected) {
  leading_number result;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, result.value);
  if (parsed.ec == std::errc::result_out_of_range) {
    throw spansort::invalid_argument(fmt::format("{}: '{}' is too large; {} expected", flag, text, expected));
  }
  if (parsed.ec != std::errc{}) {
    throw spansort::invalid_argument(fmt::format("{}: '{}' is not a number; {} expected", flag, text, expected));
  }
  result.rest = std::string_view(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  return result;
}

constexpr const char* size_words = "bytes above 0, with K M G T for powers of 1024 or % of memory,";

std::uint64_t share_of_memory(std::string_view flag, std::uint64_t percent, std::uint64_t memory_bytes) {
  if (percent == 0 || percent > 100) {
    throw spansort::invalid_argument(fmt::format("{}: '{}%' is not between 1% and 100% of memory", flag, percent));
  }
  return memory_bytes / 100 * percent;
}

}  // namespace

std::uint64_t parse_count(std::string_view flag, std::string_view text) {
  constexpr const char* words = "a whole number from 0 to 18446744073709551615";
  const leading_number number = parse_leading_number(flag, text, words);
  if (!number.rest.empty()) {
    throw spansort::invalid_argument(
        fmt::format("{}: '{}' has a rest after the number; {} expected", flag, text, words));
  }
  return number.value;
}

std::uint64_t parse_size(std::string_view flag, std::string_view text, std::uint64_t memory_bytes) {
  const leading_number number = parse_leading_number(flag, text, size_words);
  if (number.rest == "%") return share_of_memory(flag, number.value, memory_bytes);
  constexpr std::string_view suffixes = "KMGT";
  const std::size_t power = number.rest.empty() ? 0 : suffixes.find(number.rest[0]) + 1;
  if (number.rest.size() > 1 || (power == 0 && !number.rest.empty()) || number.value == 0) {
    throw spansort::invalid_argument(fmt::format("{}: '{}' is not a size; {} expected", flag, text, size_words));
  }
  const std::size_t shift = 10 * power;
  if (number.value > std::numeric_limits<std::uint64_t>::max() >> shift) {
    throw spansort::invalid_argument(fmt::format("{}: '{}' is too large; {} expected", flag, text, size_words));
  }
  return number.value << shift;
}

std::string bytes_text(std::uint64_t num_bytes) {
  constexpr std::array<const char*, 6> units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(num_bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", num_bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace cli
