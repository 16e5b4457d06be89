// SPDX-License-Identifier: Apache-2.0
// The chunks of a column in one piece of memory.
#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "spansort/errors.hpp"
#include "table/column_data.hpp"
#include "table/row_keys.hpp"

namespace spansort::table {
namespace {

/// Calls body(chunk, the row at which it begins), for all chunks at once.
template <class Body>
void for_chunks(std::span<const column_data> chunks, const Body& body) {
  std::vector<std::uint64_t> first_rows(chunks.size(), 0);
  for (std::size_t i = 1; i < chunks.size(); ++i) first_rows[i] = first_rows[i - 1] + chunks[i - 1].num_rows;
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      std::size_t{0}, chunks.size(), [&](std::size_t i) { body(chunks[i], first_rows[i]); }, own);
}

/// Bits of all chunks, one after the other: neighbours share bytes, so that one thread writes them. Without a source
/// they are set.
template <class BitsOf>
base::byte_buffer join_bits(std::span<const column_data> chunks, std::uint64_t num_rows, const BitsOf& bits_of) {
  base::byte_buffer joined(bitmap_bytes(num_rows));
  std::fill_n(joined.data(), joined.size(), std::byte{0});
  std::uint64_t place = 0;
  for (const column_data& chunk : chunks) {
    const void* const bits = bits_of(chunk);
    for (std::uint64_t row = 0; row < chunk.num_rows; ++row, ++place) {
      const bool bit = bits == nullptr || bit_at(bits, chunk.span.first_row + row);
      joined.data()[place / 8] |= static_cast<std::byte>((bit ? 1U : 0U) << place % 8);
    }
  }
  return joined;
}

template <class Offset>
std::uint64_t offset_at(const column_data& chunk, std::uint64_t row) {
  return static_cast<std::uint64_t>(static_cast<const Offset*>(chunk.span.offsets)[chunk.span.first_row + row]);
}

/// Returns where the bytes of each chunk begin, and their sum at the end.
template <class Offset>
std::vector<std::uint64_t> byte_begins(std::span<const column_data> chunks) {
  std::vector<std::uint64_t> begins(chunks.size() + 1, 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t bytes = offset_at<Offset>(chunks[i], chunks[i].num_rows) - offset_at<Offset>(chunks[i], 0);
    begins[i + 1] = begins[i] + bytes;
  }
  return begins;
}

template <class Offset>
void join_strings(std::span<const column_data> chunks, std::uint64_t num_rows, std::string_view name,
                  column_buffers& joined) {
  const std::vector<std::uint64_t> begins = byte_begins<Offset>(chunks);
  if (begins.back() > static_cast<std::uint64_t>(std::numeric_limits<Offset>::max())) {
    throw invalid_argument(
        fmt::format("column '{}': strings of {} bytes need offsets of 64 bits: cast it to Arrow's "
                    "large_string or large_binary",
                    name, begins.back()));
  }
  joined.values.resize(begins.back());
  joined.offsets.resize((num_rows + 1) * sizeof(Offset));
  auto* const offsets = reinterpret_cast<Offset*>(joined.offsets.data());
  offsets[0] = 0;
  for_chunks(chunks, [&](const column_data& chunk, std::uint64_t first_row) {
    const std::uint64_t begin = begins[static_cast<std::size_t>(&chunk - chunks.data())];
    const std::uint64_t from = offset_at<Offset>(chunk, 0);
    for (std::uint64_t row = 1; row <= chunk.num_rows; ++row) {
      offsets[first_row + row] = static_cast<Offset>(begin + offset_at<Offset>(chunk, row) - from);
    }
    const std::uint64_t num_bytes = offset_at<Offset>(chunk, chunk.num_rows) - from;
    if (num_bytes == 0) return;
    std::memcpy(joined.values.data() + begin, static_cast<const std::byte*>(chunk.span.values) + from, num_bytes);
  });
}

void join_values(std::span<const column_data> chunks, std::uint64_t num_rows, column_buffers& joined) {
  const std::uint64_t width = chunks.front().layout.value_bytes;
  joined.values.resize(num_rows * width);
  for_chunks(chunks, [&](const column_data& chunk, std::uint64_t first_row) {
    if (chunk.num_rows == 0) return;
    std::memcpy(joined.values.data() + first_row * width,
                static_cast<const std::byte*>(chunk.span.values) + chunk.span.first_row * width,
                chunk.num_rows * width);
  });
}

/// Views name their buffers by number, and the buffers of all chunks are numbered anew.
void join_views(std::span<const column_data> chunks, std::uint64_t num_rows, column_buffers& joined) {
  join_values(chunks, num_rows, joined);
  auto* view = joined.values.data();
  for (const column_data& chunk : chunks) {
    const auto first_buffer = static_cast<std::int32_t>(joined.view_buffers.size());
    for (std::uint64_t row = 0; row < chunk.num_rows; ++row, view += chunk.layout.value_bytes) {
      constexpr std::int32_t most_inline_bytes = 12;
      constexpr std::uint64_t buffer_at = 8;
      std::int32_t size = 0;
      std::int32_t buffer = 0;
      std::memcpy(&size, view, sizeof(size));
      if (size <= most_inline_bytes) continue;
      std::memcpy(&buffer, view + buffer_at, sizeof(buffer));
      buffer += first_buffer;
      std::memcpy(view + buffer_at, &buffer, sizeof(buffer));
    }
    const std::span buffers(chunk.span.view_buffers, chunk.span.num_view_buffers);
    const std::span sizes(chunk.span.view_buffer_bytes, chunk.span.num_view_buffers);
    joined.view_buffers.insert(joined.view_buffers.end(), buffers.begin(), buffers.end());
    joined.view_buffer_bytes.insert(joined.view_buffer_bytes.end(), sizes.begin(), sizes.end());
    joined.view_memory.insert(joined.view_memory.end(), chunk.view_memory.begin(), chunk.view_memory.end());
  }
}

/// Returns whether two dictionaries hold the same values.
bool are_same(const column_data& a, const column_data& b) {
  if (a.num_rows != b.num_rows) return false;
  const bool share_memory = a.span.values == b.span.values && a.span.offsets == b.span.offsets &&
                            a.span.first_row == b.span.first_row && a.span.validity == b.span.validity &&
                            a.span.view_buffers == b.span.view_buffers;
  if (share_memory) return true;
  if (!a.layout.has_order || a.layout != b.layout) return false;
  const column_data both[] = {a, b};
  const column_data joined = concatenate(both, "");
  const sort_column column{joined.span, {.zeros = zero_order::negative_first}};
  const row_keys keys({&column, 1}, joined.num_rows);
  for (std::uint64_t row = 0; row < a.num_rows; ++row) {
    if (!keys.are_equal(row, a.num_rows + row)) return false;
  }
  return true;
}

void require_one_dictionary(std::span<const column_data> chunks, std::string_view name) {
  const column_data* const first = chunks.front().dictionary.get();
  const bool is_one = std::all_of(chunks.begin(), chunks.end(), [&](const column_data& chunk) {
    return chunk.dictionary.get() == first || are_same(*chunk.dictionary, *first);
  });
  if (is_one) return;
  throw invalid_argument(
      fmt::format("column '{}': its chunks have different dictionaries; unify them first "
                  "(pyarrow: unify_dictionaries())",
                  name));
}

void join_values_of_kind(std::span<const column_data> chunks, std::uint64_t num_rows, std::string_view name,
                         column_buffers& joined) {
  switch (chunks.front().layout.kind) {
    case column_kind::boolean:
      joined.values = join_bits(chunks, num_rows, [](const column_data& chunk) { return chunk.span.values; });
      return;
    case column_kind::bytes32: return join_strings<std::int32_t>(chunks, num_rows, name, joined);
    case column_kind::bytes64: return join_strings<std::int64_t>(chunks, num_rows, name, joined);
    case column_kind::byte_views: return join_views(chunks, num_rows, joined);
    default: return join_values(chunks, num_rows, joined);
  }
}

}  // namespace

column_data concatenate(std::span<const column_data> chunks, std::string_view name) {
  if (chunks.size() == 1) return chunks.front();
  const column_layout& layout = chunks.front().layout;
  if (layout.kind == column_kind::dictionary) require_one_dictionary(chunks, name);
  std::uint64_t num_rows = 0;
  for (const column_data& chunk : chunks) num_rows += chunk.num_rows;
  if (layout.is_all_null) return all_null_column(num_rows);
  auto joined = std::make_shared<column_buffers>();
  join_values_of_kind(chunks, num_rows, name, *joined);
  const auto may_be_null = [](const column_data& chunk) { return chunk.span.validity != nullptr; };
  if (std::any_of(chunks.begin(), chunks.end(), may_be_null)) {
    joined->validity = join_bits(chunks, num_rows, [](const column_data& chunk) { return chunk.span.validity; });
  }
  column_data column = column_in(layout, num_rows, std::move(joined));
  set_dictionary(column, chunks.front().dictionary);
  return column;
}

}  // namespace spansort::table
