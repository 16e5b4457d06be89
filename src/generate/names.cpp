// SPDX-License-Identifier: Apache-2.0
// Names of distributions: text to distribution and back. Numbers are read and written without a locale.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "generate/distributions.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"

namespace spansort {
namespace {

struct distribution_row {
  distribution_kind kind;
  std::string_view name;
  std::string_view parameter;  ///< what stands after the colon; empty: nothing does
  double example;              ///< parameter of all_distributions()
};

constexpr std::array<distribution_row, 13> rows{{
    {distribution_kind::uniform, "uniform", "", 0},
    {distribution_kind::normal, "normal", "", 0},
    {distribution_kind::zero, "zero", "", 0},
    {distribution_kind::sorted, "sorted", "", 0},
    {distribution_kind::reverse, "reverse", "", 0},
    {distribution_kind::nearly_sorted, "nearly-sorted", "", 0},
    {distribution_kind::staggered, "staggered", "", 0},
    {distribution_kind::bucket_sorted, "bucket-sorted", "", 0},
    {distribution_kind::zipf, "zipf", "Z", 1},
    {distribution_kind::entropy, "entropy", "Q", 4},
    {distribution_kind::last_digit_only, "last-digit-only", "", 0},
    {distribution_kind::one_spanning, "one-spanning", "", 0},
    {distribution_kind::special_floats, "special-floats", "", 0},
}};

std::string known_distributions() {
  std::string known;
  for (const distribution_row& row : rows) {
    known +=
        fmt::format("{}{}{}{}", known.empty() ? "" : " ", row.name, row.parameter.empty() ? "" : ":", row.parameter);
  }
  return known + " (Z: exponent, 0 or more; Q: words that are ANDed, 1 to 64)";
}

double parse_parameter(std::string_view text, std::string_view whole) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) {
    throw invalid_argument(
        fmt::format("distribution '{}': expected a number after the colon, found '{}'", whole, text));
  }
  return value;
}

}  // namespace

namespace generation {

void require_valid(const distribution& d) {
  const double p = d.parameter;
  if (static_cast<std::size_t>(d.kind) >= rows.size()) {
    throw invalid_argument(fmt::format("distribution {} is none of those there are", static_cast<unsigned>(d.kind)));
  }
  if (d.kind == distribution_kind::zipf && !(p >= 0 && std::isfinite(p))) {
    throw invalid_argument(fmt::format("distribution zipf: expected an exponent of 0 or more, found {}", p));
  }
  if (d.kind == distribution_kind::entropy && !(p >= 1 && p <= 64 && p == std::floor(p))) {
    throw invalid_argument(fmt::format("distribution entropy: expected a whole number of words, 1 to 64, found {}", p));
  }
}

}  // namespace generation

distribution parse_distribution(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool has_parameter = colon != std::string_view::npos;
  for (const distribution_row& row : rows) {
    if (row.name != name || row.parameter.empty() == has_parameter) continue;
    distribution d{row.kind, 0};
    if (has_parameter) d.parameter = parse_parameter(text.substr(colon + 1), text);
    generation::require_valid(d);
    return d;
  }
  throw invalid_argument(fmt::format("unknown distribution '{}'; known: {}", text, known_distributions()));
}

std::string to_string(const distribution& d) {
  const distribution_row& row = rows[static_cast<std::size_t>(d.kind)];
  return row.parameter.empty() ? std::string(row.name) : fmt::format("{}:{}", row.name, d.parameter);
}

std::vector<distribution> all_distributions() {
  std::vector<distribution> all;
  for (const distribution_row& row : rows) all.push_back({row.kind, row.example});
  return all;
}

}  // namespace spansort
