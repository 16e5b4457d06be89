// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/table.hpp"

namespace spansort {
namespace {

constexpr std::array<std::string_view, 5> names = {"numpy", "pandas", "duckdb", "polars", "datafusion"};

}  // namespace

column_order order_of(table_preset preset, direction d) noexcept {
  switch (preset) {
    case table_preset::numpy: break;
    case table_preset::pandas: return {.order = d, .nans = nan_order::null};
    case table_preset::duckdb: return {.order = d, .nans = nan_order::largest};
    case table_preset::polars: return {.order = d, .nulls = null_order::first, .nans = nan_order::largest};
    case table_preset::datafusion:
      return {.order = d,
              .nulls = keys::is_descending(d) ? null_order::first : null_order::last,
              .nans = nan_order::largest,
              .zeros = zero_order::negative_first};
  }
  return {.order = d};
}

std::string_view name(table_preset preset) noexcept { return names[static_cast<std::size_t>(preset)]; }

table_preset parse_table_preset(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<table_preset>(i);
  }
  throw invalid_argument(fmt::format("table preset: expected one of {}, found '{}'", fmt::join(names, ", "), text));
}

}  // namespace spansort
