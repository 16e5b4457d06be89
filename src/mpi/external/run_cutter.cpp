// SPDX-License-Identifier: Apache-2.0
#include "mpi/external/run_cutter.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/assert.hpp"
#include "base/math.hpp"

namespace spansort::mpi {
namespace {

int compare(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::memcmp(a.data(), b.data(), a.size());
}

/// Returns the element in the middle of all that the sorted candidates stand for.
template <class Pivot>
const Pivot& weighted_middle(const std::vector<Pivot>& candidates) {
  std::uint64_t total = 0;
  for (const Pivot& p : candidates) total += p.weight;
  std::uint64_t upto = 0;
  for (const Pivot& p : candidates) {
    upto += p.weight;
    if (upto >= total - upto) return p;
  }
  return candidates.back();
}

}  // namespace

bool run_cutter::pivot::comes_before(const pivot& other) const {
  const int order = compare(key, other.key);
  if (order != 0) return order < 0;
  return std::tie(node_rank, run, position) < std::tie(other.node_rank, other.run, other.position);
}

run_cutter::run_cutter(transport::communicator& group, const together_call& together,
                       const external::element_order& order, const external::run_list& runs,
                       const external::spill_plan& plan)
    : group_(group),
      together_(together),
      order_(order),
      runs_(runs),
      block_elements_(plan.block_elements),
      most_blocks_(std::max<std::uint64_t>(plan.chunk_elements / (2 * plan.block_elements), 1)),
      buffer_(plan.batch_bytes),
      key_(order.key_bytes()) {}

std::vector<run_cut> run_cutter::find(std::span<const std::uint64_t> targets, std::vector<cut_bounds> bounds) {
  const std::size_t group_size = agree_on_group_size();
  for (std::size_t first = 0; first < targets.size(); first += group_size) {
    const std::size_t count = std::min(group_size, targets.size() - first);
    find_group(targets.subspan(first, count), std::span(bounds).subspan(first, count));
  }
  std::vector<run_cut> cuts;
  for (cut_bounds& b : bounds) cuts.push_back(std::move(b.low));
  return cuts;
}

/// Returns for how many cuts every node rank has memory for a block of each of its runs: more of them would read the
/// same blocks again for every halving.
std::size_t run_cutter::agree_on_group_size() {
  const std::uint64_t mine = std::max<std::uint64_t>(most_blocks_ / std::max<std::size_t>(runs_.size(), 1), 1);
  return std::ranges::min(group_.all_gather({&mine, 1}));
}

void run_cutter::find_group(std::span<const std::uint64_t> targets, std::span<cut_bounds> bounds) {
  while (true) {
    const std::vector<pivot> pivots = agree_on_pivots(bounds);
    if (std::ranges::all_of(pivots, [](const pivot& p) { return p.weight == 0; })) break;
    narrow(targets, pivots, bounds);
  }
  blocks_.clear();
}

const std::vector<std::byte>& run_cutter::block_of(std::size_t run, std::uint64_t block) {
  const std::pair<std::size_t, std::uint64_t> name(run, block);
  if (const auto found = blocks_.find(name); found != blocks_.end()) return found->second;
  if (blocks_.size() >= most_blocks_) blocks_.clear();
  const std::uint64_t count = std::min(block_elements_, runs_[run]->num_elements() - block * block_elements_);
  std::vector<std::byte> elements(count * order_.element_bytes());
  runs_[run]->read(block, 1, elements.data(), buffer_.bytes());
  return blocks_.emplace(name, std::move(elements)).first->second;
}

std::span<const std::byte> run_cutter::key_at(std::size_t run, std::uint64_t position) {
  const std::uint64_t block = position / block_elements_;
  const std::uint64_t in_block = position % block_elements_;
  if (in_block == 0) return runs_[run]->first_key(block);
  order_.write_key(block_of(run, block).data() + in_block * order_.element_bytes(), key_.data());
  return key_;
}

bool run_cutter::is_before(std::span<const std::byte> key, std::size_t run, std::uint64_t position,
                           const pivot& p) const {
  const int order = compare(key, p.key);
  if (order != 0) return order < 0;
  const auto node_rank = std::uint64_t{group_.node_rank()};
  const auto number = std::uint64_t{run};
  return std::tie(node_rank, number, position) < std::tie(p.node_rank, p.run, p.position);
}

/// Blocks that begin before the pivot, but for the last one of them, lie before it as a whole.
run_cutter::bracket run_cutter::bracket_of(std::size_t run, const cut_bounds& bounds, const pivot& p) const {
  const std::uint64_t low = bounds.low[run];
  const std::uint64_t high = bounds.high[run];
  if (low == high) return {low, high};
  if (p.node_rank == group_.node_rank() && p.run == run) {
    const std::uint64_t at = std::clamp(p.position, low, high);
    return {at, at};
  }
  std::uint64_t first = low / block_elements_;
  std::uint64_t end = base::ceil_div(high, block_elements_);
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (is_before(runs_[run]->first_key(middle), run, middle * block_elements_, p)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first == 0) return {low, low};  // not even the first block begins before it
  return {std::clamp((first - 1) * block_elements_ + 1, low, high), std::clamp(first * block_elements_, low, high)};
}

std::uint64_t run_cutter::count_before(std::size_t run, const bracket& within, const pivot& p) {
  std::uint64_t low = within.low;
  for (std::uint64_t high = within.high; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_before(key_at(run, middle), run, middle, p)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Returns the begin of a block about in the middle of what is not known, if one lies there.
std::optional<std::uint64_t> run_cutter::block_start_in(std::uint64_t low, std::uint64_t high) const {
  const std::uint64_t block = (low + (high - low) / 2) / block_elements_;
  if (block * block_elements_ >= low) return block * block_elements_;
  if ((block + 1) * block_elements_ < high) return (block + 1) * block_elements_;
  return std::nullopt;
}

/// `reads_all`: there is memory for a block of every run. Otherwise the longest of what is not known is looked at
/// alone.
run_cutter::pivot run_cutter::propose(const cut_bounds& bounds, bool reads_all) {
  std::uint64_t total = 0;
  std::size_t longest = 0;
  std::vector<pivot> candidates;
  const auto add = [&](std::size_t run, std::uint64_t position) {
    const std::span<const std::byte> key = key_at(run, position);
    candidates.push_back(
        {{key.begin(), key.end()}, group_.node_rank(), run, position, bounds.high[run] - bounds.low[run]});
  };
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const std::uint64_t length = bounds.high[run] - bounds.low[run];
    total += length;
    if (length > bounds.high[longest] - bounds.low[longest]) longest = run;
    if (length == 0) continue;
    if (const auto start = block_start_in(bounds.low[run], bounds.high[run])) add(run, *start);
  }
  if (total == 0) return {};
  if (candidates.empty()) {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const std::uint64_t length = bounds.high[run] - bounds.low[run];
      if (length != 0 && (reads_all || run == longest)) add(run, bounds.low[run] + length / 2);
    }
  }
  std::ranges::sort(candidates, [](const pivot& a, const pivot& b) { return a.comes_before(b); });
  pivot chosen = weighted_middle(candidates);
  chosen.weight = total;
  return chosen;
}

/// A failure of this node rank's own, if there is one, becomes that of all.
void run_cutter::share(const std::exception_ptr& failure, bool has_any_failed) {
  if (!has_any_failed) return;
  together_("finding splitters", [&] {
    if (failure != nullptr) std::rethrow_exception(failure);
  });
}

std::vector<run_cutter::pivot> run_cutter::agree_on_pivots(std::span<const cut_bounds> bounds) {
  constexpr std::size_t numbers_before_key = 3;
  const std::size_t stride = numbers_before_key + base::ceil_div(key_.size(), sizeof(std::uint64_t));
  std::vector<std::uint64_t> mine(1 + bounds.size() * stride);
  std::exception_ptr failure;
  try {
    const bool reads_all = bounds.size() * runs_.size() <= most_blocks_;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const pivot p = propose(bounds[i], reads_all);
      std::uint64_t* const to = mine.data() + 1 + i * stride;
      to[0] = p.weight;
      to[1] = p.run;
      to[2] = p.position;
      if (p.weight != 0) std::memcpy(to + numbers_before_key, p.key.data(), p.key.size());
    }
  } catch (...) {
    failure = std::current_exception();
    mine[0] = 1;
  }
  const std::vector<std::uint64_t> all = group_.all_gather(mine);
  bool has_any_failed = false;
  for (std::size_t r = 0; r < group_.num_nodes(); ++r) has_any_failed = has_any_failed || all[r * mine.size()] != 0;
  share(failure, has_any_failed);

  std::vector<pivot> chosen(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    std::vector<pivot> proposals;
    for (std::size_t r = 0; r < group_.num_nodes(); ++r) {
      const std::uint64_t* const from = all.data() + r * mine.size() + 1 + i * stride;
      if (from[0] == 0) continue;
      const auto* const key = reinterpret_cast<const std::byte*>(from + numbers_before_key);
      proposals.push_back({{key, key + key_.size()}, r, from[1], from[2], from[0]});
    }
    if (proposals.empty()) continue;
    std::ranges::sort(proposals, [](const pivot& a, const pivot& b) { return a.comes_before(b); });
    chosen[i] = weighted_middle(proposals);
  }
  return chosen;
}

void run_cutter::narrow(std::span<const std::uint64_t> targets, const std::vector<pivot>& pivots,
                        std::span<cut_bounds> bounds) {
  const std::size_t num_targets = targets.size();
  std::vector<std::vector<bracket>> found(num_targets, std::vector<bracket>(runs_.size()));
  std::vector<std::uint64_t> sums(2 * num_targets);
  for (std::size_t i = 0; i < num_targets; ++i) {
    if (pivots[i].weight == 0) continue;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      found[i][run] = bracket_of(run, bounds[i], pivots[i]);
      sums[2 * i] += found[i][run].low;
      sums[2 * i + 1] += found[i][run].high;
    }
  }
  sums = group_.all_reduce_sum(sums);

  // Blocks are read where they do not tell on which side of the pivot the cut is.
  const auto is_open = [&](std::size_t i) {
    return pivots[i].weight != 0 && sums[2 * i] < sums[2 * i + 1] && sums[2 * i] <= targets[i] &&
           targets[i] <= sums[2 * i + 1];
  };
  std::vector<std::uint64_t> exact(1 + num_targets);
  bool is_any_open = false;
  for (std::size_t i = 0; i < num_targets; ++i) is_any_open = is_any_open || is_open(i);
  std::exception_ptr failure;
  try {
    for (std::size_t i = 0; i < num_targets; ++i) {
      if (!is_open(i)) continue;
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        const std::uint64_t count = count_before(run, found[i][run], pivots[i]);
        found[i][run] = {count, count};
        exact[1 + i] += count;
      }
    }
  } catch (...) {
    failure = std::current_exception();
    exact[0] = 1;
  }
  if (is_any_open) {
    exact = group_.all_reduce_sum(exact);
    share(failure, exact[0] != 0);
  }
  for (std::size_t i = 0; i < num_targets; ++i) {
    if (pivots[i].weight == 0) continue;
    const bracket sum = is_open(i) ? bracket{exact[1 + i], exact[1 + i]} : bracket{sums[2 * i], sums[2 * i + 1]};
    narrow(bounds[i], found[i], pivots[i], targets[i], sum);
  }
}

void run_cutter::narrow(cut_bounds& bounds, const std::vector<bracket>& found, const pivot& p, std::uint64_t target,
                        const bracket& sum) const {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const bool is_of_pivot = p.node_rank == group_.node_rank() && p.run == run;
    if (sum.low == target && sum.high == target) {
      bounds.low[run] = bounds.high[run] = found[run].low;
    } else if (sum.high < target) {
      bounds.low[run] = found[run].low + (is_of_pivot ? 1 : 0);
    } else {
      bounds.high[run] = found[run].high;
    }
    SPANSORT_ASSERT(bounds.low[run] <= bounds.high[run]);
  }
}

}  // namespace spansort::mpi
