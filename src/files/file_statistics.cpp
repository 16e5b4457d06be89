// SPDX-License-Identifier: Apache-2.0
// file_statistics: keys of a file that are held in memory where they fit, and read in blocks where they do not.
#include "spansort/file_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/available_memory.hpp"
#include "base/threads.hpp"
#include "files/file_blocks.hpp"
#include "files/io/atomic_file.hpp"
#include "files/io/key_writer.hpp"
#include "files/outliers.hpp"
#include "files/page_cache.hpp"
#include "files/shown_progress.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/open_devices.hpp"
#include "spansort/errors.hpp"
#include "statistics/box.hpp"
#include "statistics/count_blocks.hpp"
#include "statistics/quantile_position.hpp"
#include "statistics/sorted_keys.hpp"
#include "statistics/statistics_of.hpp"
#include "statistics/streamed_keys.hpp"

namespace spansort {
namespace {

/// The process grows by these bytes besides what is planned: code that is paged in, stacks, the allocator's own.
constexpr std::uint64_t unplanned_bytes = std::uint64_t{8} << 20;

bool is_regular(const std::string& path) {
  std::error_code unknown;
  return path != "-" && std::filesystem::is_regular_file(path, unknown);
}

/// Returns whether the keys, and what a selection collects of them, fit below the ceiling.
bool fits_in_memory(std::uint64_t num_bytes, std::uint64_t limit_bytes) {
  const std::uint64_t needed = num_bytes + num_bytes / 4 * 3 + unplanned_bytes;
  if (limit_bytes == 0) return needed <= base::available_memory_bytes();
  return needed + sorting::resident_bytes_with_nothing_kept() <= limit_bytes;
}

/// Returns the memory that reading in blocks may take.
std::uint64_t memory_for_blocks(std::uint64_t limit_bytes) {
  if (limit_bytes == 0) return base::available_memory_bytes() / 2;
  const std::uint64_t own = sorting::resident_bytes_with_nothing_kept() + unplanned_bytes;
  return limit_bytes > own ? limit_bytes - own : 0;
}

/// Returns as many threads as a half of the memory is enough for.
unsigned threads_within(std::uint64_t memory_bytes, unsigned key_bytes, unsigned threads) {
  while (threads > 1 && statistics::memory_of_read(key_bytes, threads, 0) > memory_bytes / 2) threads /= 2;
  return threads;
}

void require_q(std::span<const double> q) {
  for (const double each : q) static_cast<void>(statistics::position_of(1, each, quantile_method::linear));
}

}  // namespace

struct file_statistics::state {
  state(const std::string& path, const file_statistics_options& options) : shown(options.on_progress) {
    const unsigned wanted_threads = base::resolve_threads(options.threads);
    if (is_regular(path)) {
      const files::key_reader reader = files::key_reader::open_keys(path, options.type);
      const std::uint64_t width = size_bytes(reader.layout().type);
      if (reader.num_keys() && !fits_in_memory(*reader.num_keys() * width, options.memory_limit_bytes)) {
        blocks = files::open_key_blocks(path, reader, [this](std::uint64_t num_read) { shown.add(num_read); });
        open_blocks(reader.name(), options.memory_limit_bytes, wanted_threads);
        return;
      }
    }
    shown.begin("read", 0, 1);
    held = files::key_reader::open_keys(path, options.type).read({}, shown.transfer());
    threads = wanted_threads;
  }

  void open_blocks(const std::string& name, std::uint64_t limit_bytes, unsigned wanted_threads) {
    const std::uint64_t memory_bytes = memory_for_blocks(limit_bytes);
    threads = threads_within(memory_bytes, static_cast<unsigned>(size_bytes(blocks->type())), wanted_threads);
    try {
      streamed = std::make_unique<statistics::streamed_keys>(*blocks, memory_bytes, threads);
    } catch (const out_of_memory& failure) {
      const std::uint64_t needed =
          failure.needed_bytes() + sorting::resident_bytes_with_nothing_kept() + unplanned_bytes;
      throw out_of_memory(fmt::format("{}: {} bytes of memory (-S) are too few to read it in blocks; {} would do", name,
                                      limit_bytes, needed),
                          needed, limit_bytes);
    }
  }

  [[nodiscard]] const_key_span held_keys() const { return std::as_const(*held).span(); }

  /// Blocks are read by the processors.
  void require_host(const device_list& devices) const {
    const sorting::device_set list = sorting::resolve_devices(devices);
    if (list.gpus.empty()) return;
    const std::uint64_t needed = blocks->num_keys() * size_bytes(blocks->type());
    throw out_of_memory(fmt::format("order statistics on '{}': {} bytes of keys do not fit in memory; 'cpu' reads them "
                                    "in blocks",
                                    to_string(devices), needed),
                        needed, base::available_memory_bytes());
  }

  /// Returns the keys as blocks show them, or, of keys in order, as they stand; a few of these are read.
  [[nodiscard]] const statistics::ordered_keys& look(key_order order) {
    if (order == key_order::unknown) return *streamed;
    sorted = std::make_unique<statistics::sorted_keys>(
        statistics::sorted_source{
            .type = blocks->type(),
            .num_keys = blocks->num_keys(),
            .is_descending = order == key_order::descending,
            .read = [this](std::uint64_t first, std::uint64_t count, void* to) { blocks->read(first, count, to); },
            .mean = [this] { return streamed->mean(); }},
        false);
    return *sorted;
  }

  /// Calls f, which may read the blocks.
  template <class F>
  auto ask(const F& f) -> decltype(f()) {
    shown.begin("read", 0, 1, streamed->expected_reads() * blocks->num_keys());
    return base::with_threads(threads, f);
  }

  files::shown_progress shown;
  std::optional<files::loaded_keys> held;  ///< nothing: blocks and what is known of them
  std::unique_ptr<statistics::key_blocks> blocks;
  std::unique_ptr<statistics::streamed_keys> streamed;
  std::unique_ptr<statistics::sorted_keys> sorted;
  unsigned threads = 1;
};

file_statistics::file_statistics(const std::string& path, const file_statistics_options& options)
    : state_(std::make_unique<state>(path, options)) {}

file_statistics::~file_statistics() = default;
file_statistics::file_statistics(file_statistics&&) noexcept = default;
file_statistics& file_statistics::operator=(file_statistics&&) noexcept = default;

key_type file_statistics::type() const noexcept {
  return is_held() ? state_->held_keys().type : state_->blocks->type();
}

std::uint64_t file_statistics::num_keys() const noexcept {
  return is_held() ? state_->held->num_keys : state_->blocks->num_keys();
}

bool file_statistics::is_held() const noexcept { return state_->held.has_value(); }

unsigned file_statistics::num_reads() const noexcept { return is_held() ? 1 : state_->streamed->num_reads(); }

void file_statistics::expect_quantiles(std::span<const double> q) {
  require_q(q);
  if (!is_held()) state_->streamed->expect_quantiles(q);
}

void file_statistics::prepare_edges(std::span<const double> edges) {
  if (!is_held()) state_->ask([&] { state_->streamed->prepare_edges(edges); });
}

std::vector<double> file_statistics::quantiles(std::span<const double> q, const quantile_options& options) {
  if (is_held()) return spansort::quantiles(state_->held_keys(), q, options);
  state_->require_host(options.devices);
  for (const double each : q) static_cast<void>(statistics::position_of(1, each, options.method));
  state_->streamed->expect_quantiles(q);
  return state_->ask([&] { return statistics::quantiles_of(state_->look(options.order), q, options); });
}

summary file_statistics::summarize(const summary_options& options) {
  if (is_held()) return spansort::summarize(state_->held_keys(), options);
  statistics::require_valid(options.whiskers);
  state_->require_host(options.devices);
  state_->streamed->expect_summary(options);
  return state_->ask([&] { return statistics::summary_of(state_->look(options.order), options); });
}

std::vector<std::uint64_t> file_statistics::histogram(std::span<const double> edges, const count_options& options) {
  if (is_held()) return spansort::histogram(state_->held_keys(), edges, options);
  statistics::require_edges(edges);
  state_->require_host(options.devices);
  return state_->ask([&] {
    if (options.order == key_order::unknown) state_->streamed->prepare_edges(edges);
    return statistics::histogram_of(state_->look(options.order), edges);
  });
}

key_rank file_statistics::rank_of(const void* value, const count_options& options) {
  if (is_held()) return spansort::rank_of(state_->held_keys(), value, options);
  if (value == nullptr) throw invalid_argument("rank_of: null pointer for the value");
  state_->require_host(options.devices);
  const statistics::ordered_keys& keys = state_->look(options.order);
  return state_->ask([&] { return statistics::rank_in(keys, statistics::bits_of_key(value, 0, keys.key_bytes())); });
}

std::uint64_t file_statistics::write_outliers(const std::string& output, const summary& box,
                                              const temporary_file_callback& on_temporary) {
  if (is_held()) return spansort::write_outliers(output, state_->held_keys(), box, on_temporary);
  statistics::key_blocks& blocks = *state_->blocks;
  const std::uint64_t width = size_bytes(type());
  const std::uint64_t num_outliers = box.num_outliers_below + box.num_outliers_above;
  const files::output_target target = files::find_output(output);
  const files::key_layout layout = files::output_layout(target, output, {files::file_format::raw, type()});
  files::require_free_space(target, files::file_bytes(layout, num_outliers));
  files::atomic_file file(target, files::file_bytes(layout, num_outliers), on_temporary);
  if (!files::fits_page_cache(num_outliers * width)) file.drop_written_pages();
  const std::string header = files::header_of(layout, num_outliers);
  file.write(std::as_bytes(std::span(header)));
  const std::uint64_t block_keys = statistics::keys_of_block(static_cast<unsigned>(width));
  base::byte_buffer keys(std::min(block_keys, blocks.num_keys()) * width);
  std::uint64_t num_written = 0;
  state_->shown.begin("read", 0, 1, blocks.num_keys());
  for (std::uint64_t first = 0; first < blocks.num_keys(); first += block_keys) {
    const std::uint64_t count = std::min(block_keys, blocks.num_keys() - first);
    blocks.read(first, count, keys.data());
    const base::byte_buffer found = base::with_threads(state_->threads, [&] {
      return files::outliers_of({type(), keys.data(), count}, box);
    });
    num_written += found.size() / width;
    file.write(found.bytes());
  }
  blocks.require_unchanged();
  if (num_written != num_outliers) {
    throw invalid_argument(
        fmt::format("outliers: the summary knows {}, the file has {}; it is of other keys", num_outliers, num_written));
  }
  file.commit();
  return num_written;
}

summary summarize_file(const std::string& path, const summary_options& options, const file_statistics_options& file) {
  return file_statistics(path, file).summarize(options);
}

std::vector<double> quantiles_file(const std::string& path, std::span<const double> q, const quantile_options& options,
                                   const file_statistics_options& file) {
  return file_statistics(path, file).quantiles(q, options);
}

std::vector<std::uint64_t> histogram_file(const std::string& path, std::span<const double> edges,
                                          const count_options& options, const file_statistics_options& file) {
  return file_statistics(path, file).histogram(edges, options);
}

}  // namespace spansort
