// SPDX-License-Identifier: Apache-2.0
#include "spansort/table_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/available_memory.hpp"
#include "base/threads.hpp"
#include "spansort/errors.hpp"
#include "table/external/background_work.hpp"
#include "table/external/row_parts.hpp"
#include "table/external/row_pool.hpp"
#include "table/external/run_merge.hpp"
#include "table/external/run_writer.hpp"

namespace spansort {
namespace {

using table::arrow_rows;

constexpr std::uint64_t least_memory_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t scratch_bytes_of_a_thread = std::uint64_t{512} << 10;
constexpr std::uint64_t most_batch_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t most_transfer_bytes = std::uint64_t{2} << 20;  ///< written or read at a time

std::uint64_t ceiling_of(const sort_options& options) {
  if (options.memory_limit_bytes == 0) return std::max(base::available_memory_bytes() / 2, least_memory_bytes);
  if (options.memory_limit_bytes >= least_memory_bytes) return options.memory_limit_bytes;
  throw invalid_argument(fmt::format("sort_stream: a ceiling of {} bytes on memory is too low: {} are the least",
                                     options.memory_limit_bytes, least_memory_bytes));
}

/// An eighth is for the keys of blocks, for what is being written, and for batches of the consumer.
std::uint64_t memory_for_rows(std::uint64_t ceiling_bytes, const sort_options& options) {
  const std::uint64_t scratch = base::resolve_threads(options.threads) * scratch_bytes_of_a_thread;
  return ceiling_bytes - ceiling_bytes / 8 - std::min(ceiling_bytes / 8, scratch);
}

/// Strings that are joined have to be counted by offsets of 32 bits.
bool has_short_offsets(const ArrowSchema& schema) {
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const column_kind kind = table::layout_of(*schema.children[i]).kind;
    if (kind == column_kind::bytes32 || kind == column_kind::byte_views) return true;
  }
  return false;
}

/// Tells a sort in memory what the caller of the whole sort wants, until the call has returned.
class watch {
 public:
  explicit watch(progress_callback callback) : callback_(std::move(callback)) {}
  bool ask() const { return !callback_ || callback_({"sort runs", 0}); }
  void require() const {
    if (!ask()) throw cancelled("sort_stream: cancelled");
  }
  [[nodiscard]] std::function<void()> question() const {
    return [this] { require(); };
  }
  [[nodiscard]] progress_callback callback() const {
    if (!callback_) return {};
    return [this](const progress&) { return ask(); };
  }

 private:
  progress_callback callback_;
};

/// A sort, which is the source of its batches once it has read its input.
class stream_sort final : public table::batch_source {
 public:
  stream_sort(const table::arrow_reader& reader, std::span<const arrow_key> by, const table_stream_options& streaming,
              const sort_options& options)
      : folders_(streaming.temporary_directories),
        parts_{.schema = reader.schema(),
               .order = table::row_order(*reader.schema(), by),
               .dictionaries = table::table_dictionaries(*reader.schema()),
               .options = options,
               .memory_bytes = memory_for_rows(ceiling_of(options), options)},
        pools_{table::row_pool(reader.schema()), table::row_pool(reader.schema())} {
    parts_.options.memory_limit_bytes = 0;  // what it limits is counted here
    parts_.options.on_progress = {};
    parts_.options.report = nullptr;
    parts_.batch_bytes = std::min(parts_.memory_bytes / 16, most_batch_bytes);
    static_cast<void>(table::no_rows(parts_.schema));  // refuses columns before any is read
    parts_.most_bytes = std::numeric_limits<std::uint64_t>::max() / 4;
    if (has_short_offsets(*parts_.schema)) parts_.most_bytes = std::numeric_limits<std::int32_t>::max();
  }

  void read(table::arrow_reader& reader, const progress_callback& callback) {
    const watch watching(callback);
    arrow_rows batch;
    for (watching.require(); reader.read(batch); watching.require()) {
      report_.num_rows += batch.num_rows;
      while (batch.num_rows != 0) add_part_of(batch, watching);
    }
    batch = {};
    if (!spill_) {
      memory_ = sorted(filled(), watching.callback());
    } else {
      if (filled().num_rows() != 0) spill(watching);
      writer_.wait(watching.question());
      for (table::row_pool& pool : pools_) pool.release();
      merge_early(watching);
      merge_.emplace(parts_, *spill_, std::exchange(runs_, {}));
    }
    if (spill_) report_.spilled_bytes = spill_->bytes_written();
  }

  [[nodiscard]] const table_stream_report& report() const noexcept { return report_; }
  [[nodiscard]] std::shared_ptr<const ArrowSchema> schema() const override { return parts_.schema; }
  [[nodiscard]] bool next(arrow_rows& batch) override {
    return base::with_threads(parts_.options.threads, [&] {
      if (merge_) return merge_->next(parts_.batch_bytes, batch);
      if (memory_.is_at_end()) {
        memory_ = {};
        filled().release();
        return false;
      }
      batch = memory_.take(parts_.batch_bytes);
      return true;
    });
  }

 private:
  /// The pool that rows of the source come into.
  [[nodiscard]] table::row_pool& filled() noexcept { return pools_[filled_pool_]; }

  /// Returns whether the pool that is filled has room for more; it has all memory as long as nothing is written.
  [[nodiscard]] bool has_room_for(std::uint64_t bytes, std::uint64_t num_rows) const {
    bytes += filled_bytes_;
    num_rows += pools_[filled_pool_].num_rows();
    return spill_ ? parts_.has_room_for(bytes, num_rows) : parts_.has_room_for_all(bytes, num_rows);
  }

  /// Takes as much of a batch as there is room for, or makes room where there is little.
  void add_part_of(arrow_rows& batch, const watch& watching) {
    const std::uint64_t num_filled = filled().num_rows();
    const bool is_nearly_full = !has_room_for(filled_bytes_ / 4, num_filled / 4);
    arrow_rows part = batch;
    std::uint64_t bytes = table::bytes_of(part);
    while (part.num_rows > 1 && !is_nearly_full && !has_room_for(bytes, part.num_rows)) {
      part = table::slice(batch, 0, (part.num_rows + 1) / 2);
      bytes = table::bytes_of(part);
    }
    if (num_filled != 0 && !has_room_for(bytes, part.num_rows)) {
      spill(watching);
      return;
    }
    const std::uint64_t count = part.num_rows;
    batch = count == batch.num_rows ? arrow_rows{} : table::slice(batch, count, batch.num_rows - count);
    parts_.dictionaries.adopt(part);
    filled().append(part);
    filled_bytes_ += bytes;
  }

  /// Returns the rows of a pool, in order.
  [[nodiscard]] table::ordered_rows sorted(const table::row_pool& pool, progress_callback callback) const {
    arrow_rows rows = pool.rows();
    if (rows.num_rows == 0) return {};
    sort_options options = parts_.options;
    options.on_progress = std::move(callback);
    std::vector<std::uint64_t> order = parts_.order.argsort(parts_.order.keys_of(rows), options);
    return {std::move(rows), std::move(order)};
  }

  /// Has the rows of the pool sorted and written while the next ones come into the other.
  void spill(const watch& watching) {
    writer_.wait(watching.question());
    ++report_.num_runs;
    if (!spill_) {
      spill_first(watching);
    } else {
      write_in_background([this, pool = filled_pool_] {
        write_run(sorted(pools_[pool], [this](const progress&) { return !writer_.must_end(); }));
        pools_[pool].clear();
      });
    }
    filled_pool_ = 1 - filled_pool_;
    filled_bytes_ = 0;
  }

  /// The first run has all of the memory. Once it is sorted there is room for the next one beside it, unless rows are
  /// long.
  void spill_first(const watch& watching) {
    const std::uint64_t num_rows = filled().num_rows();
    const std::uint64_t next_bytes = parts_.run_bytes(filled_bytes_, num_rows);
    open_spill(next_bytes);
    first_ = sorted(filled(), watching.callback());
    write_in_background([this, pool = filled_pool_] {
      write_run(std::exchange(first_, {}));
      pools_[pool].release();
    });
    const bool has_room = filled_bytes_ + num_rows * sizeof(std::uint64_t) + next_bytes <= parts_.memory_bytes;
    if (!has_room) writer_.wait(watching.question());
  }

  template <class Work>
  void write_in_background(Work work) {
    writer_.start([this, work] { base::with_threads(parts_.options.threads, work); });
  }

  /// Runs while `writer_` does, which ends it early.
  void write_run(table::ordered_rows rows) {
    table::run_writer writer(parts_.order, *spill_);
    while (!rows.is_at_end()) {
      if (writer_.must_end()) throw cancelled("sort_stream: cancelled");
      writer.add(rows.take(block_bytes_));
    }
    runs_.push_back(writer.finish());
  }

  /// Blocks are parts of a run that fills the room. As many runs are merged at a time as leave half of the room to
  /// blocks that are read whole; the most bytes have room for a row of half of them beside.
  void open_spill(std::uint64_t run_bytes) {
    constexpr std::uint64_t least_block_bytes = std::uint64_t{64} << 10;
    constexpr std::uint64_t most_block_bytes = std::uint64_t{1} << 20;
    constexpr std::uint64_t least_run_blocks = 16;
    constexpr std::uint64_t good_run_blocks = 512;
    block_bytes_ = std::clamp(run_bytes / good_run_blocks, least_block_bytes, most_block_bytes);
    block_bytes_ = std::max<std::uint64_t>(std::min(block_bytes_, run_bytes / least_run_blocks), 1);
    fan_in_ = std::min(run_bytes / 2, parts_.most_bytes / 4) / block_bytes_;
    fan_in_ = std::max<std::uint64_t>(fan_in_, 2);
    const std::uint64_t transfer_bytes = std::min(parts_.memory_bytes / 64, most_transfer_bytes);
    spill_.emplace(folders_, std::max(transfer_bytes, block_bytes_));
  }

  /// Merges neighbours until the rest can be merged at once.
  void merge_early(const watch& watching) {
    while (runs_.size() > fan_in_) {
      std::vector<table::spilled_run> longer;
      for (std::size_t begin = 0; begin < runs_.size(); begin += fan_in_) {
        const std::size_t end = std::min<std::size_t>(begin + fan_in_, runs_.size());
        std::vector<table::spilled_run> neighbours(
            std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(begin)),
            std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(end)));
        table::run_merge merge(parts_, *spill_, std::move(neighbours));
        table::run_writer writer(parts_.order, *spill_);
        const std::function<void()> ask = watching.question();
        for (arrow_rows rows; merge.next(block_bytes_, rows, ask); watching.require()) writer.add(rows);
        longer.push_back(writer.finish());
        ++report_.num_runs;
      }
      runs_ = std::move(longer);
    }
  }

  std::vector<std::string> folders_;
  table::stream_sort_parts parts_;
  table::row_pool pools_[2];
  std::size_t filled_pool_ = 0;
  std::uint64_t filled_bytes_ = 0;
  table::ordered_rows first_;  ///< run, in its order, until it is written
  std::optional<table::table_spill> spill_;
  std::uint64_t block_bytes_ = 0;
  std::uint64_t fan_in_ = 0;
  std::vector<table::spilled_run> runs_;
  table_stream_report report_;
  // Where the batches come from in the end: one of them.
  table::ordered_rows memory_;
  std::optional<table::run_merge> merge_;
  table::background_work writer_;  ///< of runs; it ends before what it uses
};

}  // namespace

table_stream_report sort_stream(ArrowArrayStream* source, std::span<const arrow_key> by, ArrowArrayStream* sorted,
                                const table_stream_options& streaming, const sort_options& options) {
  table::arrow_reader reader(source);  // releases the source, whatever comes
  if (sorted == nullptr) throw invalid_argument("sort_stream: the stream to fill is a null pointer");
  auto sort = std::make_unique<stream_sort>(reader, by, streaming, options);
  base::with_threads(options.threads, [&] { sort->read(reader, options.on_progress); });
  const table_stream_report report = sort->report();
  table::export_stream(std::move(sort), sorted);
  return report;
}

}  // namespace spansort
