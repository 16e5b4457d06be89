// SPDX-License-Identifier: Apache-2.0
// The papers' algorithms for one device, each a local sort that is asked for by name: `single` runs it. Which devices
// have which, and why others do not, stands in the devices' own tables (local_sort/table.cpp of either backend). `auto`
// takes none of them; they are there to be compared.
#include "algorithms/local_sorts.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/single.hpp"

namespace spansort::algorithms {

namespace {

/// What slots are rounded up by.
constexpr std::uint64_t rounding_bytes = std::uint64_t{2} << 12;

/// Tables of counts or splitters: less than a byte for each record, on whole tiles.
base::memory_formula table_memory(std::uint64_t, std::uint64_t) {
  return {.fixed_bytes = rounding_bytes, .element_bytes = 1};
}

/// An index for each record with a value.
base::memory_formula index_memory(std::uint64_t, std::uint64_t) {
  return {.fixed_bytes = rounding_bytes, .element_bytes = sizeof(std::uint64_t)};
}

/// A local sort, where it was published, and what it takes of a host device's memory.
struct publication {
  std::string_view name;
  std::string_view description;
  unsigned num_copies = 1;
  host_memory_rule other_host_memory = nullptr;
};

constexpr publication published[] = {
    {"onesweep", "LSD radix sort, one read and write a pass (Onesweep, section 3)"},
    {"lsd_reduce_then_scan", "LSD radix sort, two reads a pass (Onesweep, section 2)"},
    {"satish_radix", "LSD radix sort of tiles by 1-bit splits (Satish, section III)", 1, table_memory},
    {"satish_merge", "merge sort of tiles by networks and splitters (Satish, section IV)", 1, table_memory},
    {"msd_hybrid", "MSD radix sort with a local finish (Stehle and Jacobsen, 2017)"},
    {"paradis", "MSD radix sort in place on a CPU (Cho et al., 2015)", 0, index_memory},
};
constexpr std::size_t num_published = std::size(published);

template <std::size_t Number>
void run(run_context& run, const problem& sort) {
  sort_on_one(run, sort, published[Number].name);
}

template <std::size_t Number>
std::vector<slot_request> workspace(const std::vector<rank>& ranks, const sort_settings& options, const problem& sort) {
  return workspace_on_one(ranks, options, sort, published[Number].name);
}

/// Returns the entry of one of them. Functions of the registry have no other way to know their name.
template <std::size_t Number>
constexpr entry entry_of() {
  return {.name = published[Number].name,
          .description = published[Number].description,
          .is = {.takes_resident = true, .num_copies = published[Number].num_copies},
          .run = run<Number>,
          .workspace = workspace<Number>,
          .other_host_memory = published[Number].other_host_memory};
}

template <std::size_t... Numbers>
constexpr std::array<entry, num_published> all_entries(std::index_sequence<Numbers...>) {
  return {entry_of<Numbers>()...};
}

constexpr std::array<entry, num_published> entries = all_entries(std::make_index_sequence<num_published>());

}  // namespace

std::span<const entry> local_sort_algorithms() { return entries; }

}  // namespace spansort::algorithms
