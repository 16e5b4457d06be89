// SPDX-License-Identifier: Apache-2.0
#include "cli/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "spansort/errors.hpp"

namespace cli {
namespace {

__extension__ using uint128 = unsigned __int128;

constexpr std::uint64_t largest_number = std::numeric_limits<std::uint64_t>::max();

constexpr const char* whole_words = "a whole number from 0 to 18446744073709551615";
constexpr const char* count_words =
    "a whole number, as 1000000, 1e6, 10M or 1.5G (K M G T are powers of 1000, Ki Mi Gi Ti of 1024),";
constexpr const char* size_words =
    "bytes above 0, as 500MB, 1.5G or 4GiB (K M G T and KiB ... are powers of 1024, KB MB GB TB of 1000), or % of "
    "memory,";

/// The kind of number that is being read, for messages.
struct number_text {
  std::string_view flag;
  std::string_view text;
  const char* expected;
};

[[noreturn]] void refuse(const number_text& what, const char* why) {
  throw spansort::invalid_argument(fmt::format("{}: '{}' {}; {} expected", what.flag, what.text, why, what.expected));
}

/// digits * 10^exponent, and what stands behind it.
struct decimal {
  uint128 digits = 0;
  int exponent = 0;
  std::string_view rest;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  text.remove_prefix(digits.size());
  return digits;
}

/// An exponent, where one follows: 1e6, and not the e of a unit.
int take_exponent(const number_text& what, std::string_view& text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return 0;
  const std::size_t sign_bytes = text[1] == '+' || text[1] == '-' ? 1 : 0;
  std::string_view rest = text.substr(1 + sign_bytes);
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) return 0;
  int exponent = 0;
  if (digits.size() > 4 || std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc{}) {
    refuse(what, "has too large an exponent");
  }
  const bool is_negative = text[1] == '-';
  text = rest;
  return is_negative ? -exponent : exponent;
}

decimal parse_decimal(const number_text& what) {
  constexpr std::size_t most_digits = 20;  // with any unit no more than 128 bits
  std::string_view rest = what.text;
  std::string digits(take_digits(rest));
  if (digits.empty()) refuse(what, "is not a number");
  int num_decimals = 0;
  if (rest.size() > 1 && rest[0] == '.' && is_digit(rest[1])) {
    rest.remove_prefix(1);
    std::string_view decimals = take_digits(rest);
    decimals = decimals.substr(0, decimals.find_last_not_of('0') + 1);
    digits += decimals;
    num_decimals = static_cast<int>(std::min<std::size_t>(decimals.size(), most_digits + 1));
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() > most_digits) refuse(what, "has too many digits");
  decimal number;
  for (const char digit : digits) number.digits = number.digits * 10 + static_cast<unsigned>(digit - '0');
  number.exponent = take_exponent(what, rest) - num_decimals;
  number.rest = rest;
  return number;
}

/// A number times its unit, in whole ones: less where `is_exact` is false.
struct whole_value {
  std::uint64_t value = 0;
  bool is_exact = true;
};

whole_value in_units(const number_text& what, const decimal& number, std::uint64_t unit) {
  uint128 value = number.digits * unit;
  bool is_exact = true;
  for (int i = 0; i > number.exponent && value != 0; --i) {
    is_exact = is_exact && value % 10 == 0;
    value /= 10;
  }
  for (int i = 0; i < number.exponent && value != 0 && value <= largest_number; ++i) value *= 10;
  if (value > largest_number) refuse(what, "is too large");
  return {static_cast<std::uint64_t>(value), is_exact};
}

std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  std::uint64_t result = 1;
  for (std::size_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

/// Returns how much a unit such as K or MiB stands for; 0 for none that is known. Counts have no unit of bytes.
std::uint64_t unit_of(std::string_view text, bool is_size) {
  if (text.empty()) return 1;
  constexpr std::string_view prefixes = "KMGTP";
  const char upper = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
  if (is_size && text == "B") return 1;
  const std::size_t at = prefixes.find(upper);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(1);
  if (rest == "i" || (is_size && rest == "iB")) return power(1024, at + 1);
  if (is_size && rest == "B") return power(1000, at + 1);
  return rest.empty() ? power(is_size ? 1024 : 1000, at + 1) : 0;
}

std::uint64_t share_of_memory(const number_text& what, const decimal& percent, std::uint64_t memory_bytes) {
  const whole_value thousandths = in_units(what, percent, 1000);
  if (thousandths.value == 0 || thousandths.value > 100'000) {
    throw spansort::invalid_argument(
        fmt::format("{}: '{}' is not between 1% and 100% of memory", what.flag, what.text));
  }
  return static_cast<std::uint64_t>(static_cast<uint128>(memory_bytes) * thousandths.value / 100'000);
}

}  // namespace

std::uint64_t parse_whole_number(std::string_view flag, std::string_view text) {
  const number_text what{flag, text, whole_words};
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc::result_out_of_range) refuse(what, "is too large");
  if (parsed.ec != std::errc{}) refuse(what, "is not a number");
  if (parsed.ptr != end) refuse(what, "has a rest after the number");
  return value;
}

std::uint64_t parse_count(std::string_view flag, std::string_view text) {
  const number_text what{flag, text, count_words};
  const decimal number = parse_decimal(what);
  const std::uint64_t unit = unit_of(number.rest, false);
  if (unit == 0) refuse(what, "has a rest after the number");
  const whole_value count = in_units(what, number, unit);
  if (!count.is_exact) refuse(what, "is not whole");
  return count.value;
}

std::uint64_t parse_size(std::string_view flag, std::string_view text, std::uint64_t memory_bytes) {
  const number_text what{flag, text, size_words};
  const decimal number = parse_decimal(what);
  if (number.rest == "%") return share_of_memory(what, number, memory_bytes);
  const std::uint64_t unit = unit_of(number.rest, true);
  const std::uint64_t size_bytes = unit == 0 ? 0 : in_units(what, number, unit).value;
  if (size_bytes == 0) refuse(what, "is not a size");
  return size_bytes;
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string seconds_text(double seconds) {
  if (seconds < 9.9995) return fmt::format("{:.3f} s", seconds);
  if (seconds < 119.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 2 * 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string si_text(double value) {
  constexpr std::array<const char*, 6> prefixes{"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = value >= 99.95 || prefix == 0 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, prefixes[prefix]);
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
