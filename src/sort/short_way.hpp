// SPDX-License-Identifier: Apache-2.0
// The short way of a sort is for small arrays of keys alone or of pairs, and for small argsorts, of which nobody wants
// to hear more than the result.
#pragma once

#include "algorithms/sort_settings.hpp"
#include "spansort/types.hpp"

namespace spansort::sorting {

/// Returns whether a sort by `options` may take the short way: these are valid, leave the choice of devices and
/// algorithm open or name the CPU alone, set no ceiling on memory, and want neither report nor progress.
[[nodiscard]] bool allow_short_way(const sort_options& options);

/// Sorts small arrays on the calling thread, but the smallest, which callers ask for themselves (sort_smallest()
/// and others), and middle ones with the help of others, `threads` in all as the option says, after the checks that
/// every sort makes. Returns false, with nothing done, where there are too many keys, or so many that only those in
/// order or of values that repeat are sorted here, and these are others.
bool sort_short(const key_span& keys, direction d, unsigned threads);
/// Sorts keys of 32 and 64 bits that are too many for sort_short(), repeat values and are not in order, on one
/// thread and two. Returns false, with nothing done, where they are others, where a GPU may be chosen, and while
/// another thread has the memory that the process keeps.
bool sort_repeats(const key_span& keys, direction d, unsigned threads, bool may_choose_gpus);
/// Sorts what is too much for sort_short() in memory that the process keeps, for a call without a sorter: opening a
/// device for it would take longer than the sort. Returns false, with nothing done, where there are too many keys,
/// and while another thread has that memory, and where keys are narrow, which a device counts in less time.
bool sort_middle(const key_span& keys, direction d, unsigned threads);
/// Sorts what is too much for sort_middle() in place on a few threads, for a call without a sorter whose workspace
/// would be new memory: to touch the pages of that for the first time takes longer than it saves. Returns false,
/// with nothing done, where there are too many keys or threads, where keys are narrow or vectors are, where a GPU
/// may be chosen, where a few runs are to be merged, and while another thread has the memory that the process
/// keeps.
bool sort_in_place(const key_span& keys, direction d, const sort_options& options);
/// Does what sort_short() does to pairs; returns false also for values of other than 4, 8 and 16 bytes, and while
/// another thread has the memory for middle arrays.
bool sort_pairs_short(const key_span& keys, void* values, std::uint64_t value_bytes, direction d, unsigned threads);
/// Does so to indices, and writes the order of any number of keys that are in order but for a few, unless a GPU may be
/// chosen for so many.
bool argsort_short(const const_key_span& keys, void* indices, std::uint64_t index_bytes, direction d, unsigned threads,
                   bool may_choose_gpus);

}  // namespace spansort::sorting
