// SPDX-License-Identifier: Apache-2.0
#include "spansort/types.hpp"

#include <array>

#include "base/names.hpp"

namespace spansort {
namespace {

struct type_row {
  std::string_view name;
  std::size_t size_bytes;
};
// In the order of key_type.
constexpr std::array<type_row, 12> rows{{{"u8", 1},
                                         {"i8", 1},
                                         {"u16", 2},
                                         {"i16", 2},
                                         {"u32", 4},
                                         {"i32", 4},
                                         {"u64", 8},
                                         {"i64", 8},
                                         {"f16", 2},
                                         {"bf16", 2},
                                         {"f32", 4},
                                         {"f64", 8}}};

}  // namespace

std::size_t size_bytes(key_type type) noexcept { return rows[static_cast<std::size_t>(type)].size_bytes; }

std::string_view name(key_type type) noexcept { return rows[static_cast<std::size_t>(type)].name; }

key_type parse_key_type(std::string_view text) {
  return static_cast<key_type>(base::find_name(rows, text, "key type", [](const auto& row) { return row.name; }));
}

std::string_view name(direction d) noexcept { return d == direction::ascending ? "ascending" : "descending"; }

}  // namespace spansort
