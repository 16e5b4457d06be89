// SPDX-License-Identifier: Apache-2.0
// Onesweep's partition for digits of up to max_published_bits. Twice the buckets of the usual one take twice the
// counters, states and targets: what the workspace holds is enough for half as many digits.
#pragma once

#include <vector>

#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

inline constexpr unsigned max_wide_buckets = 1U << max_published_bits;
inline constexpr unsigned max_wide_digits_together = max_digits_together * max_partition_buckets / max_wide_buckets;

/// Does what launch_partition_step() does; the targets are [2][max_wide_buckets].
template <class K>
void launch_wide_partition_step(const launch_site& site, const keys::codec_of<K>& codec, unsigned value_bytes,
                                const partition_step& step);

/// Returns what num_partition_tiles() does for these partitions.
template <class K>
[[nodiscard]] std::uint64_t num_wide_partition_tiles(const launch_site& site, unsigned value_bytes,
                                                     std::uint64_t num_keys);

/// Does what launch_bucket_targets() does, for up to max_wide_digits_together.
template <class K>
void launch_wide_bucket_targets(const launch_site& site, unsigned value_bytes,
                                const std::vector<keys::digit_position>& digits, records source, records alternate);

// Another partition has still wider digits, for keys of 8 bytes alone whose encoding loses nothing. It leaves those of
// a bucket in any order.
inline constexpr unsigned max_unordered_buckets = 1U << max_unordered_bits;
inline constexpr unsigned max_unordered_digits_together =
    max_digits_together * max_partition_buckets / max_unordered_buckets;

/// Does what launch_partition_step() does, of whose targets, [2][max_unordered_buckets], the first half is used.
void launch_wide_unordered_step(const launch_site& site, const keys::codec_of<std::uint64_t>& codec,
                                unsigned value_bytes, const partition_step& step);

/// Does what launch_bucket_targets() does, for up to max_unordered_digits_together.
void launch_wide_unordered_targets(const launch_site& site, unsigned value_bytes,
                                   const std::vector<keys::digit_position>& digits, records from, records to);

}  // namespace spansort::device::cuda
