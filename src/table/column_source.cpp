// SPDX-License-Identifier: Apache-2.0
#include "table/column_source.hpp"

#include <concepts>
#include <cstring>

#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "table/dictionary_ranks.hpp"

namespace spansort::table {
namespace {

using reader = std::function<void(const row_block&, std::uint64_t*)>;

template <std::unsigned_integral K>
reader integers(const column_span& column) {
  const auto codec = keys::key_codec{column.type}.of<K>();
  const K* const values = static_cast<const K*>(column.values) + column.first_row;
  return [codec, values](const row_block& block, std::uint64_t* numbers) {
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) { numbers[i] = codec.encode_bits(values[row]); });
  };
}

/// Numbers from 1 on; every NaN has the number after that of +inf, or 0.
template <std::unsigned_integral K>
column_source floats(const column_span& column, const column_order& order) {
  const auto codec = keys::key_codec{column.type}.of<K>();
  const K* const values = static_cast<const K*>(column.values) + column.first_row;
  const std::uint64_t of_infinity = std::uint64_t{codec.encode_bits(codec.infinity)} + 1;
  const bool are_last = order.nans == nan_order::last && order.order == direction::descending;
  const std::uint64_t of_nan = are_last ? 0 : of_infinity + 1;
  const bool zeros_tie = order.zeros == zero_order::tie;
  column_source source;
  if (order.nans == nan_order::null) source.greatest_value = of_infinity;
  source.read = [=](const row_block& block, std::uint64_t* numbers) {
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) {
      const K value = values[row];
      const K magnitude = static_cast<K>(value & codec.magnitude_mask);
      const K folded = zeros_tie && magnitude == 0 ? K{0} : value;
      numbers[i] = magnitude > codec.infinity ? of_nan : std::uint64_t{codec.encode_bits(folded)} + 1;
    });
  };
  return source;
}

column_source numbers_of(const column_span& column, const column_order& order) {
  return keys::with_width(static_cast<unsigned>(size_bytes(column.type)), [&]<class K>() -> column_source {
    if constexpr (sizeof(K) > 1) {
      if (keys::is_float(column.type)) return floats<K>(column, order);
    }
    return {.read = integers<K>(column)};
  });
}

column_source booleans_of(const column_span& column) {
  const auto* const bits = static_cast<const std::uint8_t*>(column.values);
  return {.read = [bits, first = column.first_row](const row_block& block, std::uint64_t* numbers) {
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) {
      const std::uint64_t place = first + row;
      numbers[i] = bits[place / 8] >> place % 8 & 1U;
    });
  }};
}

/// The upper halves with the sign, and the lower ones.
std::vector<column_source> integers128_of(const column_span& column) {
  const auto* const halves = static_cast<const std::uint64_t*>(column.values) + 2 * column.first_row;
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  return {{.read =
               [halves](const row_block& block, std::uint64_t* numbers) {
                 for_rows(block, [&](std::uint64_t i, std::uint64_t row) { numbers[i] = halves[2 * row + 1] ^ sign; });
               }},
          {.read = [halves](const row_block& block, std::uint64_t* numbers) {
            for_rows(block, [&](std::uint64_t i, std::uint64_t row) { numbers[i] = halves[2 * row]; });
          }}};
}

column_sources strings_of(const column_span& column, std::uint64_t num_rows, unsigned most_bits) {
  auto strings = std::make_shared<const string_column>(column, num_rows, most_bits);
  column_source first_chunk{.read = [strings](const row_block& block, std::uint64_t* numbers) {
    const std::uint64_t offset = strings->common_bytes();
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) { numbers[i] = strings->chunk(row, offset); });
  }};
  return {{std::move(first_chunk)}, strings->any_goes_on() ? std::move(strings) : nullptr};
}

column_source dictionary_of(const sort_column& column, std::uint64_t num_rows) {
  auto ranks = std::make_shared<const dictionary_ranks>(column, num_rows);
  return {.read = [ranks](const row_block& block, std::uint64_t* numbers) { ranks->read(block, numbers); },
          .greatest_value = ranks->greatest_rank()};
}

}  // namespace

std::function<bool(std::uint64_t)> null_test(const sort_column& column) {
  if (column.values.kind != column_kind::number) {
    return [values = column.values](std::uint64_t row) { return !is_valid(values, row); };
  }
  return [values = column.values, source = numbers_of(column.values, column.order)](std::uint64_t row) {
    std::uint64_t number = 0;
    source.read({.first_row = row, .num_rows = 1}, &number);
    return !is_valid(values, row) || number > source.greatest_value;
  };
}

column_sources sources_of(const sort_column& column, std::uint64_t num_rows, unsigned most_string_bits) {
  check_column(column.values, num_rows);
  switch (column.values.kind) {
    case column_kind::number: return {{numbers_of(column.values, column.order)}, nullptr};
    case column_kind::boolean: return {{booleans_of(column.values)}, nullptr};
    case column_kind::integer128: return {integers128_of(column.values), nullptr};
    case column_kind::dictionary: return {{dictionary_of(column, num_rows)}, nullptr};
    case column_kind::fixed_bytes:
    case column_kind::bytes32:
    case column_kind::bytes64:
    case column_kind::byte_views: break;
  }
  return strings_of(column.values, num_rows, most_string_bits);
}

}  // namespace spansort::table
