// SPDX-License-Identifier: Apache-2.0
#include "table/external/run_merge.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "table/external/row_parts.hpp"

namespace spansort::table {

ordered_rows::ordered_rows(arrow_rows rows, std::vector<std::uint64_t> order)
    : rows_(std::move(rows)), order_(std::move(order)), end_(order_.size()) {
  if (end_ != 0) average_bytes_ = static_cast<double>(bytes_of(rows_)) / static_cast<double>(end_);
}

arrow_rows ordered_rows::take(std::uint64_t target_bytes) {
  const std::span<const std::uint64_t> open = std::span(order_).subspan(next_, end_ - next_);
  arrow_rows taken = take_about(rows_, open, target_bytes, average_bytes_);
  next_ += taken.num_rows;
  return taken;
}

std::vector<std::uint64_t> ordered_rows::rest() const {
  std::vector<std::uint64_t> rows(order_.begin() + static_cast<std::ptrdiff_t>(next_), order_.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

namespace {

/// Rows are there twice until they are in one piece, and then once beside their order and the workspace of the sort
/// (table.hpp): 8 bytes of a row's number, 8 of its key's word, 28 of the sort of the words.
constexpr std::uint64_t bytes_of_a_row = 44;

}  // namespace

bool stream_sort_parts::has_room_for(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept {
  return rows_bytes <= most_bytes && std::max(2 * rows_bytes, rows_bytes + bytes_of_a_row * num_rows) <= memory_bytes;
}

std::uint64_t stream_sort_parts::run_bytes(std::uint64_t rows_bytes, std::uint64_t num_rows) const noexcept {
  const double row_bytes = std::max(static_cast<double>(rows_bytes) / static_cast<double>(num_rows), 1.0 / 8);
  const double share = std::min(row_bytes / (row_bytes + static_cast<double>(bytes_of_a_row)), 0.5);
  return std::min(static_cast<std::uint64_t>(static_cast<double>(memory_bytes) * share), most_bytes);
}

run_merge::run_merge(const stream_sort_parts& parts, table_spill& spill, std::vector<spilled_run> runs)
    : parts_(parts), spill_(spill), runs_(std::move(runs)) {
  find_sequence();
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

bool run_merge::next(std::uint64_t target_bytes, arrow_rows& rows) {
  while (pool_.is_at_end()) {
    if (!refill()) return false;
  }
  rows = pool_.take(target_bytes);
  return true;
}

std::vector<std::uint64_t> run_merge::count_by_run(const std::vector<std::uint64_t>& rows) const {
  std::vector<std::uint64_t> counts(runs_.size(), 0);
  std::size_t run = 0;
  for (const std::uint64_t row : rows) {
    while (row >= run_ends_[run]) ++run;
    ++counts[run];
  }
  return counts;
}

bool run_merge::refill() {
  const std::vector<std::uint64_t> rest = pool_.rest();
  const std::vector<std::uint64_t> rest_of_run = count_by_run(rest);
  arrow_rows kept;
  if (!rest.empty()) kept = take_rows(pool_.rows(), rest);
  own_views(kept);
  pool_ = {};
  if (rest.empty() && num_read_ == sequence_.size()) return false;

  std::vector<std::vector<arrow_rows>> blocks(runs_.size());
  std::uint64_t num_bytes = bytes_of(kept);
  std::uint64_t num_rows = kept.num_rows;
  const std::uint64_t first_read = num_read_;
  for (; num_read_ < sequence_.size(); ++num_read_) {
    const auto [run, number] = sequence_[num_read_];
    const spilled_block& block = runs_[run].blocks[number];
    num_bytes += block.size_bytes;
    num_rows += block.num_rows;
    if (num_read_ != first_read && !parts_.has_room_for(num_bytes, num_rows)) break;
    blocks[run].push_back(spill_.read(block, parts_.schema));
    parts_.dictionaries.apply(blocks[run].back());
  }

  std::vector<arrow_rows> joined;
  std::uint64_t num_joined = 0;
  std::uint64_t num_kept = 0;
  std::uint64_t last_read_row = 0;  // the first row of the block that was read last
  run_ends_.clear();
  const auto append = [&](arrow_rows rows) {
    num_joined += rows.num_rows;
    joined.push_back(std::move(rows));
  };
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (rest_of_run[run] != 0)
      append(slice(kept, std::exchange(num_kept, num_kept + rest_of_run[run]), rest_of_run[run]));
    for (arrow_rows& block : blocks[run]) {
      if (num_read_ != first_read && run == sequence_[num_read_ - 1].run) last_read_row = num_joined;
      append(std::move(block));
    }
    run_ends_.push_back(num_joined);
  }
  blocks.clear();
  kept = {};
  arrow_rows rows = join(joined);
  joined.clear();
  std::vector<std::uint64_t> order = parts_.order.argsort(parts_.order.keys_of(rows), parts_.options);
  pool_ = {std::move(rows), std::move(order)};
  if (num_read_ != sequence_.size()) {
    const auto place = std::find(pool_.order().begin(), pool_.order().end(), last_read_row);
    pool_.end_at(static_cast<std::uint64_t>(place - pool_.order().begin()) + 1);
  }
  return true;
}

void run_writer::add(const arrow_rows& rows) {
  constexpr std::size_t most_parts = 512;
  constexpr std::uint64_t first_row = 0;
  run_.blocks.push_back(spill_.write(rows));
  heads_.push_back(take_rows(order_.keys_of(rows), {&first_row, 1}));
  own_views(heads_.back());
  if (heads_.size() == most_parts) heads_ = {join(heads_)};  // a row by itself takes more memory than its values
}

spilled_run run_writer::finish() {
  run_.heads = join(heads_);
  heads_.clear();
  return std::exchange(run_, {});
}

}  // namespace spansort::table
