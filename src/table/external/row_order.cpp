// SPDX-License-Identifier: Apache-2.0
#include "table/external/row_order.hpp"

#include <algorithm>

namespace spansort::table {

row_order::row_order(const ArrowSchema& schema, std::span<const arrow_key> by) {
  for (const arrow_key& named : by) {
    const std::uint64_t column = column_number(schema, named.column);
    const ArrowSchema& of_column = *schema.children[column];
    require_order(layout_of(of_column), of_column);
    if (std::any_of(keys_.begin(), keys_.end(), [&](const key& k) { return k.column == column; })) continue;
    keys_.push_back({column, named.order});
  }
}

arrow_rows row_order::keys_of(const arrow_rows& rows) const {
  arrow_rows keys{.schema = rows.schema, .columns = {}, .num_rows = rows.num_rows};
  for (const key& k : keys_) keys.columns.push_back(rows.columns[k.column]);
  return keys;
}

void row_order::apply(const table_dictionaries& dictionaries, arrow_rows& keys) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) set_dictionary(keys.columns[i], dictionaries.of(keys_[i].column));
}

std::vector<std::uint64_t> row_order::argsort(const arrow_rows& keys, const sort_options& options) const {
  std::vector<sort_column> columns;
  for (std::size_t i = 0; i < keys_.size(); ++i) columns.push_back({ordered_span(keys.columns[i]), keys_[i].order});
  return argsort_table(columns, keys.num_rows, options);
}

}  // namespace spansort::table
