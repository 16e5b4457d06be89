// SPDX-License-Identifier: Apache-2.0
// Tables that are larger than memory: a stream of record batches in, a stream of sorted ones out, by Arrow's C
// interface.
//
//     const spansort::arrow_key by[] = {{"country"}, {"price", {.order = spansort::direction::descending}}};
//     ArrowArrayStream sorted{};
//     spansort::sort_stream(&stream, by, &sorted, {}, {.memory_limit_bytes = std::uint64_t{2} << 30});
//
// The sort is stable, and takes what arrow_table takes. Batches are joined until they fill a part of memory, sorted,
// and go to temporary files as a sorted run; what fits in memory as a whole goes nowhere. The runs are merged while the
// consumer asks for batches. Dictionaries of batches may differ: the output has one, of all their values; ordered ones
// have to begin with the same values in the same order.
//
// sort_options::memory_limit_bytes is here a ceiling M, of 64 KiB at least, on what the sort holds, half of what is
// free where it is 0. On top of it come a batch of the source and one of the consumer, the dictionaries, 512 KiB a
// thread, and memory that the C library keeps. Rows are copied out of a batch, which is released when it is read. Two
// pools share the memory: rows come into one while those of the other are sorted, written or handed out. A run holds
// M * 7 / 16 bytes of rows at most, the first one twice that, less where rows are short: their numbers and the sort
// take 52 bytes a row. Runs lie in blocks of 64 KiB to 1 MiB, 1/512 of a run, and at least 16 to a run; at most as many
// runs as half of the blocks of one are merged at a time. Where there are more, neighbours are merged into longer ones
// first, and each such pass writes everything once more. Temporary files have no name and are gone with the stream or
// with the process, however it ends. What is read of a run at a time, about M / 4 over their number, gives its space
// back where it is 1 MiB or more and the file system can; where it is less, what all passes write is there at once.
//
// What is kept of each block grows with the data, without a bound: the key of its first row, its place and its
// checksum. D bytes of rows in blocks of B bytes, whose keys take K, need about D / B * (150 + 2 * K) bytes at the
// beginning of the last merge; a row longer than B is a block. M / 8 is set aside for them; what is above comes on top
// of M.
//
// Where columns are strings with offsets of 32 bits, or views, a run is no longer than 2 GiB. The strings of one row
// may take 1 GiB there, and a column's strings in the first rows of all blocks 2 GiB: more can fail, after everything
// is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spansort/arrow.hpp"
#include "spansort/options.hpp"

namespace spansort {

struct table_stream_options {
  /// Folders for what does not fit in memory; several share it evenly. Empty: $TMPDIR, else /tmp.
  std::vector<std::string> temporary_directories = {};
};

/// What sort_stream() read and wrote before it returned.
struct table_stream_report {
  std::uint64_t num_rows = 0;
  std::uint64_t num_runs = 0;  ///< in temporary files, those of all passes; 0: all rows are in memory
  std::uint64_t spilled_bytes = 0;
};

/// Takes `source` over, reads it to its end and releases it, and makes `sorted` a stream of its rows in the order of
/// columns, which its consumer releases. Blocks until the source is read, by the calling thread alone; the rest is done
/// until the consumer has all batches. Beside as many threads as `options` say, one sorts in the background, one writes
/// temporary files and three read them. A process that was forked cannot read the stream of its parent. Progress is
/// told without a fraction, for nobody knows how long a stream is; it can be cancelled until the call returns. Throws
/// as arrow_table() and sort_table(), and invalid_argument for a ceiling that is too low or a null pointer, io_error
/// for temporary files; the source is released then, too. What fails later is told by the stream, by an errno and its
/// text, and ends it.
table_stream_report sort_stream(ArrowArrayStream* source, std::span<const arrow_key> by, ArrowArrayStream* sorted,
                                const table_stream_options& streaming = {}, const sort_options& options = {});

}  // namespace spansort
