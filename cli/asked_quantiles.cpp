// SPDX-License-Identifier: Apache-2.0
#include "cli/asked_quantiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "spansort/errors.hpp"

namespace cli {
namespace {

double parse_quantile(std::string_view text) {
  std::string_view digits = text;
  const bool is_percentage = digits.ends_with('%');
  if (is_percentage) digits.remove_suffix(1);
  double q = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, q);
  const double most = is_percentage ? 100 : 1;
  if (parsed.ec != std::errc{} || parsed.ptr != end || !(q >= 0 && q <= most)) {
    throw spansort::invalid_argument(fmt::format(
        "-q: '{}' is no quantile; numbers from 0 to 1 (0.95) or percentages (95%) are expected, with commas between",
        text));
  }
  return is_percentage ? q / 100 : q;
}

}  // namespace

std::vector<double> parse_quantiles(const std::string& text) {
  if (text.empty()) return default_quantiles();
  std::vector<double> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    all.push_back(parse_quantile(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return all;
}

std::string percent_text(double q) { return fmt::format("{:.9g}", q * 100); }

}  // namespace cli
