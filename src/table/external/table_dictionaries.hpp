// SPDX-License-Identifier: Apache-2.0
// The dictionaries of a stream's batches as one dictionary a column, which grows: batches of other systems each bring
// one of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "table/arrow_rows.hpp"

namespace spansort::table {

class table_dictionaries {
 public:
  explicit table_dictionaries(const ArrowSchema& schema) : columns_(static_cast<std::size_t>(schema.n_children)) {}

  /// Lets the rows' columns number the values of the common dictionaries, which get what is new to them. What was
  /// adopted before stays right. Throws invalid_argument where indices lead out of a dictionary or cannot count all
  /// values, and where ordered dictionaries do not go on as they began.
  void adopt(arrow_rows& rows);
  /// Points the columns of rows that were adopted before at the dictionaries of now.
  void apply(arrow_rows& rows) const;
  /// Null for columns that have none.
  [[nodiscard]] const std::shared_ptr<const column_data>& of(std::uint64_t column) const {
    return columns_[column].values;
  }

 private:
  struct common_values {
    std::shared_ptr<const column_data> values;
    std::unordered_map<std::string, std::uint64_t> numbers;  ///< of values, the first one where there are equal ones
    std::vector<const std::string*> texts;                   ///< keys of `numbers`, by number
  };
  /// Returns the common number of each value of a dictionary.
  static std::vector<std::uint64_t> include(common_values& common, const column_data& dictionary);

  std::vector<common_values> columns_;
};

}  // namespace spansort::table
