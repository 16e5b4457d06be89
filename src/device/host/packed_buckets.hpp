// SPDX-License-Identifier: Apache-2.0
// Buckets of pairs of 32-bit keys and values, which lie packed in a worker's scratch, are sorted as words into their
// place. Most are as few as one network takes; what sets their keys apart fits words of 32 bits, for the keys of a
// bucket lie close together.
#pragma once

#include <cstdint>

#include "device/host/key_words.hpp"
#include "device/host/records.hpp"
#include "device/host/vector_sort.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Memory for buckets that are more than one network takes.
struct bucket_scratch {
  std::uint64_t* words = nullptr;  ///< one a pair
  vector_sort_scratch<std::uint64_t> arrays;
};

/// Encodes keys, ties folded.
void encode_keys(const keys::codec_of<std::uint32_t>& codec, const std::uint32_t* keys, std::uint64_t num_keys,
                 std::uint32_t* encoded);
/// Encodes the keys of packed pairs.
void encode_keys(const keys::codec_of<std::uint32_t>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                 std::uint32_t* encoded);

/// Writes by how much the encoded keys of packed pairs are above the least one, which is by less than 2^16.
void subtract_from_keys(const keys::codec_of<std::uint32_t>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                        std::uint32_t least, std::uint16_t* differences);

/// Takes packed pairs apart.
void unpack_pairs(const packed_pair* pairs, std::uint64_t num_pairs, std::uint32_t* keys, value4* values);

/// Sorts a bucket into `keys` and `values`, stably; encoded keys are of `range`. Where vectors are too narrow
/// has_packed_buckets() says so.
void sort_packed_bucket(const keys::codec_of<std::uint32_t>& codec, const packed_pair* pairs, std::uint64_t num_pairs,
                        std::uint32_t* keys, value4* values, key_range<std::uint32_t> range,
                        const bucket_scratch& scratch);
[[nodiscard]] bool has_packed_buckets();

}  // namespace spansort::device::host
