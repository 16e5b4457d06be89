// SPDX-License-Identifier: Apache-2.0
// Sizes that drivers go by when devices have memory of their own. They belong to the link between host and device, not
// to a kind of GPU; both come from one H100, and other machines have not been measured.
#pragma once

#include <cstdint>

namespace spansort::algorithms {

/// Bytes that are copied at a time: long enough for the link's full speed, short enough that little is left to count
/// when the last piece has arrived.
inline constexpr std::uint64_t copy_piece_bytes = std::uint64_t{32} << 20;

/// An input of this size or more is sorted faster by one device with rmg, whose copies overlap with the work, than with
/// its local sort alone. Below it, rmg's hundreds of launches take longer than the overlap saves.
inline constexpr std::uint64_t overlap_worth_bytes = std::uint64_t{256} << 20;
static_assert(overlap_worth_bytes >= 2 * copy_piece_bytes, "a single piece has nothing to overlap with");

/// Sorted keys leave devices packed in part where at least so many threads of the host are there for each. On a machine
/// of 16 cores and one H200, 4 threads unpacked 40 GB/s while as much was copied beside them; copies alone took 55.
inline constexpr unsigned least_unpacking_threads = 4;

/// More devices than these fill the host's memory with copies alone, and unpacking takes room from them. Two H100: 2e9
/// u32 182 ms packed in part and 197 as they are, 10^9 u64 179 and 171; four: 147 and 139, 143 and 122 (medians of 5 to
/// 7 runs). On two H200 10^9 u64 were the other way round, 147 and 155.
inline constexpr unsigned most_packing_devices = 2;       ///< of keys of 4 bytes
inline constexpr unsigned most_packing_devices_wide = 1;  ///< of keys of 8 bytes

}  // namespace spansort::algorithms
