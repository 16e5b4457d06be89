// SPDX-License-Identifier: Apache-2.0
// Sorting, checking and generating files: `.npy` by its header, anything else raw little-endian keys, "-" a stream.
//
// A file is .npy when it begins as one; the name .npy without that is an error. An output is .npy when its name says
// so, or when it is a stream or the input itself and the input is .npy. Byte order of .npy keys is kept.
// A .npy array may hold numbers, bool, datetime64 and timedelta64 (NaT last, ascending and descending), strings (S by
// their bytes, U by their code points), bfloat16 of ml_dtypes ('<V2'; '|V2' and u16 where `type` says bf16), and
// structures of these, which are ordered by their fields; all are ordered as NumPy does, and the output has
// the dtype and shape of the input. An array whose dimensions but one are 1 is sorted along that one; others need
// `file_options::array` to say how. Objects, subarrays as keys and complex numbers are refused.
// Output appears whole or not at all: a new file in the same directory, written, synced, renamed over the name, and the
// directory synced, but for what file_options::sync says. Input may be the output, by any name. Links are followed;
// devices, FIFOs and standard output are written directly.
// A new file gets the permissions, access control list, owner, group, label and user attributes of the file that it
// replaces. Where the system does not let it have the group, nobody else gets more permissions than before
// (replacement_note() tells beforehand). In a folder whose sticky bit is set, such as /tmp, an output that belongs to
// another user is refused.
// sort_options::memory_limit_bytes is here a ceiling S on the memory of the whole process, half of what is free where
// it is 0. A file that fits in it together with the sort's workspace is sorted in memory. A larger one is sorted in
// parts: sorted runs in temporary files, then ranges of their merge, each sorted in memory; "auto" devices are then the
// CPU. What fits is read by several threads, and finished keys are written while others are being sorted; GPUs get the
// first keys while the last are being read, and "auto" counts that their start falls into that time. With C the bytes
// of a part, about S / 5 for keys, and B those of a block, 16 KiB to 1 MiB, one merge does for C * C / (2 B) bytes;
// each pass spills the input's size once. Temporary files have no name and are gone when the process ends, however it
// ends. A ceiling below what the program itself takes, some 30 MiB, holds for keys and workspace alone, and only of
// what fits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/check.hpp"
#include "spansort/generate.hpp"
#include "spansort/options.hpp"
#include "spansort/plan.hpp"
#include "spansort/records.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// Options of arrays say what is sorted of a .npy array, and by what.
struct array_options {
  /// Fields that elements of a structured array are ordered by, the first counts most; none: by all of them in their
  /// order, as NumPy.
  std::vector<field_key> fields = {};
  /// The axis along which each row of an array of several dimensions is sorted by itself, as NumPy's; -1 is the last
  /// one. Of numbers, bool and dates; blocks of rows are sorted in memory, so that what one needs must fit there.
  std::optional<int> axis = {};
  /// All elements are sorted as one sequence in C order, and written as an array of one dimension.
  bool flattens = false;
};

/// Called with the path of a temporary file before it gets this name, and with "" when it is gone, so that a program
/// can remove it when a signal ends it. Most file systems need a name for microseconds only. Must not throw.
using temporary_file_callback = std::function<void(const std::string& path)>;

/// Called with keys that have been sorted, all of them, duplicates too, while they are in memory.
using sorted_keys_callback = std::function<void(const_key_span sorted_keys)>;

/// A second file that is sorted along with the keys of a first one: a .npy array of any dtype with a row for each key,
/// or raw bytes, as many for each.
struct value_files {
  std::string input;
  std::string output;
  temporary_file_callback on_temporary = {};  ///< of `output`; that of file_options is of the keys alone
};

struct file_options {
  /// The direction of the sort; of records it turns the direction of every field around where it is descending.
  spansort::direction direction = spansort::direction::ascending;
  /// Fixed-width records in the place of keys; `type` is of no meaning then.
  std::optional<record_format> records = {};
  array_options array = {};
  /// Values that sort_file() sorts along, stable: keys that are equal in value keep the order they come in. A key and
  /// its values have at most most_record_bytes together. No key and no value appears unless both outputs are whole and
  /// on their disks; then they are renamed, first the values, then the keys. A machine that fails, or a process that
  /// ends, between the two calls leaves new values beside old keys.
  std::optional<value_files> values = {};
  /// Folders for what does not fit in memory; several share it evenly. Empty: $TMPDIR, else /tmp.
  std::vector<std::string> temporary_directories = {};
  /// Only so many elements of the sorted whole, from its begin on.
  std::optional<std::uint64_t> head = {};
  /// Type of raw keys; required for raw input. With .npy input it must agree with the header (bf16 is read from u16).
  std::optional<key_type> type = {};
  /// The type of the indices that argsort_file() writes: i64, u64, or i32 and u32 where there are no more
  /// than 2^31 and 2^32 elements.
  key_type index_type = key_type::i64;
  bool unique = false;  ///< keep the first of equal keys only
  bool verify = false;  ///< check order, count and multiset checksum of the result before it appears
  /// The output is on the disk, and its name too, before the call returns. false: the system writes it when it sees
  /// fit, so the call does not wait for the disk. Whatever ends the process, the output still appears whole or not at
  /// all; but when the machine loses power or crashes within the next minute, it may be the old one, missing, or empty
  /// in parts, and if it replaced the input, the keys may be lost. A disk that fails to write is noticed by nobody.
  bool sync = true;
  temporary_file_callback on_temporary = {};
  /// sort_file calls it once, before the output is written. What does not fit in memory is refused then. What it throws
  /// surfaces, and the output is as it was.
  sorted_keys_callback on_sorted = {};
};

/// Counts of one file operation.
struct file_result {
  key_type type = key_type::u8;    ///< of no meaning for records
  std::uint64_t record_bytes = 0;  ///< of an element that is no key but a record or a string; 0: keys
  std::uint64_t num_keys_in = 0;
  std::uint64_t num_keys_out = 0;
  bool verified = false;
  std::uint64_t num_runs = 0;       ///< in temporary files; 0: all was in memory at once
  std::uint64_t spilled_bytes = 0;  ///< written to temporary files
};

/// How a file will be sorted.
struct file_plan {
  std::optional<std::uint64_t> num_elements = {};  ///< nothing: a stream, of which the rest is a guess
  std::uint64_t element_bytes = 0;                 ///< of a key, a key with its index (argsort), a record
  std::uint64_t ceiling_bytes = 0;                 ///< of memory
  std::uint64_t memory_bytes = 0;                  ///< that the process will take, about
  std::uint64_t chunk_elements = 0;                ///< sorted at a time
  std::uint64_t num_runs = 0;                      ///< 0: all in memory, nothing is spilled
  std::uint64_t fan_in = 0;                        ///< runs merged at a time
  unsigned num_merges = 0;                         ///< times that what was spilled is read back
  std::uint64_t block_bytes = 0;                   ///< spilled, checked and read at a time
  std::uint64_t spilled_bytes = 0;                 ///< to temporary files, all passes together
  std::uint64_t temporary_bytes = 0;               ///< that are there at a time, at most
  std::uint64_t output_bytes = 0;                  ///< at most
  std::vector<std::string> folders = {};           ///< of temporary files
  bool keeps_head_only = false;  ///< a small head is kept while the input goes by once: nothing is spilled
};

/// Says what sort_file() would do, from the input's header and size. Reads and writes nothing else. Throws as
/// sort_file() before it begins; free space is looked at where there are runs.
[[nodiscard]] file_plan plan_sort_file(const std::string& input, const std::string& output,
                                       const file_options& file = {}, const sort_options& options = {});
/// Says what argsort_file() would do, as plan_sort_file().
[[nodiscard]] file_plan plan_argsort_file(const std::string& input, const std::string& output,
                                          const file_options& file = {}, const sort_options& options = {});

/// Sorts the keys of `input` into `output`. A .npy output keeps the shape only if one-dimensional; other shapes are
/// refused. Throws bad_input, io_error, out_of_memory, what sort() throws, and internal_error when verification fails;
/// a file `output` is then as it was, unless the io_error says that the new one is in place and only its folder could
/// not be flushed. A stream may have taken a part when writing fails. The report gets the phases "read" and "write"
/// besides those of the sort, with the time that each was at work, and the time of all of it, in which they overlap.
file_result sort_file(const std::string& input, const std::string& output, const file_options& file = {},
                      const sort_options& options = {});

/// Writes the stable order of `input`, of keys or of records, into `output`: 64-bit indices (.npy: dtype '<i8', as
/// NumPy's; raw: 8-byte little-endian), or those of `index_type`. `unique` keeps the index of the first of equal keys.
/// Throws as sort_file(), and invalid_argument where there are more elements than an index can count.
file_result argsort_file(const std::string& input, const std::string& output, const file_options& file = {},
                         const sort_options& options = {});

/// Merges files that are sorted already, keys of one type or records, into `output`; of equal elements those of earlier
/// files come first; keys that are equal in value and differ in bits, -0.0 and NaN, are in the order of their bits, as
/// sort_file() has them, unless a file has them in another one: they then stay in the order of the files, and `output`
/// is no stream. The inputs are regular files; "-", standard input, may be one of them, and is first copied to a
/// temporary file as a whole. Memory and temporary files as sort_file(), though nothing else is spilled as long as the
/// files are no more than the plan's fan-in. Throws bad_input for a file that is not sorted, naming the place, and as
/// sort_file().
file_result merge_files(const std::vector<std::string>& inputs, const std::string& output,
                        const file_options& file = {}, const sort_options& options = {});

/// A share of a file's keys: they are cut into `count` consecutive shares of equal size (± 1), the larger ones first.
struct file_share {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
};

/// Keys of a file, in memory, in native byte order: for all that takes keys of a run-time type. Quantiles of a file are
/// `quantiles(key_file("x.npy").keys(), q)`; summarize(), histogram(), rank_of(), top_k(), top_k_indices() and check()
/// take these keys likewise. Of a file that does not fit in memory, file_statistics.hpp has quantiles, summary,
/// histogram and ranks, check_file() checks it, and sort_file() sorts it, with `head` for its first keys.
class key_file {
 public:
  /// Reads `path`. Throws bad_input naming the file, what was expected and what was found.
  explicit key_file(const std::string& path, std::optional<key_type> type = {});
  /// Reads no more than the share of a regular file. Throws as above, and invalid_argument for streams and for a share
  /// that cannot be.
  key_file(const std::string& path, std::optional<key_type> type, const file_share& share);
  ~key_file();
  key_file(key_file&&) noexcept;
  key_file& operator=(key_file&&) noexcept;
  [[nodiscard]] const_key_span keys() const noexcept;
  /// Returns how many keys the whole file holds.
  [[nodiscard]] std::uint64_t num_keys_in_file() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Explains the plan of a sort of the file's keys as explain_plan() does that of keys in memory, with some megabytes of
/// memory whatever the file's size, for a plan needs counts alone. The file is read once for the first digit, and once
/// more where buckets span devices. The values in these are kept for further digits where an eighth of the free memory,
/// or of options.memory_limit_bytes, is enough for them; else there is a read for each. A regular file. on_progress is
/// told the phase "read" and the fraction of two reads, at which it stays in further ones. Throws as key_file and
/// explain_plan(), and bad_input when the input changes while it is read.
[[nodiscard]] plan_explanation explain_plan_file(const std::string& path, std::optional<key_type> type, direction d,
                                                 const sort_options& options = {});

/// What check_file() found.
struct file_check {
  key_type type = key_type::u8;
  std::string elements = {};  ///< in words: "f32", "datetime64[ns]", "S10", "record of 24 bytes by sym,price:r"
  check_result keys = {};
  std::string disordered = {};      ///< the key at keys.first_disorder as text; "" where all are in order
  std::string left_neighbour = {};  ///< the key before it
};

/// Says of the keys of `path` what check() says of keys in memory, without holding them; is_sorted() of a file is that
/// `keys.first_disorder` has no value. 16 MiB of memory whatever the size, streams too. Order is order in value. Throws
/// as key_file(), also when the input changes while it is read. Arrays of dates, strings and structures are checked,
/// too, and those of several dimensions along an axis, in the order in which sort_file() leaves them; `type` of the
/// result is then of no meaning, and a place in an array is that in memory.
[[nodiscard]] file_check check_file(const std::string& path, std::optional<key_type> type = {},
                                    const check_options& options = {}, const array_options& array = {});

/// Says of the records of a raw file, by their fields, what check_file() says of keys; `type` of the result is of no
/// meaning. Throws invalid_argument as check_record_format(), and bad_input when the size is not a multiple of a
/// record's.
[[nodiscard]] file_check check_records_file(const std::string& path, const record_format& format,
                                            const check_options& options = {});

/// Generates `num_keys` keys into `output`, the bytes of generate(): 16 MiB of memory whatever the number. on_progress
/// is that of sort_options, with the phase "write"; returning false throws `cancelled`. Throws io_error, and
/// invalid_argument for a distribution that cannot be and for more keys than a file can hold. A file `output` is then
/// as it was.
void generate_file(const std::string& output, key_type type, std::uint64_t num_keys, const distribution& d,
                   std::uint64_t seed, const temporary_file_callback& on_temporary = {},
                   const progress_callback& on_progress = {});

/// Writes `num_records` records of generate_records(), 100 bytes each, into `output`. Memory: 7 MiB
/// whatever the number. on_progress as that of generate_file(). Throws io_error, and invalid_argument where the name is
/// that of .npy and for more records than a file can hold; a file `output` is then as it was.
void generate_records_file(const std::string& output, std::uint64_t num_records, std::uint64_t seed,
                           const temporary_file_callback& on_temporary = {}, const progress_callback& on_progress = {});

/// Writes the keys below box.whisker_low and those above box.whisker_high into `output`, all of them, with their own
/// bits and in the order of `keys`: .npy when its name says so, else raw. NaN keys are none of them; nor is any key
/// where the whiskers are NaN: there are none in the file then. Returns how many were written. `box` is what
/// summarize() said of these keys.
/// Two reads on all processors; memory for the outliers. Throws io_error and out_of_memory; the file is then as it was.
std::uint64_t write_outliers(const std::string& output, const_key_span keys, const summary& box,
                             const temporary_file_callback& on_temporary = {});

/// Says what a new file in the place of `output` cannot keep of the old one's owner and group, which only the superuser
/// gives to files freely; empty where all is kept. Throws io_error as the operations here do before they begin.
[[nodiscard]] std::string replacement_note(const std::string& output);

/// Writes `contents` into `path` as all outputs here: whole or not at all; "-" is standard output.
void write_file(const std::string& path, std::string_view contents, const temporary_file_callback& on_temporary = {});

}  // namespace spansort
