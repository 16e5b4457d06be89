// SPDX-License-Identifier: Apache-2.0
#include "sort/row_sorter.hpp"

#include <oneapi/tbb/info.h>

#include <cstddef>

#include "base/for_blocks.hpp"
#include "device/host/row_sort.hpp"
#include "device/host/scratch.hpp"
#include "keys/codec.hpp"
#include "sort/sorter_memory.hpp"

namespace spansort::sorting {
namespace {

using device::host::most_row_keys;
using device::host::worker_scratch;

}  // namespace

row_sorter::row_sorter(key_type type, direction d, const sort_options& options)
    : type_(type), direction_(d), options_(options), sorter_(options) {}

bool row_sorter::is_short(std::uint64_t row_keys, bool wants_order) const {
  return row_keys <= most_row_keys(static_cast<unsigned>(size_bytes(type_)), wants_order);
}

std::uint64_t row_sorter::workspace_bytes(std::uint64_t num_rows, std::uint64_t row_keys, bool wants_order) const {
  if (is_short(row_keys, wants_order)) {
    const std::uint64_t places = wants_order ? num_rows * row_keys * sizeof(std::uint32_t) : 0;
    return places + static_cast<std::uint64_t>(tbb::info::default_concurrency()) * worker_scratch::size_bytes;
  }
  const base::memory_formula memory =
      sorter_memory(options_, size_bytes(type_), wants_order ? sizeof(std::uint64_t) : 0);
  return memory.fixed_bytes + memory.element_bytes * row_keys + (wants_order ? row_keys * size_bytes(type_) : 0);
}

void row_sorter::sort(void* keys, std::uint64_t num_rows, std::uint64_t row_keys) {
  if (is_short(row_keys, false)) {
    const keys::key_codec codec{type_, keys::is_descending(direction_), keys::tie_rule::by_bits};
    return device::host::sort_rows({.codec = codec, .keys = keys, .num_rows = num_rows, .row_keys = row_keys});
  }
  for (std::uint64_t row = 0; row < num_rows; ++row) {
    std::byte* const at = static_cast<std::byte*>(keys) + row * row_keys * size_bytes(type_);
    sorter_.sort({type_, at, row_keys}, direction_);
  }
}

void row_sorter::argsort(void* keys, std::uint64_t num_rows, std::uint64_t row_keys, std::uint64_t* indices) {
  if (!is_short(row_keys, true)) {
    for (std::uint64_t row = 0; row < num_rows; ++row) {
      const std::byte* const at = static_cast<std::byte*>(keys) + row * row_keys * size_bytes(type_);
      sorter_.argsort({type_, at, row_keys}, indices + row * row_keys, sizeof(std::uint64_t), direction_);
    }
    return;
  }
  const std::uint64_t count = num_rows * row_keys;
  places_.make_room(count * sizeof(std::uint32_t));
  auto* const places = reinterpret_cast<std::uint32_t*>(places_.data());
  base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) places[i] = static_cast<std::uint32_t>(i % row_keys);
  });
  const keys::key_codec codec{type_, keys::is_descending(direction_), keys::tie_rule::by_input_order};
  device::host::sort_rows({.codec = codec, .keys = keys, .places = places, .num_rows = num_rows, .row_keys = row_keys});
  base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) indices[i] = places[i];
  });
}

}  // namespace spansort::sorting
