// SPDX-License-Identifier: Apache-2.0
// A local sort is an algorithm that sorts one segment of records in a GPU's memory, stably and by a range of the
// bits of their encoded keys. Each algorithm is one file of this folder, which defines its entry; table.cpp lists the
// entries.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "device/cuda/kernels/msd_memory.hpp"
#include "device/cuda/kernels/small_sorts.hpp"
#include "device/cuda/tuning/even_segments_policy.hpp"
#include "device/lsd_digits.hpp"

namespace spansort::device::cuda {

/// Host memory for the lists that a sort by passes makes. Whoever may have begun to overwrite anything has it before,
/// so that no such sort lacks memory.
struct pass_lists {
  pass_lists() {
    all.reserve(most_lsd_digits);
    together.reserve(most_lsd_digits);
  }
  std::vector<keys::digit_position> all;       ///< the sort's digits
  std::vector<keys::digit_position> together;  ///< those that are counted together
};

/// A way by buckets is passes over the high digits and a finish of the buckets behind them, which counts keys of 4
/// bytes.
struct bucket_way {
  bucket_digits digits;                            ///< none: the segment does not go by buckets
  large_buckets large = large_buckets::by_levels;  ///< of keys of 8 bytes

  [[nodiscard]] constexpr msd_beginning beginning() const noexcept { return {digits.bits(), large}; }
  friend constexpr bool operator==(const bucket_way&, const bucket_way&) = default;
};

/// One segment as an algorithm sees it. Source and alternate point at the segment's first record; both are clobbered.
struct segment_sort {
  record_shape shape;
  records source;
  records alternate;
  std::uint64_t count = 0;  ///< at least 2
  keys::bit_range bits;     ///< not empty; all keys agree above it
  bool result_in_alternate = false;
  unsigned digit_bits = 0;  ///< widest digit that was asked for; 0: the algorithm's own
  /// Device memory, or null. Kernels of algorithms that obey decisions do nothing unless it is order_action::passes.
  const order_action* decision = nullptr;
  /// Lists that nobody else uses at the time; null: the algorithm makes its own before it begins.
  pass_lists* lists = nullptr;
  /// Device memory that lets the device's own local sort go by buckets (even_keys.hpp), or null, and the way.
  void* bucket_memory = nullptr;
  std::string_view wished_way = {};
  bucket_way buckets = {};    ///< of one that goes by buckets
  key_spread spread = {};     ///< of one that goes by buckets of a spread
  bool host_may_wait = true;  ///< for a look at the keys; else the device itself goes the way that it finds better
  /// Device memory that the keys of an argsort are read from, which is not changed, or null. The values are then the
  /// keys' positions, of 4 or 8 bytes, and are all that is asked for: the source is only written.
  const void* argsort_keys = nullptr;

  /// The keys as they come.
  [[nodiscard]] const void* given_keys() const noexcept { return argsort_keys != nullptr ? argsort_keys : source.keys; }
};

/// What a sort of one segment costs, for reports.
struct sort_cost {
  unsigned num_passes = 0;
  std::uint64_t bytes_moved = 0;
};

struct local_sort_algorithm {
  std::string_view name;   ///< by which it is asked for
  std::string_view label;  ///< of its work in reports
  /// Device memory that it needs beside the workspace, whatever the input.
  std::uint64_t scratch_bytes = 0;
  /// Returns the device memory that it needs for so many records, where that depends on them. Those that are asked for
  /// by name have no other: it is given with the request. Null: none.
  std::uint64_t (*scratch_bytes_for)(const record_shape& shape, std::uint64_t num_keys) = nullptr;
  unsigned most_digit_bits = 0;  ///< as in local_sort_offer
  /// Its kernels look at segment_sort::decision, so that the order of the input may be looked at first.
  bool obeys_decisions = false;
  /// It sorts segments with segment_sort::argsort_keys. For others keys are copied and positions written first.
  bool makes_positions = false;
  /// It looks for order itself, writes what it has seen to the workspace, and moves little or nothing of what is in
  /// order.
  bool sees_order = false;
  /// Segments may be sorted side by side, each in its part of the workspace.
  bool runs_side_by_side = false;
  /// Returns whether it sorts such records, `num_keys` in all segments together, by code that was compiled for `code`.
  bool (*can_sort)(const record_shape& shape, std::uint64_t num_keys, compute_capability code) = nullptr;
  /// Returns whether it is the best choice for so many records, where nobody asks for an algorithm. Null: always.
  bool (*pays)(const record_shape& shape, std::uint64_t num_keys) = nullptr;
  /// Puts the sort on `site.stream` and returns where the records end, source or alternate. `scratch` has
  /// scratch_bytes.
  records (*enqueue)(const launch_site& site, const segment_sort& segment, void* scratch) = nullptr;
  /// Null: a pass for each digit of max_partition_bits, with one read and one write each, and one read of the keys.
  sort_cost (*cost)(const segment_sort& segment) = nullptr;
};

/// Sorts whatever there is. It is the last resort, and the one for callers that have a part of the workspace alone.
extern const local_sort_algorithm onesweep_sort;

/// This says how keys are stored behind passes over the high digits. It matters to keys alone; those of an argsort can
/// end encoded only, and those with values stay as they came.
enum class keys_end : std::uint8_t { as_they_came, encoded };

/// Enqueues passes over segment.bits, behind which its lower bits are to be sorted. Keys alone that agree in
/// segment.bits come in any order. Returns where the records end.
records enqueue_high_digits(const launch_site& site, const segment_sort& segment, keys_end end);

/// Enqueues a pass over the high digit of a segment of keys of 4 bytes, as segment.buckets says, and a count of the
/// bits below it. The segment's keys have an encoding that loses nothing, and values that can be counted or none.
/// Returns where the records end, which is where the segment asks for them.
records enqueue_by_counts(const launch_site& site, const segment_sort& segment);

/// Returns the way of a segment of keys of 4 bytes that is counted; none where that takes more than one digit, where
/// passes are as few, and where records with values are too many for blocks of the lesser size.
[[nodiscard]] bucket_way counted_way(const record_shape& shape, std::uint64_t num_keys, unsigned num_bits);

/// Returns whether a sort by buckets of keys of 8 bytes is best made of msd_hybrid's levels, which are one launch then.
[[nodiscard]] bool has_few_levels(const record_shape& shape, std::uint64_t num_keys);

/// Returns how many records of keys of 8 bytes blocks finish.
[[nodiscard]] finished_records finished_records_of(const record_shape& shape);

/// Returns the high digits, so many at least, for a way by buckets.
[[nodiscard]] bucket_digits bucket_digits_for(const record_shape& shape, std::uint64_t num_keys, unsigned least_digits);

/// Returns the way by buckets of an array that is sorted for itself.
[[nodiscard]] bucket_way bucket_way_of_array(const record_shape& shape, std::uint64_t num_keys,
                                             bool is_argsort = false);

/// Enqueues a sort by buckets behind passes over the high digits, as segment.buckets says. The segment has memory for
/// buckets, and keys of 8 bytes, of whose bits the lowest are among those that may differ.
records enqueue_by_buckets(const launch_site& site, const segment_sort& segment);

/// Returns the algorithm called `preferred` where it can sort such records. Without a wish that is the first of the
/// table that can and for which it pays; a wish that cannot be granted leaves the last resort. Of those that nobody
/// asks for, only some are for one of several segments.
[[nodiscard]] const local_sort_algorithm& choose_local_sort(std::string_view preferred, const record_shape& shape,
                                                            std::uint64_t num_keys, compute_capability code,
                                                            bool is_only_segment = true);

/// Returns the scratch that choose_local_sort() may ask for, whatever the records.
[[nodiscard]] std::uint64_t local_sort_scratch_bytes(std::string_view preferred);

/// Returns the algorithm that callers may ask for as `name`, or null.
[[nodiscard]] const local_sort_algorithm* find_local_sort(std::string_view name);

/// Returns what GPUs say of the algorithm called `name`.
[[nodiscard]] local_sort_offer offer(std::string_view name, const record_shape& shape, std::uint64_t num_keys);

/// Returns what the kernels of a small sort are asked for.
[[nodiscard]] small_sort_request small_request_of(const segment_sort& segment);

/// This says whether the order of the input is looked at before it is sorted. Looking pays where segments are few and
/// large, and is possible where the algorithm obeys decisions.
enum class order_check : std::uint8_t { skipped, made };

/// The algorithm that sorts a segment, and the high digits that it takes, if it goes by buckets behind passes.
struct enqueued_sort {
  const local_sort_algorithm& algorithm;
  bucket_way buckets = {};
};

/// Sorts one segment by `algorithm` and puts the result where the segment asks for it. Returns the algorithm that sorts
/// it: another one where the segment goes by buckets or is counted, but not where the device decides for one of two.
enqueued_sort enqueue_segment(const local_sort_algorithm& algorithm, const launch_site& site, segment_sort segment,
                              void* scratch, order_check check);

}  // namespace spansort::device::cuda
