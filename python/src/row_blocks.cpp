// SPDX-License-Identifier: Apache-2.0
// Blocks of rows, which threads take one after the other.
#include "row_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "calls.hpp"

namespace python {
namespace {

// Rows up to these sizes are sorted by the thread that asks for it; the library itself uses threads for longer ones,
// which does little for those that are not much longer. Where there are rows enough, a thread each serves them best:
// 100 rows of 100,000 f64 take 38 ms by two threads so, and 92 by calls one after the other.
constexpr std::uint64_t most_row_elements = 65536;
constexpr std::uint64_t most_row_bytes = std::uint64_t{512} << 10;
constexpr std::uint64_t most_bytes_of_many_rows = most_short_bytes;
constexpr std::uint64_t many_rows_of_a_thread = 4;
/// Elements of a block, some hundred microseconds, and those that make it worth while to start another thread.
constexpr std::uint64_t block_elements = std::uint64_t{1} << 15;
constexpr std::uint64_t elements_of_a_thread = std::uint64_t{1} << 16;
constexpr unsigned most_threads = 64;

/// The rows of one array, which several threads take in turn and sort.
class row_queue {
 public:
  row_queue(const array_memory& memory, const spansort::sort_options& options, const row_work& work)
      : num_rows_(memory.num_rows()),
        block_rows_(std::max<std::uint64_t>(1, block_elements / std::max<std::uint64_t>(1, memory.row_elements))),
        ask_(options.on_progress),
        work_(work),
        row_options_(options) {
    row_options_.on_progress = {};
    row_options_.threads = 1;
    row_options_.devices = spansort::device_list::cpu();
  }

  /// Sorts blocks until none is left. The calling thread asks whether to go on.
  void run(bool is_caller) {
    try {
      row_sorts sorts(row_options_, false);
      for (;;) {
        const std::uint64_t begin = next_.fetch_add(block_rows_);
        if (begin >= num_rows_ || is_stopped_) return;
        const std::uint64_t end = std::min(begin + block_rows_, num_rows_);
        for (std::uint64_t row = begin; row < end; ++row) work_(row, sorts);
        if (is_caller && ask_ && !ask_({"sort", static_cast<double>(end) / static_cast<double>(num_rows_)})) {
          throw spansort::cancelled("stopped between rows");
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      is_stopped_ = true;
    }
  }

  void raise_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::uint64_t num_rows_;
  std::uint64_t block_rows_;
  spansort::progress_callback ask_;
  const row_work& work_;
  spansort::sort_options row_options_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<bool> is_stopped_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// Returns whether the CPU may sort rows without memory that a ceiling counts.
bool are_plain(const spansort::sort_options& options) {
  const auto devices = options.devices.what();
  return options.memory_limit_bytes == 0 && options.device_memory_bytes == 0 &&
         options.algorithm == spansort::algorithm::automatic &&
         (devices == spansort::device_list::kind::automatic || devices == spansort::device_list::kind::cpu);
}

/// Returns how many threads take rows; 0 where rows are for the library's own threads, or options for one call.
unsigned num_row_threads(const array_memory& memory, const spansort::sort_options& options) {
  if (!are_plain(options) || memory.num_rows() < 2) return 0;
  const unsigned processors = spansort::num_processors();
  const unsigned allowed =
      std::min(most_threads, options.threads == 0 ? processors : std::min(options.threads, processors));
  const std::uint64_t row_bytes = memory.row_elements * memory.element_bytes;
  const bool is_short = memory.row_elements <= most_row_elements && row_bytes <= most_row_bytes;
  const bool are_many = memory.num_rows() >= many_rows_of_a_thread * allowed && row_bytes <= most_bytes_of_many_rows;
  if (!is_short && !are_many) return 0;
  const std::uint64_t useful = memory.num_elements / elements_of_a_thread;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, allowed));
}

void run_threads(row_queue& queue, unsigned num_threads) {
  std::vector<std::jthread> others;
  try {
    for (unsigned thread = 1; thread < num_threads; ++thread) others.emplace_back([&] { queue.run(false); });
  } catch (const std::system_error&) {
    // A system that refuses threads has the caller sort all.
  }
  queue.run(true);
}

void run_one_by_one(const array_memory& memory, const spansort::sort_options& options, const row_work& work) {
  spansort::sort_options of_row = options;
  const bool is_brief = memory.row_elements * memory.element_bytes <= most_short_bytes;
  if (memory.num_rows() > 1 && is_brief) of_row.on_progress = {};  // it is asked between rows
  // Free functions have memory of the process for arrays that are not long, which ask for no progress.
  const bool may_be_short = are_plain(options) && !of_row.on_progress;
  row_sorts sorts(of_row, memory.num_rows() > 1 && !may_be_short);
  for (std::uint64_t row = 0; row < memory.num_rows(); ++row) {
    work(row, sorts);
    const double done = static_cast<double>(row + 1) / static_cast<double>(memory.num_rows());
    if (memory.num_rows() > 1 && options.on_progress && !options.on_progress({"sort", done})) {
      throw spansort::cancelled("stopped between rows");
    }
  }
}

}  // namespace

void for_all_rows(const array_memory& memory, const spansort::sort_options& options, const row_work& work) {
  const unsigned num_threads = num_row_threads(memory, options);
  if (num_threads == 0) return run_one_by_one(memory, options, work);
  row_queue queue(memory, options, work);
  run_threads(queue, num_threads);
  queue.raise_error();
}

}  // namespace python
