// SPDX-License-Identifier: Apache-2.0
// Exact order statistics without sorting: the keys at given ranks of data that lies on one device or on several. A
// sample says between which keys each rank should be, one read counts and collects those between, and they are few.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "keys/codec.hpp"
#include "transport/single_process.hpp"

namespace spansort::statistics {

/// Keys that a queue's device reads: in its own memory, or in memory that it reaches.
struct key_chunk {
  device::device* device = nullptr;
  device::queue* queue = nullptr;  ///< of the device; several chunks may share one
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  /// Memory of the device that selections of these keys work in and leave to the next one, for to take memory of a GPU
  /// takes as long as to read 2^27 keys; null: what is taken is given back.
  device::buffer* kept = nullptr;
  std::uint64_t room_bytes = 0;  ///< of what was collected: the size of the memory that begins with `keys`
};

/// What a selection cost.
struct select_report {
  unsigned num_reads = 0;            ///< of all the keys given
  std::uint64_t keys_read = 0;       ///< by devices; those that were collected and read again are in it
  std::uint64_t keys_collected = 0;  ///< copied into memory of the selection's own
};

/// The keys at `ranks`: positions from 0 in the order of `codec`, of all chunks' keys together. Ranks may come in any
/// order and more than once, each less than the number of keys. Returns the keys' bits, zeros above, one for each rank.
/// Where equal keys differ in bits (-0.0 and +0.0, NaNs), they are ordered by bits, as sorts of keys alone do.
///
/// Exact for any keys, and the same however they are cut into chunks; chunks are not changed. For every 8 different
/// ranks nearly always one read of the keys, and never more than 3 + key_bits / 2, however the keys are made to mislead
/// the sample: a read cuts what each rank is in into 5 equal parts at least. What a read collects is at most half of
/// the keys and is searched in the same way.
///
/// Ranks count through the keys of all processes of `group`, every process asks for the same ones, and all get the same
/// answers, those that one process with all keys would get. For each read they tell each other some dozens of
/// numbers and the sample.
///
/// Memory: on each device room for collected keys, up to half as many as there are in all, though not more than are in
/// its chunks, and as much again while those are searched; an eighth for quartiles, a fortieth on one GPU. On the host
/// a sample of 2^16 keys; one GPU keeps its sample, of up to 2^19 keys, in its scratch.
/// Takes devices' scratch (device::prepare) and waits for the chunks' queues. Throws out_of_memory, and what queued
/// work throws.
[[nodiscard]] std::vector<std::uint64_t> select_keys(keys::key_codec codec, std::span<const key_chunk> chunks,
                                                     std::span<const std::uint64_t> ranks,
                                                     select_report* report = nullptr,
                                                     transport::communicator& group = transport::alone());

}  // namespace spansort::statistics
