// SPDX-License-Identifier: Apache-2.0
#include "files/axis_sort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/available_memory.hpp"
#include "base/test_hooks.hpp"
#include "base/threads.hpp"
#include "files/element_sinks.hpp"
#include "files/external/stage_clock.hpp"
#include "files/index_bytes.hpp"
#include "files/io/key_writer.hpp"
#include "files/note_stage.hpp"
#include "files/row_blocks.hpp"
#include "files/row_checks.hpp"
#include "files/shown_progress.hpp"
#include "report/open_report.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/row_sorter.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// Keys are read, sorted and written by so many bytes at a time, where there is memory for it.
constexpr std::uint64_t usual_block_bytes = std::uint64_t{64} << 20;

void require_rows_alone(const std::string& input, const file_options& file) {
  struct given_option {
    const char* name;
    bool is_given;
  };
  const given_option options[] = {{"unique (-u)", file.unique},
                                  {"head (--head)", file.head.has_value()},
                                  {"on_sorted (--summary)", static_cast<bool>(file.on_sorted)}};
  for (const given_option& option : options) {
    if (!option.is_given) continue;
    throw invalid_argument(
        fmt::format("{}: {} is of one sequence of keys, not of rows along an axis", input, option.name));
  }
}

class axis_job {
 public:
  axis_job(typed_input input, const std::string& input_path, const std::string& output, const file_options& file,
           const sort_options& options, row_outcome outcome)
      : file_(file),
        options_(options),
        wants_order_(outcome == row_outcome::indices),
        name_(input.reader.name()),
        axis_(axis_of(*input.reader.array(), *file.array.axis, name_)),
        num_keys_(input.reader.array()->num_elements),
        type_(input.reader.layout().type),
        sorter_(type_, file.direction, sorting::for_counted_sorts(options)),
        target_(find_output(output)),
        layout_(output_layout(target_, input_path, input.reader.layout())),
        rows_(std::move(input.reader), axis_, choose_block_units()) {
    if (!wants_order_) return;
    require_index_type(file.index_type, axis_.length);
    layout_ = index_layout_of(layout_, file.index_type);
  }

  file_result run() {
    report::open_report open(options_.report, wants_order_ ? "argsort" : "sort");
    require_free_space(target_, file_bytes(layout_, num_keys_));
    const sink_options writing{.is_synced = file_.sync, .on_temporary = file_.on_temporary};
    const auto sink =
        wants_order_ ? make_index_sink(target_, layout_, 0, writing) : make_key_sink(target_, layout_, writing);
    sink->expect(num_keys_);
    base::with_threads(options_.threads, [&] { sort_blocks(*sink); });
    writing_.run([&] {
      sink->finish();
      return 0;
    });
    fill_report(open);
    open.finish();
    return {.type = type_, .num_keys_in = num_keys_, .num_keys_out = num_keys_, .verified = file_.verify};
  }

 private:
  /// Returns the bytes that each element of a block takes.
  [[nodiscard]] std::uint64_t element_bytes() const {
    const std::uint64_t copies = axis_.inner == 1 ? 1 : 2;
    const std::uint64_t key_bytes = size_bytes(type_);
    return copies * key_bytes + (wants_order_ ? copies * index_bytes : 0) +
           (file_.verify && wants_order_ ? key_bytes : 0);
  }
  [[nodiscard]] std::uint64_t memory_bytes(std::uint64_t block_units) const {
    return block_units * axis_.unit_elements() * element_bytes() +
           sorter_.workspace_bytes(block_units * axis_.inner, axis_.length, wants_order_);
  }

  /// Throws out_of_memory where what has to be sorted together does not fit.
  [[nodiscard]] std::uint64_t choose_block_units() const {
    const std::uint64_t ceiling =
        options_.memory_limit_bytes != 0 ? options_.memory_limit_bytes : base::available_memory_bytes() / 2;
    if (const std::uint64_t needed = memory_bytes(1); needed > ceiling) {
      throw out_of_memory(
          fmt::format(
              "{}: {} elements have to be in memory together along this axis, which takes {} bytes; the ceiling "
              "(-S) is {}; raise it, or save the transposed array, whose rows are neighbours in the file",
              name_, axis_.unit_elements(), needed, ceiling),
          needed, ceiling);
    }
    const std::uint64_t own = sorting::resident_bytes_with_nothing_kept() + memory_bytes(0);
    const std::uint64_t for_block = std::min(usual_block_bytes, ceiling > own ? (ceiling - own) / 2 : 0);
    const std::uint64_t unit_bytes = std::max<std::uint64_t>(axis_.unit_elements() * element_bytes(), 1);
    return std::clamp<std::uint64_t>(for_block / unit_bytes, 1, std::max<std::uint64_t>(axis_.outer, 1));
  }

  void sort_blocks(external::element_sink& sink) {
    std::uint64_t num_done = 0;
    while (true) {
      row_block block;
      reading_.run([&] {
        block = rows_.next();
        return block.num_rows * axis_.length;
      });
      if (block.is_empty()) return;
      tell("sort", num_done);
      std::byte* sorted = nullptr;
      const std::uint64_t count = block.num_rows * axis_.length;
      sorting_.run([&] {
        sorted = wants_order_ ? ordered(block, num_done) : sort(block, num_done);
        return count;
      });
      writing_.run([&] {
        sink.write(sorted, count);
        return count;
      });
      num_done += count;
    }
  }

  std::byte* sort(const row_block& block, std::uint64_t first) {
    const const_key_span keys(type_, block.keys, block.num_rows * axis_.length);
    std::vector<multiset_checksum> before;
    if (file_.verify) before = checksums_of_rows(keys, axis_.length);
    sorter_.sort(block.keys, block.num_rows, axis_.length);
    if (base::current_test_hooks().corrupt_result) block.keys[0] ^= std::byte{1};
    if (file_.verify && checksums_of_rows(keys, axis_.length) != before) fail("is not made of the input's keys", first);
    if (file_.verify && first_row_disorder(keys, axis_.length, file_.direction, false)) fail("is out of order", first);
    return rows_.in_array_order(block, block.keys, size_bytes(type_));
  }

  std::byte* ordered(const row_block& block, std::uint64_t first) {
    const std::uint64_t count = block.num_rows * axis_.length;
    indices_.make_room(count * index_bytes);
    auto* const indices = reinterpret_cast<std::uint64_t*>(indices_.data());
    std::vector<std::byte> keys;
    if (file_.verify) keys.assign(block.keys, block.keys + count * size_bytes(type_));
    sorter_.argsort(block.keys, block.num_rows, axis_.length, indices);
    if (base::current_test_hooks().corrupt_result) indices[0] ^= 1;
    if (file_.verify && !is_order_of_rows({type_, keys.data(), count}, axis_.length, file_.direction, indices)) {
      fail("has a wrong order", first);
    }
    return rows_.in_array_order(block, indices_.data(), index_bytes);
  }

  [[noreturn]] void fail(const char* what, std::uint64_t first) const {
    throw internal_error(
        fmt::format("{}: verification failed: a row from element {} on {}; the output was withheld; please report this",
                    name_, first, what));
  }

  void tell(std::string_view phase, std::uint64_t num_done) const {
    const double fraction = num_keys_ == 0 ? 0 : static_cast<double>(num_done) / static_cast<double>(num_keys_);
    if (options_.on_progress) files::tell(options_.on_progress, phase, fraction);
  }

  void fill_report(report::open_report& open) const {
    sort_report* const report = options_.report;
    if (report == nullptr) return;
    note_stage(open, {"read", reading_}, size_bytes(type_));
    note_stage(open, {"sort rows", sorting_}, 2 * size_bytes(type_));
    note_stage(open, {"write", writing_}, size_bytes(layout_.type));
    report->key_type = std::string(name(type_));
    report->algorithm = "rows";
    report->picked = fmt::format("{} rows of {} keys, each by itself", axis_.outer * axis_.inner, axis_.length);
    report->input_shape = "unknown";
    report->descending = file_.direction == direction::descending;
    report->num_keys = num_keys_;
    report->num_passes = 1;
  }

  const file_options& file_;
  const sort_options& options_;
  bool wants_order_;
  std::string name_;
  array_axis axis_;
  std::uint64_t num_keys_;
  key_type type_;
  sorting::row_sorter sorter_;
  output_target target_;
  key_layout layout_;
  row_blocks rows_;
  base::byte_buffer indices_;
  external::stage_clock reading_;
  external::stage_clock sorting_;
  external::stage_clock writing_;
};

}  // namespace

file_result sort_along_axis(typed_input input, const std::string& input_path, const std::string& output,
                            const file_options& file, const sort_options& options, row_outcome outcome) {
  require_rows_alone(input_path, file);
  return axis_job(std::move(input), input_path, output, file, options, outcome).run();
}

}  // namespace spansort::files
