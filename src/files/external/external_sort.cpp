// SPDX-License-Identifier: Apache-2.0
#include "files/external/external_sort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <utility>

#include "base/math.hpp"
#include "files/external/pipeline.hpp"
#include "files/external/range_reader.hpp"
#include "spansort/errors.hpp"

namespace spansort::external {
namespace {

class external_sorter {
 public:
  external_sorter(element_sink& sink, element_order& order, const external_options& options)
      : sink_(sink), order_(order), options_(options), writer_(order, sink, options.writing) {
    chunks_.reserve(num_chunks);
    add_chunk();
  }

  external_result sort(element_source& source) {
    num_expected_ = source.num_elements().value_or(0);
    num_passes_ = 1 + options_.plan.num_merges;
    element_chunk& first = chunks_.front();
    first_read_.run([&] {
      read_chunk(source, first);
      return first.count;
    });
    if (is_whole(source, first)) {
      note_stage("read", first_read_);
      sort_in_memory(first);
    } else {
      refuse_whole();
      while (chunks_.size() < num_chunks) add_chunk();
      merge(make_runs(source));
    }
    return counted();
  }

  external_result merge_only(run_list runs) {
    sums_runs_ = options_.writing.verify;
    for (const std::unique_ptr<sorted_run>& run : runs) num_expected_ += run->num_elements();
    num_read_ = num_expected_;
    num_passes_ = std::max(options_.plan.num_merges, 1u);
    merge(std::move(runs));
    return counted();
  }

 private:
  static constexpr std::size_t num_chunks = 3;

  void add_chunk() {
    chunks_.emplace_back().bytes = base::byte_buffer(options_.plan.chunk_elements * order_.element_bytes());
  }

  void read_chunk(element_source& source, element_chunk& into) {
    into.count = source.read(into.bytes.data(), options_.plan.chunk_elements);
    if (options_.writing.verify) expected_ = expected_ + order_.checksum(into.bytes.data(), into.count);
    num_read_ += into.count;
  }

  [[nodiscard]] bool is_whole(const element_source& source, const element_chunk& first) const {
    return first.count < options_.plan.chunk_elements || source.num_elements() == first.count;
  }

  void refuse_whole() const {
    if (!options_.writing.on_whole) return;
    throw out_of_memory(fmt::format("{}: does not fit in memory, and the statistics of a sort need all keys at once",
                                    options_.writing.input_name),
                        num_expected_ * order_.element_bytes(), options_.plan.memory_bytes);
  }

  void sort_chunk(element_chunk& p, std::string_view phase) {
    order_.sort(p.bytes.data(), p.count);
    num_sorted_ += p.count;
    report_progress(phase);
  }

  void sort_in_memory(element_chunk& all) {
    report_progress("sort");
    if (options_.sort_whole) {
      options_.sort_whole(all.bytes.data(), all.count);
    } else {
      stage_clock clock;
      clock.run([&] {
        sort_chunk(all, "sort");
        return all.count;
      });
      note_stage("sort", clock);
    }
    writer_.write_whole(all.bytes.data(), all.count);
    writer_.finish(expected_, num_read_);
    note_stage("verify", writer_.verifying());
    note_stage("write", writer_.writing());
  }

  /// Duplicates inside a run need not be spilled, unless the number of elements is to be verified at the end.
  void drop_duplicates(element_chunk& p) {
    if (options_.writing.unique && !options_.writing.verify)
      p.count = order_.remove_duplicates(nullptr, p.bytes.data(), p.count);
  }

  run_list make_runs(element_source& source) {
    run_writer writer(order_, options_.plan, options_.folders, num_expected_ * order_.element_bytes());
    bool first_is_waiting = true;  // it is the first in the round, and filled already
    const stage_clocks clocks = run_pipeline(chunks_, {.fill =
                                                           [&](element_chunk& p) {
                                                             if (!std::exchange(first_is_waiting, false))
                                                               read_chunk(source, p);
                                                             return p.count != 0;
                                                           },
                                                       .work =
                                                           [&](element_chunk& p) {
                                                             sort_chunk(p, "sort runs");
                                                             drop_duplicates(p);
                                                           },
                                                       .drain =
                                                           [&](element_chunk& p) {
                                                             writer.append(p.bytes.data(), p.count);
                                                             writer.finish_run();
                                                           }});
    stage_clock reading = first_read_;
    reading.add_behind_first(clocks.fill);
    note_stage("read", reading);
    note_stage("sort runs", clocks.work);
    note_stage("spill", clocks.drain);
    run_list runs = writer.take_runs();
    result_.num_runs = runs.size();
    result_.spilled_bytes += writer.bytes_written();
    return runs;
  }

  /// Merges groups of runs until one merge is enough, and that into the sink.
  void merge(run_list runs) {
    num_spilled_ = 0;
    for (const std::unique_ptr<sorted_run>& run : runs) num_spilled_ += run->num_elements();
    while (chunks_.size() < num_chunks) add_chunk();
    while (runs.size() > options_.plan.fan_in) {
      runs = merge_groups(std::move(runs));
      sums_runs_ = false;
      ++result_.num_merges;
    }
    ++result_.num_merges;
    expect(num_spilled_);
    range_reader ranges(order_, options_.plan, std::move(runs), sums_runs_);
    merge_ranges(ranges, {"read runs", "sort ranges", "write"},
                 [&](element_chunk& p) { writer_.write(p.bytes.data(), p.count); });
    stage_clock ending;
    ending.run([&] {
      writer_.finish(expected_, num_read_);
      return 0;
    });
    note_stage("write", ending);
  }

  run_list merge_groups(run_list runs) {
    run_writer writer(order_, options_.plan, options_.folders, num_spilled_ * order_.element_bytes());
    // Groups of like size: the last one is not a single run that is copied for nothing.
    const std::size_t num_groups = base::ceil_div(runs.size(), static_cast<std::size_t>(options_.plan.fan_in));
    for (std::size_t g = 0; g < num_groups; ++g) {
      run_list group(
          std::make_move_iterator(runs.begin() + static_cast<std::ptrdiff_t>(runs.size() * g / num_groups)),
          std::make_move_iterator(runs.begin() + static_cast<std::ptrdiff_t>(runs.size() * (g + 1) / num_groups)));
      range_reader ranges(order_, options_.plan, std::move(group), sums_runs_);
      merge_ranges(ranges, {"read runs", "sort ranges", "spill"}, [&](element_chunk& p) {
        drop_duplicates(p);
        writer.append(p.bytes.data(), p.count);
      });
      writer.finish_run();
    }
    result_.spilled_bytes += writer.bytes_written();
    return writer.take_runs();
  }

  struct stage_names {
    std::string_view fill;
    std::string_view work;
    std::string_view drain;
  };

  template <class Drain>
  void merge_ranges(range_reader& ranges, const stage_names& names, Drain drain) {
    const stage_clocks clocks =
        run_pipeline(chunks_, {.fill = [&](element_chunk& p) { return !is_enough_ && ranges.next(p); },
                               .work = [&](element_chunk& p) { sort_chunk(p, names.work); },
                               .drain =
                                   [&](element_chunk& p) {
                                     drain(p);
                                     is_enough_ = writer_.is_full();
                                   }});
    note_stage(names.fill, clocks.fill);
    note_stage(names.work, clocks.work);
    note_stage(names.drain, clocks.drain);
    expected_ = expected_ + ranges.checksum();
  }

  /// Tells the sink how many elements will come, unless duplicates are removed from them while they are written.
  void expect(std::uint64_t num_elements) {
    if (options_.writing.unique) return;
    sink_.expect(options_.writing.head ? std::min(num_elements, *options_.writing.head) : num_elements);
  }

  void report_progress(std::string_view phase) const {
    if (!options_.on_progress) return;
    const double total = static_cast<double>(num_expected_) * num_passes_;
    options_.on_progress(phase, total == 0 ? 0 : std::min(1.0, static_cast<double>(num_sorted_) / total));
  }

  void note_stage(std::string_view name, const stage_clock& clock) const {
    if (options_.on_stage && !clock.intervals().empty()) options_.on_stage({name, clock});
  }

  [[nodiscard]] external_result counted() {
    result_.num_in = num_read_;
    result_.num_out = writer_.num_out();
    return result_;
  }

  element_sink& sink_;
  element_order& order_;
  const external_options& options_;
  verifying_writer writer_;
  std::vector<element_chunk> chunks_;
  external_result result_;
  stage_clock first_read_;          ///< of the chunk whose size says whether all is in memory
  multiset_checksum expected_;      ///< of the input, where it is to be verified
  bool sums_runs_ = false;          ///< the runs are the input, and have not been read yet
  std::uint64_t num_expected_ = 0;  ///< elements of the input; 0 where it does not say
  std::uint64_t num_read_ = 0;
  std::uint64_t num_spilled_ = 0;
  std::uint64_t num_sorted_ = 0;
  unsigned num_passes_ = 1;  ///< that every element takes part in, for progress
  std::atomic<bool> is_enough_{false};
};

}  // namespace

external_result sort_external(element_source& source, element_sink& sink, element_order& order,
                              const external_options& options) {
  return external_sorter(sink, order, options).sort(source);
}

external_result merge_external(run_list runs, element_sink& sink, element_order& order,
                               const external_options& options) {
  return external_sorter(sink, order, options).merge_only(std::move(runs));
}

}  // namespace spansort::external
