// SPDX-License-Identifier: Apache-2.0
// Columns from Arrow's C structs and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "spansort/arrow.hpp"
#include "table/column_data.hpp"

namespace spansort::table {

/// One of Arrow's C structs that is ours: released when the last who shares it is gone.
template <class T>
std::shared_ptr<T> take_over(T* from) {
  T* const copy = new T(*from);
  from->release = nullptr;
  return std::shared_ptr<T>(copy, [](T* of) {
    if (of->release != nullptr) of->release(of);
    delete of;
  });
}

/// Returns the columns of a record batch. Throws invalid_argument where the batch is not of the schema.
[[nodiscard]] std::vector<column_data> columns_of(const ArrowSchema& schema, const std::shared_ptr<ArrowArray>& batch);

[[nodiscard]] std::vector<column_data> columns_without_rows(const ArrowSchema& schema);

/// Makes a record batch that shares the memory of the columns.
void export_batch(std::span<const column_data> columns, std::uint64_t num_rows, ArrowArray* batch);
/// Makes a schema that shares the memory of `schema`.
void export_schema(const std::shared_ptr<const ArrowSchema>& schema, ArrowSchema* exported);

}  // namespace spansort::table
