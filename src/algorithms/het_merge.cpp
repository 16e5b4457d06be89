// SPDX-License-Identifier: Apache-2.0
// HET merge sort (Gowanlock, Karsin: "Sorting Large Datasets with Heterogeneous CPU/GPU Architectures", IPDPSW 2018),
// as Ilic, Tolovski, Rabl: "RMG Sort", BTW 2023, section 5.2 describes it: the devices sort chunks, and the CPU merges
// all of them at once by a parallel multiway merge. Any number of devices; data may be larger than their memory.
//
// Where the description is silent: each device has one chunk where that and what it is sorted with fit; else all take
// turns with the largest chunks that leave room to bring and carry others meanwhile. The merge is cut by multisequence
// selection into one piece a thread, so skew and equal keys cost nothing. Stable: chunks are in input order.
#include <algorithm>
#include <vector>

#include "algorithms/multiway_merge.hpp"
#include "algorithms/out_of_core_sizes.hpp"
#include "algorithms/out_of_core_state.hpp"
#include "algorithms/registry.hpp"
#include "base/math.hpp"
#include "base/said_of_done.hpp"
#include "base/shares.hpp"

namespace spansort::algorithms {
namespace {

/// The caller's progress bar: how far a sort is when all chunks are sorted.
constexpr double fraction_after_chunks = 0.5;
/// Slots of a device that has one chunk: the sort takes two.
constexpr unsigned num_slots_of_one = 2;

/// Returns the records of the largest chunk wanted: the devices have one each.
std::uint64_t wanted_chunk_records(std::uint64_t num_ranks, const sort_settings& options, const problem& sort) {
  const std::uint64_t one_each = base::ceil_div(sort.num_keys, num_ranks);
  const std::uint64_t given = options.hooks.device_chunk_keys;
  return given == 0 ? one_each : std::min(given, one_each);
}

/// How the devices go through the input.
struct chunk_sizes {
  unsigned num_slots = 0;
  std::uint64_t capacity = 0;  ///< records of a slot
};

bool is_one_each(std::uint64_t chunk_records, std::uint64_t num_ranks, std::uint64_t num_keys) {
  return chunk_records * num_ranks >= num_keys;
}

/// Returns the sizes that suit the slots that are held.
chunk_sizes sizes_of_slots(const run_context& run, const problem& sort) {
  const std::uint64_t wanted = wanted_chunk_records(run.num_ranks(), run.options(), sort);
  if (is_one_each(wanted, run.num_ranks(), sort.num_keys) &&
      least_slot_records(run.ranks(), sort.shape, num_slots_of_one) >= wanted) {
    return {num_slots_of_one, wanted};
  }
  return {num_pipeline_slots, std::min(wanted, least_slot_records(run.ranks(), sort.shape, num_pipeline_slots))};
}

class het_state {
 public:
  /// The workspace has been reserved.
  het_state(run_context& run, const problem& sort)
      : run_(run),
        sort_(sort),
        sizes_(sizes_of_slots(run, sort)),
        num_chunks_(num_parts(sort.num_keys, sizes_.capacity, run.num_ranks())),
        sorted_(host_slot_records(run.ranks().front(), 0, sort.shape, sort.num_keys)) {}
  /// Waits for queued work.
  ~het_state() { run_.drain(); }
  het_state(const het_state&) = delete;
  het_state& operator=(const het_state&) = delete;

  /// Each device in turn sorts a chunk, which comes back beside the caller's arrays.
  void sort_chunks() {
    if (num_chunks_ > run_.num_ranks()) run_.open_copies_out();
    std::vector<pipeline> pipelines;
    for (rank& r : run_.ranks()) pipelines.emplace_back(r, sort_.shape, sizes_.capacity, sizes_.num_slots);
    const keys::bit_range all_bits{0, sort_.shape.codec.key_bits()};
    for (std::uint64_t chunk = 0; chunk < num_chunks_; ++chunk) {
      const host_slice unsorted{advance(sort_.shape, sort_.data(), begin_of(chunk)), size_of(chunk)};
      pipelines[rank_of(chunk)].process({unsorted}, all_bits, run_of(chunk).data);
    }
    run_.finish_phase("sort chunks", fraction_after_chunks, sort_.num_keys);
  }

  /// The CPU merges all chunks into the caller's arrays.
  void merge_chunks() {
    std::vector<host_run> runs;
    for (std::uint64_t chunk = 0; chunk < num_chunks_; ++chunk) runs.push_back(run_of(chunk));
    run_.begin_parts();
    run_.add_part({sorted_, sort_.num_keys, sorted_});
    run_.commit();
    run_.time_on_host("multiway merge", 2 * sort_.num_keys * sort_.shape.bytes(),
                      [&] { merge_runs(sort_.shape, runs, sort_.data(), pieces_for_all_threads(sort_.num_keys)); });
    run_.finish_phase("multiway merge", 1.0, 0);
  }

  void fill_report() {
    base::say_of_done([&] { run_.report().algorithm = "het_merge"; });
    run_.report().num_passes = 1;
    report_turns(run_, sort_.num_keys, num_chunks_);
  }

 private:
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t chunk) const {
    return base::share_begin(sort_.num_keys, num_chunks_, chunk);
  }
  [[nodiscard]] std::uint64_t size_of(std::uint64_t chunk) const { return begin_of(chunk + 1) - begin_of(chunk); }
  [[nodiscard]] unsigned rank_of(std::uint64_t chunk) const { return static_cast<unsigned>(chunk % run_.num_ranks()); }
  [[nodiscard]] host_run run_of(std::uint64_t chunk) const {
    return {advance(sort_.shape, sorted_, begin_of(chunk)), size_of(chunk)};
  }

  run_context& run_;
  const problem& sort_;
  chunk_sizes sizes_;
  std::uint64_t num_chunks_;  ///< of equal size
  device::records sorted_;    ///< every chunk, where it lay in the input
};

void run_het_merge(run_context& run, const problem& sort) {
  het_state state(run, sort);
  state.sort_chunks();
  state.merge_chunks();
  state.fill_report();
}

/// Returns slots of every device, and a copy of the data beside the caller's arrays.
std::vector<slot_request> slots_and_copy(std::size_t num_ranks, const chunk_sizes& sizes, const problem& sort) {
  std::vector<slot_request> wishes;
  for (unsigned r = 0; r < num_ranks; ++r) {
    for (unsigned slot = 0; slot < sizes.num_slots; ++slot) wishes.push_back({r, slot, sizes.capacity});
  }
  wishes.push_back({.rank = 0, .slot = 0, .num_records = sort.num_keys, .on_host = true});
  return wishes;
}

std::vector<slot_request> het_merge_workspace(const std::vector<rank>& ranks, const sort_settings& options,
                                              const problem& sort) {
  const std::uint64_t wanted = wanted_chunk_records(ranks.size(), options, sort);
  std::vector<slot_request> wishes = slots_and_copy(ranks.size(), {num_slots_of_one, wanted}, sort);
  if (is_one_each(wanted, ranks.size(), sort.num_keys) &&
      fits_devices(ranks, sort.shape, wishes, options.device_memory_bytes)) {
    return wishes;
  }
  return slots_and_copy(ranks.size(), {num_pipeline_slots, fitting_part_records(ranks, options, sort, wanted)}, sort);
}

/// Returns what the slots take on host devices: two for each device's chunk.
base::memory_formula het_merge_host_memory(std::uint64_t num_devices, std::uint64_t record_bytes) {
  constexpr std::uint64_t rounding_bytes = 2 * 4096;
  return {.fixed_bytes = num_devices * num_slots_of_one * (record_bytes + rounding_bytes),
          .element_bytes = num_slots_of_one * record_bytes};
}

}  // namespace

extern constinit const entry het_merge_algorithm{.name = "het_merge",
                                                 .description = "chunks sorted by the devices, merged by the CPU",
                                                 .is = {.uses_all_devices = true, .sorts_in_parts = true},
                                                 .run = run_het_merge,
                                                 .workspace = het_merge_workspace,
                                                 .other_host_memory = het_merge_host_memory};

}  // namespace spansort::algorithms
