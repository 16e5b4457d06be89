// SPDX-License-Identifier: Apache-2.0
// A table in a sort has a schema, an order and dictionaries, and there is room for so many of its rows at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "table/external/row_order.hpp"
#include "table/external/table_dictionaries.hpp"

namespace spansort::table {

/// Two pools share the memory, so that rows come into one while those of the other are sorted, written or handed out.
struct stream_sort_parts {
  std::shared_ptr<const ArrowSchema> schema;
  row_order order;
  table_dictionaries dictionaries;
  sort_options options;            ///< of sorts in memory
  std::uint64_t memory_bytes = 0;  ///< for rows and their sort
  std::uint64_t most_bytes = 0;    ///< of rows in one piece: strings that are joined may have offsets of 32 bits
  std::uint64_t batch_bytes = 0;   ///< handed out at a time, about

  /// Returns whether so many rows can be in each of two pools, and one of them be sorted.
  [[nodiscard]] bool has_room_for(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept;
  /// Returns whether so many rows can be sorted where there is one pool alone.
  [[nodiscard]] bool has_room_for_all(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept;
  /// Returns how many bytes there are room for in each of two pools, of rows such as these, of which there is one at
  /// least.
  [[nodiscard]] std::uint64_t run_bytes(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept;
};

}  // namespace spansort::table
