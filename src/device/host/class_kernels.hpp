// SPDX-License-Identifier: Apache-2.0
// The loops of a partition into classes, in vector instructions: keys of a tile to slots in cache, and from there, line
// by line, to blocks in memory.
#pragma once

#include <cstdint>

#include "device/host/class_blocks.hpp"
#include "device/host/key_classes.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

// K is std::uint32_t or std::uint64_t; `codec` folds no ties. Machines have these where has_vector_sort() says so.

/// Appends each key to the slot of its class. Slots are not checked: what overflows goes on behind them.
template <class K>
void scatter_to_slots(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,
                      std::uint64_t num_keys, const tile_slots<K>& slots);

/// Does the same, faster where neighbours are mostly of one class.
template <class K>
void scatter_runs_to_slots(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,
                           std::uint64_t num_keys, const tile_slots<K>& slots);

/// Adds how many keys each class has.
template <class K>
void count_classes(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys, std::uint64_t num_keys,
                   std::uint32_t* counts);

/// Puts what is left of each class at the begin of its slot.
template <class K>
void begin_slots(const class_writer<K>& writer, const tile_slots<K>& slots);

/// Writes the whole lines of all slots to the writer's blocks, past the caches where asked for, and keeps the rests.
template <class K>
void flush_slots(const class_writer<K>& writer, const tile_slots<K>& slots, bool stream);

}  // namespace spansort::device::host
