// SPDX-License-Identifier: Apache-2.0
#include "sort/arguments.hpp"

#include <fmt/format.h>

#include <limits>

#include "keys/known_type.hpp"
#include "plan/planner.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"

namespace spansort::sorting {
namespace {

void require_addressable(std::uint64_t count, std::uint64_t element_bytes, const char* what) {
  constexpr std::uint64_t surely = std::uint64_t{1} << 31;  // a division takes a good part of the time of 16 keys
  if (count <= surely && element_bytes <= surely) return;
  if (count <= std::numeric_limits<std::uint64_t>::max() / 2 / element_bytes) return;
  throw invalid_argument(fmt::format("{} {} of {} bytes each cannot lie in memory", count, what, element_bytes));
}

void require_memory(const void* data, std::uint64_t count, const char* what) {
  if (data != nullptr || count == 0) return;
  throw invalid_argument(fmt::format("{}: null pointer for {} elements", what, count));
}

void require_no_overlap(const const_key_span& keys, const void* others, std::uint64_t others_bytes, const char* what) {
  const auto keys_begin = reinterpret_cast<std::uintptr_t>(keys.data);
  const auto others_begin = reinterpret_cast<std::uintptr_t>(others);
  const std::uint64_t keys_bytes = keys.num_keys * size_bytes(keys.type);
  if (keys_bytes == 0 || others_bytes == 0) return;
  if (keys_begin >= others_begin + others_bytes || others_begin >= keys_begin + keys_bytes) return;
  throw invalid_argument(fmt::format("keys and {} overlap", what));
}

void require_radix_bits(unsigned bits, unsigned most, const char* what) {
  if (bits <= most) return;
  throw invalid_argument(fmt::format("tuning.{}: expected 1 to {}, found {}", what, most, bits));
}

}  // namespace

void check_keys(const const_key_span& keys) {
  keys::require_known(keys.type);
  require_memory(keys.data, keys.num_keys, "keys");
  require_addressable(keys.num_keys, size_bytes(keys.type), "keys");
  // Sizes are powers of two.
  if ((reinterpret_cast<std::uintptr_t>(keys.data) & (size_bytes(keys.type) - 1)) != 0) {
    throw invalid_argument(
        fmt::format("keys of type {} are not aligned to {} bytes", name(keys.type), size_bytes(keys.type)));
  }
}

void check_values(const const_key_span& keys, const void* values, std::uint64_t value_bytes) {
  if (value_bytes == 0) throw invalid_argument("values of 0 bytes: use sort() for keys alone");
  require_memory(values, keys.num_keys, "values");
  require_addressable(keys.num_keys, value_bytes, "values");
  require_no_overlap(keys, values, keys.num_keys * value_bytes, "values");
}

void check_index_width(std::uint64_t num_keys, std::uint64_t index_bytes) {
  if (index_bytes != 4 && index_bytes != 8) {
    throw invalid_argument(fmt::format("indices: expected 4 or 8 bytes each, found {}", index_bytes));
  }
  if (index_bytes == 4 && num_keys > (std::uint64_t{1} << 32)) {
    throw invalid_argument(fmt::format("{} keys need 64-bit indices", num_keys));
  }
}

void check_indices(const const_key_span& keys, const void* indices, std::uint64_t index_bytes) {
  check_index_width(keys.num_keys, index_bytes);
  check_index_memory(keys, indices, index_bytes);
}

void check_index_memory(const const_key_span& keys, const void* indices, std::uint64_t index_bytes) {
  require_memory(indices, keys.num_keys, "indices");
  require_addressable(keys.num_keys, index_bytes, "indices");
  require_no_overlap(keys, indices, keys.num_keys * index_bytes, "indices");
}

void check_tuning(const tuning_options& tuning, unsigned most_radix_bits) {
  require_radix_bits(tuning.radix_bits, most_radix_bits, "radix_bits");
  // Written so that NaN is refused too.
  if (!(tuning.epsilon <= 1) || !(tuning.fuse_threshold <= 1)) {
    throw invalid_argument("tuning.epsilon and tuning.fuse_threshold are fractions of a chunk, from 0 to 1");
  }
}

void check_hooks(const base::test_hooks& hooks) { require_radix_bits(hooks.host_radix_bits, 12, "host_radix_bits"); }

rank_report describe(const device::device& device, unsigned rank, std::uint64_t num_ranks,
                     const algorithms::problem& problem) {
  plan::parameters chunks;
  chunks.num_keys = problem.num_keys;
  chunks.num_ranks = static_cast<unsigned>(num_ranks);
  const std::uint64_t num_keys =
      problem.is_resident() ? problem.resident().parts[rank].num_keys : source_count(chunks, rank);
  return {
      .device = device.name(), .num_threads = device.num_threads(), .num_keys_in = num_keys, .num_keys_out = num_keys};
}

}  // namespace spansort::sorting

namespace spansort::detail {

void require_same_count(std::uint64_t num_keys, std::uint64_t num_others, const char* others) {
  if (num_keys == num_others) return;
  throw invalid_argument(fmt::format("{} keys but {} {}", num_keys, num_others, others));
}

void require_index_range(std::uint64_t num_keys, std::uint64_t largest_index) {
  if (num_keys == 0 || num_keys - 1 <= largest_index) return;
  throw invalid_argument(fmt::format("{} keys, but the index type ends at {}", num_keys, largest_index));
}

}  // namespace spansort::detail
