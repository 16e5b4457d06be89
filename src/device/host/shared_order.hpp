// SPDX-License-Identifier: Apache-2.0
// Ordering keys of some hundreds of KiB and more, on the threads and in the memory that the process keeps for pairs
// (shared_pairs.hpp).
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Writes the stable order of the keys as indices of 4 or 8 bytes. Returns false, with nothing done, while another
/// thread uses the memory. Throws std::bad_alloc with nothing written. shared_pairs_bytes() says what it takes.
[[nodiscard]] bool argsort_shared(const keys::key_codec& codec, const void* keys, void* indices,
                                  std::uint64_t index_bytes, std::uint64_t num_keys, unsigned num_threads);

/// Writes the order of any number of keys that ascend but for a short tail (ordered_tail.hpp), of up to 64 ascending
/// runs (ordered_runs.hpp, run_buckets.hpp), or of keys in order but for a few (misplaced_keys.hpp). Returns false,
/// with nothing written, where they are others, of up to 16 values in three runs and more, or of more runs than 16 MiB
/// of buckets' begins allow (64 of u64: beyond about 2^27 keys), or while another thread uses the threads. No keys are
/// copied but those of the tail, samples and the few, which take new memory. Throws std::bad_alloc with nothing
/// written.
[[nodiscard]] bool argsort_presorted_shared(const keys::key_codec& codec, const void* keys, void* indices,
                                            std::uint64_t index_bytes, std::uint64_t num_keys, unsigned num_threads);

}  // namespace spansort::device::host
