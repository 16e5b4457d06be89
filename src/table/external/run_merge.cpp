// SPDX-License-Identifier: Apache-2.0
#include "table/external/run_merge.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/threads.hpp"
#include "spansort/errors.hpp"
#include "table/external/row_parts.hpp"

namespace spansort::table {
namespace {

/// Lets tasks that are done side by side go on one after the other.
class turns {
 public:
  /// Calls task() when all before it have had their turn, and not at all where one has failed.
  template <class Task>
  void take(std::uint64_t turn, const Task& task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == turn || has_failed_; });
    if (has_failed_) return;
    lock.unlock();
    task();
    lock.lock();
    ++next_;
    changed_.notify_all();
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  bool has_failed_ = false;
};

}  // namespace

run_merge::run_merge(const stream_sort_parts& parts, table_spill& spill, std::vector<spilled_run> runs)
    : parts_(parts),
      spill_(spill),
      runs_(std::move(runs)),
      next_blocks_(runs_.size(), 0),
      pools_{row_pool(parts.schema), row_pool(parts.schema)},
      readers_(spill.transfer_bytes()) {
  find_sequence();
  work_.start([this] { base::with_threads(parts_.options.threads, [this] { prepare(); }); });
}

void run_merge::find_sequence() {
  std::vector<arrow_rows> heads;
  std::vector<block_name> names;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const auto num_blocks = static_cast<std::uint32_t>(runs_[run].blocks.size());
    for (std::uint32_t block = 0; block < num_blocks; ++block) names.push_back({run, block});
    heads.push_back(std::move(runs_[run].heads));
    parts_.order.apply(parts_.dictionaries, heads.back());
  }
  for (const std::uint64_t block : parts_.order.argsort(join(heads), parts_.options)) sequence_.push_back(names[block]);
}

bool run_merge::next(std::uint64_t target_bytes, arrow_rows& rows, const std::function<void()>& ask) {
  while (current_.is_at_end()) {
    if (is_last_) return false;
    work_.wait(ask);
    current_ = std::exchange(prepared_, {});
    run_ends_ = std::exchange(prepared_run_ends_, {});
    current_pool_ = 1 - current_pool_;
    is_last_ = num_read_ == sequence_.size();
    if (is_last_) {
      pools_[1 - current_pool_].release();
    } else {
      work_.start([this] { base::with_threads(parts_.options.threads, [this] { prepare(); }); });
    }
  }
  rows = current_.take(target_bytes);
  return true;
}

std::vector<run_merge::part_of_run> run_merge::choose() {
  std::vector<part_of_run> chosen(runs_.size());
  std::size_t rest_run = 0;
  for (const std::uint64_t row : current_.rest()) {
    while (row >= run_ends_[rest_run]) ++rest_run;
    chosen[rest_run].rest.push_back(row);
  }
  std::uint64_t num_bytes = 0;
  std::uint64_t num_rows = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    num_bytes += bytes_of(current_.rows(), chosen[run].rest);
    num_rows += chosen[run].rest.size();
    chosen[run].first_block = chosen[run].end_block = next_blocks_[run];
  }
  for (const std::uint64_t first_read = num_read_; num_read_ < sequence_.size(); ++num_read_) {
    const auto [run, number] = sequence_[num_read_];
    const spilled_block& block = runs_[run].blocks[number];
    num_bytes += block.size_bytes;
    num_rows += block.num_rows;
    if (num_read_ != first_read && !parts_.has_room_for(num_bytes, num_rows)) break;
    chosen[run].end_block = ++next_blocks_[run];
  }
  return chosen;
}

std::span<const spilled_block> run_merge::blocks_of(const piece& p) const {
  return std::span(runs_[p.run].blocks).subspan(p.first_block, p.end_block - p.first_block);
}

std::vector<run_merge::piece> run_merge::pieces_of(const std::vector<part_of_run>& chosen) const {
  std::vector<piece> pieces;
  for (std::uint32_t run = 0; run < chosen.size(); ++run) {
    const part_of_run& part = chosen[run];
    if (!part.rest.empty()) pieces.push_back({.run = run, .is_rest = true});
    for (piece next{run, part.first_block, part.end_block}; next.first_block != part.end_block;) {
      next.end_block = next.first_block + spill_.num_readable(blocks_of({run, next.first_block, part.end_block}));
      pieces.push_back(next);
      next.first_block = next.end_block;
    }
  }
  return pieces;
}

void run_merge::load(const std::vector<part_of_run>& chosen, row_pool& pool) {
  const std::vector<piece> pieces = pieces_of(chosen);
  turns in_order;
  readers_.run(pieces.size(), [&](std::uint64_t i, std::span<std::byte> buffer) {
    const piece& p = pieces[i];
    try {
      if (work_.must_end()) throw cancelled("sort_stream: nobody reads the rows any more");
      if (p.is_rest) {
        const arrow_rows rest = take_rows(current_.rows(), chosen[p.run].rest);
        in_order.take(i, [&] { pool.append(rest); });
        return;
      }
      spill_.read(blocks_of(p), parts_.schema, buffer, [&](std::span<arrow_rows> blocks) {
        in_order.take(i, [&] {
          for (arrow_rows& rows : blocks) {
            parts_.dictionaries.apply(rows);
            pool.append(rows);
          }
        });
      });
    } catch (...) {
      in_order.fail();
      throw;
    }
  });
  for (std::uint32_t run = 0; run < chosen.size(); ++run)
    spill_.discard(blocks_of({run, chosen[run].first_block, chosen[run].end_block}));
}

void run_merge::prepare() {
  const std::vector<part_of_run> chosen = choose();
  row_pool& pool = pools_[1 - current_pool_];
  pool.clear();
  load(chosen, pool);
  std::uint64_t num_rows = 0;
  std::uint64_t last_read_row = 0;  // the first row of the block that comes last in the sequence
  for (std::uint32_t run = 0; run < chosen.size(); ++run) {
    num_rows += chosen[run].rest.size();
    for (const spilled_block& block : blocks_of({run, chosen[run].first_block, chosen[run].end_block})) {
      if (run == sequence_[num_read_ - 1].run) last_read_row = num_rows;
      num_rows += block.num_rows;
    }
    prepared_run_ends_.push_back(num_rows);
  }
  sort_options options = parts_.options;
  options.on_progress = [this](const progress&) { return !work_.must_end(); };
  arrow_rows rows = pool.rows();
  std::vector<std::uint64_t> order = parts_.order.argsort(parts_.order.keys_of(rows), options);
  prepared_ = {std::move(rows), std::move(order)};
  if (num_read_ == sequence_.size()) return;
  const auto place = std::find(prepared_.order().begin(), prepared_.order().end(), last_read_row);
  prepared_.end_at(static_cast<std::uint64_t>(place - prepared_.order().begin()) + 1);
}

}  // namespace spansort::table
