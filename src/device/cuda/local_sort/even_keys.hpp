// SPDX-License-Identifier: Apache-2.0
// The device's own local sort goes by buckets (msd_hybrid) where keys of 8 bytes are many and even, counts the low
// halves of keys of 4 bytes that are (onesweep_counting), and goes by onesweep's passes elsewhere. A sample tells
// which; the thread that feeds the stream waits for what it says, and no caller does who would not wait for the sort.
// The device decides where no host waits, and the kernels of both ways are launched: those of the passes have tens of
// thousands of tiles each, which all have to start to find that they are not wanted.
#pragma once

#include <string_view>

#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {

/// Names of the ways, as cuda_device_options::local_sort has them for tests: every input that can be goes by buckets or
/// is counted, none is, or inputs of all sizes are looked at; or every array of keys of 8 bytes for which the host may
/// wait goes by buckets of a spread, by the second name those of two digits of 9 bits but for argsorts. Where it may
/// not wait these two names have keys of 8 bytes looked at as for all sizes. By "" those are looked at whose size makes
/// it pay.
inline constexpr std::string_view always_by_buckets = "msd_hybrid";
inline constexpr std::string_view never_by_buckets = "onesweep";
inline constexpr std::string_view by_buckets_where_even = "msd_hybrid where even";
inline constexpr std::string_view always_by_spread = "msd_hybrid by spread";
inline constexpr std::string_view always_by_wide_spread = "msd_hybrid by wide spread";

/// Returns the device memory that lets such records be sorted by buckets or be counted, or 0 where they never are.
[[nodiscard]] std::uint64_t bucket_memory_bytes(std::string_view way, const record_shape& shape,
                                                std::uint64_t num_keys);

/// A segment goes by passes, by buckets, by a few passes and counts, or, where the host has learned that it is in order
/// or in opposite order, by none of these.
/// The device takes one of two ways where no host waits, all of whose kernels are launched.
enum class segment_way : std::uint8_t { passes, buckets, counts, order, passes_or_buckets, passes_or_counts };

/// A way, with the buckets of keys that may go by them, and their spread, if any. Its table is in the site's counts.
struct found_way {
  segment_way way = segment_way::passes;
  bucket_way buckets = {};
  key_spread spread = {};
};

/// Returns the way of a segment that has memory for buckets, and for which it has been looked for order. Where the keys
/// have to be looked at, it waits for the look, and so for what is before it on the stream; where it may not wait, the
/// look writes the site's words for two ways.
[[nodiscard]] found_way way_of(const launch_site& site, const segment_sort& segment);

}  // namespace spansort::device::cuda
