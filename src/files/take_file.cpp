// SPDX-License-Identifier: Apache-2.0
// take_file(): elements of one file in the order of another, held in memory or read part by part in their own order.
#include "spansort/take_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "base/available_memory.hpp"
#include "base/byte_buffer.hpp"
#include "base/threads.hpp"
#include "files/index_source.hpp"
#include "files/io/atomic_file.hpp"
#include "files/io/file_descriptor.hpp"
#include "files/io/key_writer.hpp"
#include "files/page_cache.hpp"
#include "files/row_file.hpp"
#include "files/shown_progress.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/take.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"

namespace spansort {
namespace {

/// The process grows by these bytes besides what is planned: code that is paged in, stacks, the allocator's own, and
/// what threads keep for the next small sort.
constexpr std::uint64_t unplanned_bytes = std::uint64_t{16} << 20;
/// Bytes of elements that are gathered, and of indices that are read, at a time.
constexpr std::uint64_t taken_piece_bytes = std::uint64_t{8} << 20;
/// Elements of a file that lie no further apart are read together.
constexpr std::uint64_t widest_gap_bytes = std::uint64_t{16} << 10;
constexpr std::uint64_t window_bytes = std::uint64_t{1} << 20;
/// An index takes these bytes while a part of the order is sorted: itself, its position, and both again.
constexpr std::uint64_t bytes_of_sorted_index = 48;
/// The share of the whole that the reading of data which is held is shown as.
constexpr double read_share = 0.5;

/// Gives rows of the data in the order of indices that are good.
class row_source {
 public:
  row_source() = default;
  virtual ~row_source() = default;
  row_source(const row_source&) = delete;
  row_source& operator=(const row_source&) = delete;
  virtual void take(const_key_span indices, std::byte* to) = 0;
  virtual void finish() {}
};

class held_rows final : public row_source {
 public:
  held_rows(files::row_file& file, files::shown_progress& shown)
      : shown_(shown), rows_(file.read_all(shown.transfer())), row_bytes_(file.row_bytes()) {}
  void take(const_key_span indices, std::byte* to) override {
    sorting::gather_elements(rows_.data(), row_bytes_, indices, to);
    shown_.add(indices.num_keys * row_bytes_);
  }

 private:
  files::shown_progress& shown_;
  base::byte_buffer rows_;
  std::uint64_t row_bytes_;
};

/// Rows that stay in the file: indices are sorted with the places that they stand for, and the file is read in their
/// order.
class swept_rows final : public row_source {
 public:
  swept_rows(const std::string& path, const files::row_file& file, files::shown_progress& shown)
      : shown_(shown),
        name_(file.name()),
        row_bytes_(file.row_bytes()),
        first_byte_(file.first_byte()),
        file_(files::open_file(path.c_str(), O_RDONLY | O_NOCTTY)) {
    if (!file_.is_open()) throw_unreadable(errno);
    status_ = status();
  }

  void take(const_key_span indices, std::byte* to) override {
    const std::uint64_t count = indices.num_keys;
    std::vector<std::uint64_t> rows(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t width = size_bytes(indices.type);
      std::memcpy(&rows[i], static_cast<const char*>(indices.data) + i * width, width);
    }
    std::vector<std::uint64_t> places(count);
    std::iota(places.begin(), places.end(), std::uint64_t{0});
    const auto threads = static_cast<unsigned>(tbb::this_task_arena::max_concurrency());
    sort_options sorting{.devices = "cpu", .threads = threads};
    if (shown_.is_wanted()) {
      sorting.on_progress = [this](const progress&) {
        shown_.add(0);  // where it stands, for the sort is a small part of the whole
        return true;
      };
    }
    sort_pairs(rows, places, sorting);
    constexpr std::size_t grain = 4096;
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, grain),
        [&](const tbb::blocked_range<std::size_t>& part) {
          sweep(std::span(rows).subspan(part.begin(), part.size()),
                std::span(places).subspan(part.begin(), part.size()), to);
          shown_.add(part.size() * row_bytes_);
        },
        own);
  }

  void finish() override {
    const struct stat now = status();
    if (!files::is_unchanged(status_, now)) throw bad_input(fmt::format("{}: input changed while it was read", name_));
  }

 private:
  /// `rows` ascend; each goes to its place.
  void sweep(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> places, std::byte* to) const {
    std::vector<std::byte> window;
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::uint64_t first = rows[begin] * row_bytes_;
      std::uint64_t last = first + row_bytes_;
      std::size_t end = begin + 1;
      for (; end < rows.size(); ++end) {
        const std::uint64_t next = rows[end] * row_bytes_;
        if (next > last + widest_gap_bytes || next + row_bytes_ - first > std::max(window_bytes, row_bytes_)) break;
        last = next + row_bytes_;
      }
      window.resize(last - first);
      read(first, window);
      for (std::size_t i = begin; i < end; ++i) {
        std::memcpy(to + places[i] * row_bytes_, window.data() + (rows[i] * row_bytes_ - first), row_bytes_);
      }
      begin = end;
    }
  }

  void read(std::uint64_t first, std::span<std::byte> into) const {
    const files::transfer_result done = files::read_fully_at(file_.get(), into, first_byte_ + first);
    if (done.error_code != 0) throw_unreadable(done.error_code);
    if (done.num_bytes != into.size()) throw bad_input(fmt::format("{}: input changed while it was read", name_));
  }

  [[nodiscard]] struct stat status() const {
    struct stat found {};
    if (::fstat(file_.get(), &found) != 0) throw_unreadable(errno);
    return found;
  }
  [[noreturn]] void throw_unreadable(int code) const {
    throw io_error(fmt::format("cannot read {}: {}", name_, files::error_text(code)), code);
  }

  files::shown_progress& shown_;
  std::string name_;
  std::uint64_t row_bytes_;
  std::uint64_t first_byte_;
  files::file_descriptor file_;
  struct stat status_ {};
};

/// Returns what comes before the rows in the output.
std::string header_of_output(const files::row_file& data, const files::output_target& target,
                             const std::string& data_path, std::uint64_t num_taken) {
  const files::file_format format =
      files::output_layout(target, data_path, {.format = data.format(), .type = key_type::u8}).format;
  if (format == files::file_format::npy) {
    std::string header = data.npy_header_for(num_taken);
    if (header.empty()) {
      throw invalid_argument(
          fmt::format("{}: records are raw bytes without a dtype; an output without .npy is expected", target.name));
    }
    return header;
  }
  if (!data.is_native()) {
    throw invalid_argument(
        fmt::format("{}: {} is big-endian, which a raw file cannot say; name it .npy", target.name, data.name()));
  }
  return "";
}

struct memory_plan {
  bool holds_data = true;
  std::uint64_t piece_rows = 1;  ///< taken at a time
};

memory_plan plan_memory(const files::row_file& data, const take_file_options& options) {
  const std::uint64_t own = sorting::resident_bytes_with_nothing_kept() + unplanned_bytes;
  const std::uint64_t ceiling =
      options.memory_limit_bytes != 0 ? options.memory_limit_bytes : own + base::available_memory_bytes() / 2;
  const std::uint64_t free = ceiling > own ? ceiling - own : 0;
  const std::uint64_t row_bytes = data.row_bytes();
  const std::uint64_t small_piece =
      std::max<std::uint64_t>(taken_piece_bytes / std::max<std::uint64_t>(row_bytes, 8), 1);
  const std::uint64_t for_piece = small_piece * (row_bytes + sizeof(std::uint64_t));
  if (!data.num_rows() || (*data.num_rows() <= free / row_bytes && *data.num_rows() * row_bytes + for_piece <= free)) {
    return {true, small_piece};
  }
  const std::uint64_t windows = base::resolve_threads(options.threads) * std::max(window_bytes, row_bytes);
  const std::uint64_t needed = windows + row_bytes + bytes_of_sorted_index;
  if (free < needed) {
    throw out_of_memory(fmt::format("{}: {} bytes of memory (-S) are too few to take its elements part by part; {} "
                                    "would do",
                                    data.name(), ceiling, needed + own),
                        needed + own, ceiling);
  }
  return {false, (free - windows) / (row_bytes + bytes_of_sorted_index)};
}

void write_taken(files::index_source& order, row_source& rows, std::uint64_t num_rows, std::uint64_t row_bytes,
                 std::uint64_t piece_rows, files::atomic_file& file, files::shown_progress& shown) {
  std::uint64_t num_written = 0;
  const auto show = [&](std::uint64_t done_bytes, std::uint64_t) {
    shown.add(done_bytes - std::exchange(num_written, done_bytes));
  };
  base::byte_buffer taken(std::min(piece_rows, order.count()) * row_bytes);
  for (std::uint64_t first = 0; first < order.count();) {
    const const_key_span indices = order.next(std::min(piece_rows, order.count() - first));
    if (indices.num_keys == 0) break;
    if (const auto bad = sorting::first_bad_index(indices, num_rows)) {
      throw bad_input(fmt::format("{}: {}", order.name(), sorting::bad_index_text(indices, *bad, first, num_rows)));
    }
    rows.take(indices, taken.data());
    file.write(taken.bytes().first(indices.num_keys * row_bytes), show);
    first += indices.num_keys;
  }
}

}  // namespace

take_file_result take_file(const std::string& data, const std::string& order, const std::string& output,
                           const take_file_options& options) {
  sorting::require_index_type(options.index_type);
  if (data == "-" && order == "-") {
    throw invalid_argument("data and order cannot both be standard input; name a file for one of them");
  }
  files::row_file file(data, options.type, options.record_bytes);
  files::index_source indices(order, options.index_type);
  const files::output_target target = files::find_output(output);
  const std::string header = header_of_output(file, target, data, indices.count());
  const std::uint64_t output_bytes = header.size() + indices.count() * file.row_bytes();
  files::require_free_space(target, output_bytes);
  const memory_plan plan = plan_memory(file, options);
  files::shown_progress shown(options.on_progress);
  return base::with_threads(options.threads, [&] {
    std::unique_ptr<row_source> rows;
    if (plan.holds_data) {
      shown.begin("read", 0, read_share);
      rows = std::make_unique<held_rows>(file, shown);
    } else {
      rows = std::make_unique<swept_rows>(data, file, shown);
    }
    shown.begin("take", plan.holds_data ? read_share : 0, 1, 2 * output_bytes);  // taken, and written
    files::atomic_file written(target, output_bytes, options.on_temporary);
    if (!options.sync) written.leave_unsynced();
    if (!files::fits_page_cache(output_bytes)) written.drop_written_pages();
    written.write(std::as_bytes(std::span(header)));
    write_taken(indices, *rows, *file.num_rows(), file.row_bytes(), plan.piece_rows, written, shown);
    rows->finish();
    written.commit();
    return take_file_result{.num_elements = *file.num_rows(),
                            .element_bytes = file.row_bytes(),
                            .num_taken = indices.count(),
                            .was_held = plan.holds_data};
  });
}

}  // namespace spansort
