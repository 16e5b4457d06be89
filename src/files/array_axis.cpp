// SPDX-License-Identifier: Apache-2.0
#include "files/array_axis.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t tile = 64;  // elements a side: lines of both matrices stay in the first cache

std::size_t index_of(const npy_array& array, int axis, const std::string& file) {
  const int num_dimensions = static_cast<int>(array.shape.size());
  const int index = axis < 0 ? axis + num_dimensions : axis;
  if (index >= 0 && index < num_dimensions) return static_cast<std::size_t>(index);
  throw invalid_argument(fmt::format("{}: axis {} is none of an array of shape {}, which has {} dimension{}", file,
                                     axis, shape_text(array.shape), num_dimensions, num_dimensions == 1 ? "" : "s"));
}

template <std::size_t width>
void transpose_tile(const std::byte* from, std::byte* to, std::uint64_t num_rows, std::uint64_t num_columns,
                    std::uint64_t first_row, std::uint64_t first_column) {
  const std::uint64_t row_end = std::min(first_row + tile, num_rows);
  const std::uint64_t column_end = std::min(first_column + tile, num_columns);
  for (std::uint64_t column = first_column; column < column_end; ++column) {
    for (std::uint64_t row = first_row; row < row_end; ++row) {
      std::memcpy(to + (column * num_rows + row) * width, from + (row * num_columns + column) * width, width);
    }
  }
}

template <std::size_t width>
void transpose_all(const std::byte* from, std::byte* to, std::uint64_t num_units, std::uint64_t num_rows,
                   std::uint64_t num_columns) {
  const std::uint64_t tile_rows = base::ceil_div(num_rows, tile);
  const std::uint64_t tile_columns = base::ceil_div(num_columns, tile);
  const std::uint64_t num_tiles = tile_rows * tile_columns;
  const std::uint64_t unit_bytes = num_rows * num_columns * width;
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      std::uint64_t{0}, num_units * num_tiles,
      [&](std::uint64_t i) {
        const std::uint64_t at = i / num_tiles * unit_bytes;
        const std::uint64_t in_unit = i % num_tiles;
        transpose_tile<width>(from + at, to + at, num_rows, num_columns, in_unit / tile_columns * tile,
                              in_unit % tile_columns * tile);
      },
      own);
}

}  // namespace

array_axis axis_of(const npy_array& array, int axis, const std::string& file) {
  const std::size_t index = index_of(array, axis, file);
  array_axis result;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (i == index) {
      result.length = array.shape[i];
    } else {
      ((i < index) != array.is_fortran ? result.outer : result.inner) *= array.shape[i];
    }
  }
  return result;
}

bool is_one_row(const npy_array& array, int axis, const std::string& file) {
  const array_axis along = axis_of(array, axis, file);
  return along.outer == 1 && along.inner == 1;
}

void transpose(const std::byte* from, std::byte* to, std::uint64_t element_bytes, std::uint64_t num_units,
               std::uint64_t num_rows, std::uint64_t num_columns) {
  switch (element_bytes) {
    case 1: return transpose_all<1>(from, to, num_units, num_rows, num_columns);
    case 2: return transpose_all<2>(from, to, num_units, num_rows, num_columns);
    case 4: return transpose_all<4>(from, to, num_units, num_rows, num_columns);
    default: break;
  }
  SPANSORT_ASSERT(element_bytes == 8);
  transpose_all<8>(from, to, num_units, num_rows, num_columns);
}

}  // namespace spansort::files
