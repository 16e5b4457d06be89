// SPDX-License-Identifier: Apache-2.0
// The first k of keys in host memory by a short way of the CPU: a sample of up to 1,024 keys says below which bound
// they lie, one read collects what is there, and that is sorted; of up to 2^17 keys all are sorted where the sample
// does not help. A selection of the bound takes longer: it samples 2^16 keys, and reads all keys once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/types.hpp"

namespace spansort::statistics {

/// Returns how many keys are no NaN keys, by one read.
[[nodiscard]] std::uint64_t count_numbers(const const_key_span& keys);

/// Returns whether the functions below may have an answer for so many keys, of which NaN keys may be left out.
[[nodiscard]] bool may_find_first(std::uint64_t num_keys, std::uint64_t count);

/// Returns the first `count` keys in the order of `codec`, in that order; nothing where another way is better, because
/// too many keys lie before the bound, or too few. Memory: 32 bytes and three times the key's for each
/// key that is collected, about half of the keys at most, or as much as a sort of a copy takes. Throws out_of_memory
/// and std::bad_alloc.
[[nodiscard]] std::optional<std::vector<std::byte>> find_first_keys(const const_key_span& keys,
                                                                    const keys::key_codec& codec, std::uint64_t count,
                                                                    unsigned threads);

/// Returns where the first `count` keys are, of keys that compare equal the earlier first; or nothing, as above.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> find_first_indices(const const_key_span& keys,
                                                                           const keys::key_codec& codec,
                                                                           std::uint64_t count, unsigned threads);

}  // namespace spansort::statistics
